"""Trains a small student from random weights, or from a checkpoint of its own, on conversations.

    python trainers/small/train.py --data DATASET --out STUDENT [--layers 8 --width 384 ...]

Reads a file that `--prepare` wrote, or the JSON lines of `exporters/sharegpt`: `messages` (a message with `train: false`
gives no loss), or `conversations`. A row's `weight` multiplies its loss; a negative one makes its replies less likely, as
policy gradients need it. Writes a Hugging Face folder (Qwen3, ChatML), `student.gguf` for llama.cpp, and `metrics.jsonl`.
The same command after a crash continues.
Needs PyTorch, tokenizers and safetensors; a GPU where there is one.
"""

import argparse
import glob
import hashlib
import itertools
import json
import math
import os
import random
import sys
import time
from typing import NamedTuple

try:
    import numpy as np
    import torch
    import torch.nn.functional as F
    from safetensors.torch import load_file, save_file
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
    from torch import nn
except ImportError as error:
    sys.exit(f"error: {error}\nhint: pip install torch tokenizers safetensors numpy")

try:
    from torch.nn.attention.varlen import varlen_attn
except ImportError:
    varlen_attn = None

END, START, TURN_END = "<|endoftext|>", "<|im_start|>", "<|im_end|>"
SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
CHAT_TEMPLATE = (
    "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\\n' + m['content'] + '<|im_end|>\\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)


# The model: Qwen3, with its weight names, so that other programs can read the result.


class Norm(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))

    def forward(self, x):
        return F.rms_norm(x, self.weight.shape, self.weight.to(x.dtype), 1e-6)


class Attention(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.heads, self.kv_heads, self.head = shape["heads"], shape["kv_heads"], shape["head"]
        width = shape["width"]
        self.q_proj = nn.Linear(width, self.heads * self.head, bias=False)
        self.k_proj = nn.Linear(width, self.kv_heads * self.head, bias=False)
        self.v_proj = nn.Linear(width, self.kv_heads * self.head, bias=False)
        self.o_proj = nn.Linear(self.heads * self.head, width, bias=False)
        self.q_norm, self.k_norm = Norm(self.head), Norm(self.head)

    def forward(self, x, angles, attend):
        q = rotate(self.q_norm(self.q_proj(x).unflatten(-1, (self.heads, self.head))), angles)
        k = rotate(self.k_norm(self.k_proj(x).unflatten(-1, (self.kv_heads, self.head))), angles)
        v = self.v_proj(x).unflatten(-1, (self.kv_heads, self.head))
        return self.o_proj(attend(q, k, v).flatten(-2))


class Feed(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.gate_proj = nn.Linear(shape["width"], shape["inner"], bias=False)
        self.up_proj = nn.Linear(shape["width"], shape["inner"], bias=False)
        self.down_proj = nn.Linear(shape["inner"], shape["width"], bias=False)

    def forward(self, x):
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class Layer(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.input_layernorm, self.post_attention_layernorm = Norm(shape["width"]), Norm(shape["width"])
        self.self_attn, self.mlp = Attention(shape), Feed(shape)

    def forward(self, x, angles, attend):
        x = x + self.self_attn(self.input_layernorm(x), angles, attend)
        return x + self.mlp(self.post_attention_layernorm(x))


class Body(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.embed_tokens = nn.Embedding(shape["vocab"], shape["width"])
        self.layers = nn.ModuleList(Layer(shape) for _ in range(shape["layers"]))
        self.norm = Norm(shape["width"])


class Student(nn.Module):
    """`attend(layer, q, k, v)` decides which tokens see which: packed rows when training, a cache when serving."""

    def __init__(self, shape):
        super().__init__()
        self.shape, self.model = shape, Body(shape)
        for name, weight in self.named_parameters():
            if weight.dim() == 2:
                scale = 0.02 / math.sqrt(2 * shape["layers"]) if "o_proj" in name or "down_proj" in name else 0.02
                nn.init.normal_(weight, std=scale)

    def forward(self, tokens, positions, attend):
        steps = torch.arange(0, self.shape["head"], 2, device=tokens.device).float() / self.shape["head"]
        turns = positions[..., None].float() * self.shape["theta"] ** -steps
        angles = torch.cat([turns, turns], -1)[..., None, :]
        angles = angles.cos(), angles.sin()
        x = self.model.embed_tokens(tokens)
        for number, layer in enumerate(self.model.layers):
            x = layer(x, angles, lambda q, k, v, number=number: attend(number, q, k, v))
        return self.model.norm(x)

    def logits(self, x):
        return F.linear(x, self.model.embed_tokens.weight)


def rotate(x, angles):
    cos, sin = angles
    a, b = x.float().chunk(2, -1)
    return (x.float() * cos + torch.cat([-b, a], -1) * sin).to(x.dtype)


def packed(bounds, longest):
    """Attention within the rows of a packed batch, but not across them."""

    def attend(_, q, k, v):
        k, v = (t.repeat_interleave(q.shape[-2] // t.shape[-2], -2) for t in (k, v))
        if q.is_cuda and varlen_attn is not None:
            return varlen_attn(q, k, v, bounds, bounds, longest, longest, window_size=(-1, 0))
        cuts = bounds.tolist()
        parts = []
        for a, b in zip(cuts, cuts[1:]):
            row = [t[a:b].transpose(0, 1)[None] for t in (q, k, v)]
            parts.append(F.scaled_dot_product_attention(*row, is_causal=True)[0].transpose(0, 1))
        return torch.cat(parts)

    return attend


# Data


def find_rows(places, part):
    for place in places:
        found = sorted(glob.glob(os.path.join(place, "jsonl", f"{part}*.jsonl"))) if os.path.isdir(place) else [place]
        if not found and part == "train":
            found = sorted(glob.glob(os.path.join(place, "*.jsonl")))
        if not found and part == "train":
            sys.exit(f"error: {place} holds no JSON lines\nhint: export with formats: ['jsonl']")
        if not os.path.isdir(place) and part != "train":
            continue
        for path in found:
            with open(path, encoding="utf-8") as lines:
                for line in lines:
                    if line.strip():
                        row = json.loads(line)
                        yield [message_of(m, row.get("weight", 1.0)) for m in messages_in(row, path)]


def messages_in(row, path):
    for key in ("messages", "conversations"):
        if isinstance(row.get(key), list):
            return row[key]
    sys.exit(f"error: a row of {path} has neither messages nor conversations\nhint: it has {', '.join(row)}")


ROLES = {"human": "user", "gpt": "assistant"}


def message_of(m, weight):
    role = m.get("role") or ROLES.get(m.get("from"), m.get("from"))
    content = m.get("content", m.get("value")) or ""
    return role, content, weight if role == "assistant" and m.get("train", True) else 0.0


def train_tokenizer(rows, size):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(SPLIT), "isolated"), pre_tokenizers.ByteLevel(False, use_regex=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=[END, START, TURN_END],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    # More rows cost minutes and change nothing important: these are enough for a vocabulary.
    sample = random.Random(0).sample(rows, 20_000) if len(rows) > 20_000 else rows
    tokenizer.train_from_iterator((text for row in sample for _, text, _ in row), trainer)
    return tokenizer


def add_phrases(tokenizer, rows, share=0.5, shortest=16):
    """Makes one token of each long text that half of the conversations have, such as an agent's instructions and the
    frame of its replies. They then cost a student no time to read, to learn and to write.
    """
    sample = random.Random(0).sample(rows, min(len(rows), 64))
    begin = tokenizer.get_vocab_size()
    messages = [(number, [begin, *tokenizer.encode(text).ids]) for number, row in enumerate(sample) for _, text, _ in row]
    tokens = np.concatenate([ids for _, ids in messages])
    owner = np.concatenate([np.full(len(ids), number) for number, ids in messages])
    texts = [tokenizer.decode([number]) for number in range(begin)] + [""]
    # Digits are dates, sizes and numbers of lines: what half of the conversations share today, they may not tomorrow.
    joins = [len(text) > 0 and not any(map(str.isdigit, text)) for text in texts]
    while True:
        can = np.array(joins)[tokens]
        pairs = np.where(can[:-1] & can[1:], tokens[:-1].astype(np.int64) << 32 | tokens[1:], -1)
        found, index, counts = np.unique(pairs, return_inverse=True, return_counts=True)
        spread = np.bincount(np.unique(index * len(sample) + owner[:-1]) // len(sample))
        counts[(spread < share * len(sample)) | (found < 0)] = 0
        if not counts.any():
            break
        pair = found[counts.argmax()]
        at = every_other(np.flatnonzero(pairs == pair))
        tokens[at] = len(texts)
        tokens, owner = np.delete(tokens, at + 1), np.delete(owner, at + 1)
        texts.append(texts[pair >> 32] + texts[pair & 0xFFFFFFFF])
        joins.append(True)
    phrases = sorted({texts[number] for number in set(tokens.tolist()) if number > begin and len(texts[number]) >= shortest})
    tokenizer.add_tokens([AddedToken(phrase, normalized=False, special=False) for phrase in phrases])


def every_other(places):
    """Without the second of two places side by side: in `aaa` only one pair can be joined."""
    kept = []
    for place in places.tolist():
        if not kept or place > kept[-1] + 1:
            kept.append(place)
    return np.array(kept)


def encode(tokenizer, rows):
    """For each conversation, its tokens and their weights in the loss; 0 is not learned."""
    start, end = tokenizer.token_to_id(START), tokenizer.token_to_id(TURN_END)
    heads = {role: [start, *tokenizer.encode(role + "\n").ids] for role in {role for row in rows for role, *_ in row}}
    tail = tokenizer.encode("\n").ids
    for row, bodies in zip(rows, encoded(tokenizer, rows)):
        ids, learned = [], []
        for role, _, weight in row:
            head, body = heads[role], [*next(bodies), end]
            ids += head + body + tail
            learned += [0.0] * len(head) + [weight] * len(body) + [0.0] * len(tail)
        yield np.array(ids, np.int32), np.array(learned, np.float32)


def encoded(tokenizer, rows, at_once=2_000):
    """For each conversation, the tokens of its messages in order. Encodes a few thousand at a time, because all of them
    together take a lot of memory.
    """
    for first in range(0, len(rows), at_once):
        part = rows[first : first + at_once]
        bodies = iter(tokenizer.encode_batch_fast([text for row in part for _, text, _ in row]))
        for row in part:
            yield iter([next(bodies).ids for _ in row])


class Data(NamedTuple):
    """A tokenizer, and rows of tokens and weights: those to train on, and those held out."""

    tokenizer: Tokenizer
    rows: list
    held: list


def read_data(options, tokenizer):
    """The data of the options, encoded with this tokenizer, or with one that is trained on it."""
    if any(place.endswith(".npz") for place in options.data):
        return read_prepared(options, tokenizer)
    texts = list(find_rows(options.data, "train"))[: options.rows]
    if not texts:
        sys.exit("error: no rows to train on\nhint: look at the dataset with: npx ot-agent traces stats")
    if tokenizer is None:
        tokenizer = train_tokenizer(texts, options.vocab)
        if options.phrases:
            add_phrases(tokenizer, texts)
    held = list(find_rows(options.data, "validation"))
    return Data(tokenizer, list(encode(tokenizer, texts)), list(encode(tokenizer, held)))


def prepare(path, data):
    """Writes data as one file, so that several students, or students on another machine, need not encode it again."""
    flat = {"tokenizer": np.frombuffer(data.tokenizer.to_str().encode(), np.uint8)}
    for part, rows in (("rows", data.rows), ("held", data.held)):
        flat[f"{part}_lengths"] = np.array([len(tokens) for tokens, _ in rows], np.int32)
        tokens, learned = (np.concatenate(side) for side in zip((np.zeros(0, np.int32), np.zeros(0, np.float32)), *rows))
        flat[f"{part}_tokens"] = tokens.astype(np.uint16) if data.tokenizer.get_vocab_size() <= 65536 else tokens
        flat[f"{part}_learned"] = learned.astype(np.int8) if np.isin(learned, (0, 1)).all() else learned
    with open(path + ".tmp", "wb") as file:
        np.savez_compressed(file, **flat)
    os.replace(path + ".tmp", path)


def read_prepared(options, tokenizer):
    """The data of prepared files, which must share a tokenizer."""
    rows, held = [], []
    for place in options.data:
        if not place.endswith(".npz"):
            sys.exit(f"error: {place} is not prepared, so it cannot be mixed with prepared files\nhint: prepare it with the same --init")
        try:
            with np.load(place, allow_pickle=False) as file:
                flat = {name: file[name] for name in file.files}
            own = Tokenizer.from_str(flat["tokenizer"].tobytes().decode())
            rows += split_rows(flat, "rows")
            held += split_rows(flat, "held")
        except Exception as error:
            sys.exit(f"error: {place} cannot be read: {error}\nhint: write it again with --prepare")
        tokenizer = tokenizer or own
        if own.to_str() != tokenizer.to_str():
            sys.exit(f"error: {place} has another tokenizer than {options.init or options.data[0]}\nhint: prepare it with the same --init")
    return Data(tokenizer, rows[: options.rows], held)


def split_rows(flat, part):
    ends = np.cumsum(flat[f"{part}_lengths"])
    if {len(flat[f"{part}_{side}"]) for side in ("tokens", "learned")} != {ends[-1] if len(ends) else 0}:
        raise ValueError(f"its {part} are cut off")
    sides = flat[f"{part}_tokens"].astype(np.int32), flat[f"{part}_learned"].astype(np.float32)
    return list(zip(*(np.split(side, ends[:-1]) for side in sides))) if len(ends) else []


def pack(rows, size, order):
    """Batches of at most `size` tokens, each a list of whole rows."""
    batch, filled = [], 0
    for index in order:
        length = len(rows[index][0])
        if filled + length > size and batch:
            yield batch
            batch, filled = [], 0
        batch.append(index)
        filled += length
    if batch:
        yield batch


class Shape(NamedTuple):
    """What all batches are padded to: tokens, tokens that are learned, and rows. No padding where it is 0."""

    tokens: int = 0
    learned: int = 0
    rows: int = 0


def tensors(rows, batch, shape=Shape(), longest=1):
    """A packed batch: tokens, positions within rows, where rows begin and end; and of the tokens that are learned, the
    places before them, themselves, and their weights.
    """
    tokens, learned = (np.concatenate(side) for side in zip(*(rows[index] for index in batch)))
    tokens = tokens.astype(np.int64)
    lengths = [len(rows[index][0]) for index in batch]
    learned[np.cumsum([0, *lengths[:-1]])] = 0
    places = np.flatnonzero(learned)
    spare, unlearned = max(0, shape.tokens - len(tokens)), max(0, shape.learned - len(places))
    targets, weights = np.pad(tokens[places], (0, unlearned)), np.pad(learned[places], (0, unlearned))
    places = np.pad(places - 1, (0, unlearned))
    lengths += [min(longest, spare - begun) for begun in range(0, spare, longest)]
    positions = np.concatenate([np.arange(length) for length in lengths])
    bounds = np.cumsum([0, *lengths, *[0] * (shape.rows - len(lengths))]).astype(np.int32)
    return [torch.from_numpy(array) for array in (np.pad(tokens, (0, spare)), positions, bounds, places, targets, weights)]


# Training


def loss_of(model, tokens, positions, bounds, places, targets, weights, longest):
    with torch.autocast(tokens.device.type, torch.bfloat16, enabled=tokens.is_cuda):
        logits = model.logits(model(tokens, positions, packed(bounds, longest)).float()[places])
    losses = F.cross_entropy(logits.float(), targets, reduction="none")
    return (losses * weights).sum() / (weights != 0).sum().clamp(min=1)


class Step:
    """A training step. A small student's kernels take less time than launching them, so on a GPU the loss is compiled,
    and after a few steps the whole step is recorded and then replayed.
    """

    def __init__(self, model, optimizer, longest, recorded):
        self.model, self.optimizer, self.longest, self.recorded = model, optimizer, longest, recorded
        self.loss_of = torch.compile(loss_of, dynamic=False) if recorded else loss_of
        self.graph = self.batch = self.loss = None
        self.count, self.ended = 0, torch.cuda.Event() if recorded else None

    def __call__(self, batch):
        self.count += 1
        device = next(self.model.parameters()).device
        if self.batch is None or not self.recorded:
            self.batch = [part.to(device) for part in batch]
        if not self.recorded:
            return self.run()
        while not self.ended.query():
            time.sleep(0.0002)  # CUDA would wait for the step before at full load, and others need the processor.
        for mine, new in zip(self.batch, batch):
            mine.copy_(new)
        if self.count <= 3:
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                self.run()
            torch.cuda.current_stream().wait_stream(side)
            return
        if self.graph is None:
            self.graph = torch.cuda.CUDAGraph()
            self.optimizer.zero_grad(set_to_none=True)
            with torch.cuda.graph(self.graph):
                self.run()
        self.graph.replay()
        self.ended.record()

    def run(self):
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.loss_of(self.model, *self.batch, self.longest)
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.loss = loss.detach()


@torch.no_grad()
def evaluate(model, rows, options, device):
    total = count = 0.0
    for batch in pack(rows, options.batch_tokens, range(len(rows))):
        parts = [part.to(device) for part in tensors(rows, batch)]
        learned = len(parts[-1])
        total, count = total + float(loss_of(model, *parts, max(len(rows[i][0]) for i in batch))) * learned, count + learned
    return total / count if count else None


def rate(step, done, options):
    """Rises for the first steps, then falls to a tenth; `done` is the fraction of the training completed."""
    warm = min(1.0, (step + 1) / max(1, options.warmup))
    return options.lr * warm * (0.1 + 0.9 * 0.5 * (1 + math.cos(math.pi * min(1.0, done))))


def order_of(rows, options):
    """The rows of all epochs, each epoch shuffled."""
    for epoch in range(options.epochs):
        order = list(range(len(rows)))
        random.Random(f"{options.seed} {epoch}").shuffle(order)
        yield from order


class Muon(torch.optim.Optimizer):
    """Steps of orthogonal matrices (Jordan et al., 2024), as long as those of AdamW. Matrices of one shape are computed
    together: one by one, a small student's would take longer than the rest of its training step.
    """

    def __init__(self, matrices, lr, decay):
        shapes = sorted({tuple(p.shape) for p in matrices})
        groups = [{"params": [p for p in matrices if tuple(p.shape) == shape]} for shape in shapes]
        super().__init__(groups, {"lr": lr, "decay": decay})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            params, lr = group["params"], group["lr"]
            for p in params:
                if not self.state[p]:
                    self.state[p]["momentum"] = torch.zeros_like(p)
            grads, momenta = [p.grad for p in params], [self.state[p]["momentum"] for p in params]
            torch._foreach_lerp_(momenta, grads, 0.05)
            steps = orthogonal(torch.stack(torch._foreach_lerp(grads, momenta, 0.95)))
            torch._foreach_mul_(params, 1 - lr * group["decay"])
            torch._foreach_add_(params, list(steps * (-0.2 * math.sqrt(max(params[0].shape)) * lr)))


def orthogonal(matrices):
    """The nearest orthogonal matrices, roughly: five Newton-Schulz steps."""
    x = matrices.bfloat16()
    tall = x.shape[-2] > x.shape[-1]
    x = x.mT if tall else x
    x = x / (x.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    for _ in range(5):
        a = x @ x.mT
        x = 3.4445 * x + (-4.7750 * a + 2.0315 * a @ a) @ x
    return (x.mT if tall else x).float()


class Optimizers:
    """Several optimizers as one."""

    def __init__(self, *parts):
        self.parts = parts

    @property
    def param_groups(self):
        return [group for part in self.parts for group in part.param_groups]

    def step(self):
        for part in self.parts:
            part.step()

    def zero_grad(self, set_to_none):
        for part in self.parts:
            part.zero_grad(set_to_none=set_to_none)

    def state_dict(self):
        return [part.state_dict() for part in self.parts]

    def load_state_dict(self, states):
        for part, state in zip(self.parts, states, strict=True):
            part.load_state_dict(state)


def optimizer_of(model, options, device):
    gpu = device == "cuda"
    lr = torch.tensor(options.lr, device=device) if gpu else options.lr
    by_muon = [p for p in model.model.layers.parameters() if p.dim() == 2] if options.optimizer == "muon" else []
    rest = [p for p in model.parameters() if all(p is not other for other in by_muon)]
    groups = [
        {"params": [p for p in rest if p.dim() == 2], "weight_decay": 0.1},
        {"params": [p for p in rest if p.dim() != 2], "weight_decay": 0.0},
    ]
    adam = torch.optim.AdamW(groups, lr=lr, betas=(0.9, 0.95), fused=gpu, capturable=gpu)
    return Optimizers(adam, *([Muon(by_muon, lr, decay=0.1)] if by_muon else []))


def set_rate(optimizer, value):
    for group in optimizer.param_groups:
        if torch.is_tensor(group["lr"]):
            group["lr"].fill_(value)
        else:
            group["lr"] = value


def shape_of(rows, batches, options, longest):
    """The shape of all batches on a GPU. Counts are rounded up so that code compiled for one dataset works for others."""
    size = max(options.batch_tokens, longest)

    def up(count, to):
        return -(-count // to) * to

    counts = [int(np.count_nonzero(learned)) for _, learned in rows]
    learned = max(sum(counts[i] for i in batch) for batch in batches)
    most = max(len(batch) + -(-max(0, size - sum(len(rows[i][0]) for i in batch)) // longest) for batch in batches)
    return Shape(size, up(learned, 1024), up(most, 64))


def train(model, rows, held, options, device, made_by):
    batches = list(itertools.islice(pack(rows, options.batch_tokens, order_of(rows, options)), options.steps))
    optimizer = optimizer_of(model, options, device)
    first, before = resume(model, optimizer, options, made_by)
    longest = max(len(ids) for ids, _ in rows)
    shape = shape_of(rows, batches, options, longest) if device == "cuda" else Shape()
    take_step = Step(model, optimizer, longest, device == "cuda" and not options.plain)
    saved = time.time()
    began = saved - before
    step = first - 1
    seen = 0
    for step in range(first, len(batches)):
        done = max(step / len(batches), (time.time() - began) / options.seconds if options.seconds else 0)
        batch = tensors(rows, batches[step], shape, longest)
        set_rate(optimizer, rate(step, done, options))
        take_step(batch)
        seen += sum(len(rows[index][0]) for index in batches[step])
        if step % 20 == 0 or step == len(batches) - 1:
            note(options, step=step, steps=len(batches), loss=float(take_step.loss), tokens=seen, sec=round(time.time() - began, 2))
        if options.seconds and time.time() - began > options.seconds:
            note(options, stopped_after_sec=options.seconds)
            break
        if time.time() - saved > options.save_every:
            save_checkpoint(model, optimizer, step + 1, time.time() - began, options, made_by)
            saved = time.time()
    note(options, step=step + 1, validation_loss=evaluate(model, held, options, device), rows=len(rows), sec=round(time.time() - began, 2))


def note(options, **values):
    values = {k: v for k, v in values.items() if v is not None}
    with open(os.path.join(options.out, "metrics.jsonl"), "a") as file:
        file.write(json.dumps(values) + "\n")
    print(json.dumps(values), flush=True)


def fingerprint(options, data):
    """What a student is made from: the settings, and the content of the data, wherever it is."""
    values = {k: v for k, v in vars(options).items() if k not in ("data", "out", "prepare", "save_every", "device", "plain")}
    digest = hashlib.sha256(f"{json.dumps(values, sort_keys=True)}\n{data.tokenizer.to_str()}".encode())
    for tokens, learned in data.rows:
        digest.update(tokens)
        digest.update(learned)
    return digest.hexdigest()


def save_checkpoint(model, optimizer, step, sec, options, made_by):
    path = os.path.join(options.out, "checkpoint.pt")
    state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step, "sec": sec, "made_by": made_by}
    torch.save(state, path + ".tmp")
    os.replace(path + ".tmp", path)


def resume(model, optimizer, options, made_by):
    """The step to continue with, and how many seconds the previous steps took."""
    path = os.path.join(options.out, "checkpoint.pt")
    if not os.path.exists(path):
        return 0, 0.0
    state = torch.load(path, map_location="cpu", weights_only=True)
    if state["made_by"] != made_by:
        sys.exit(f"error: {path} was made with other settings or data\nhint: use another --out, or remove it")
    model.load_state_dict(state["model"])
    rates = [group["lr"] for group in optimizer.param_groups]
    optimizer.load_state_dict(state["optimizer"])
    for group, mine in zip(optimizer.param_groups, rates):
        group["lr"] = mine
    return state["step"], state.get("sec", 0.0)


# Output


def config_of(shape, tokenizer, context):
    end = tokenizer.token_to_id(TURN_END)
    return {
        "architectures": ["Qwen3ForCausalLM"],
        "model_type": "qwen3",
        "vocab_size": shape["vocab"],
        "hidden_size": shape["width"],
        "intermediate_size": shape["inner"],
        "num_hidden_layers": shape["layers"],
        "num_attention_heads": shape["heads"],
        "num_key_value_heads": shape["kv_heads"],
        "head_dim": shape["head"],
        "max_position_embeddings": context,
        "rms_norm_eps": 1e-6,
        "rope_theta": shape["theta"],
        "rope_parameters": {"rope_type": "default", "rope_theta": shape["theta"]},
        "tie_word_embeddings": True,
        "hidden_act": "silu",
        "attention_bias": False,
        "bos_token_id": None,
        "eos_token_id": end,
        "pad_token_id": tokenizer.token_to_id(END),
        "torch_dtype": "bfloat16",
    }


def save(model, tokenizer, options):
    out = options.out
    weights = {k: v.detach().to("cpu", torch.bfloat16).contiguous() for k, v in model.state_dict().items()}
    save_file(weights, os.path.join(out, "model.safetensors"), {"format": "pt"})
    tokenizer.save(os.path.join(out, "tokenizer.json"))
    config = config_of(model.shape, tokenizer, options.context)
    files = {
        "config.json": config,
        "generation_config.json": {"eos_token_id": config["eos_token_id"], "pad_token_id": config["pad_token_id"]},
        "tokenizer_config.json": {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "eos_token": TURN_END,
            "pad_token": END,
            "model_max_length": options.context,
            "chat_template": CHAT_TEMPLATE,
            "clean_up_tokenization_spaces": False,
        },
        "settings.json": {k: v for k, v in vars(options).items() if k not in ("out", "device")},
    }
    for name, value in files.items():
        with open(os.path.join(out, name), "w") as file:
            json.dump(value, file, indent=1)
    from gguf_file import write_gguf

    write_gguf(os.path.join(out, "student.gguf"), weights, model.shape, tokenizer, options.context, CHAT_TEMPLATE)


def load(folder, device):
    """A saved student and its tokenizer."""
    with open(os.path.join(folder, "config.json")) as file:
        c = json.load(file)
    shape = dict(
        vocab=c["vocab_size"], width=c["hidden_size"], inner=c["intermediate_size"], layers=c["num_hidden_layers"],
        heads=c["num_attention_heads"], kv_heads=c["num_key_value_heads"], head=c["head_dim"], theta=c["rope_theta"],
    )
    model = Student(shape)
    model.load_state_dict(load_file(os.path.join(folder, "model.safetensors")))
    return model.to(device), Tokenizer.from_file(os.path.join(folder, "tokenizer.json")), c["max_position_embeddings"]


def new_student(tokenizer, options):
    width, vocab = options.width, -(-tokenizer.get_vocab_size() // 64) * 64
    heads = dict(heads=width // 64, kv_heads=max(1, width // 128), head=64)
    return Student(dict(vocab=vocab, width=width, inner=width * 3, layers=options.layers, **heads, theta=1000000.0)).to(options.device)


def main():
    flags = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    flags.add_argument("--data", action="append", required=True, help="a dataset's folder, a JSON lines file or a prepared file; may be repeated, but prepared files do not mix with others")
    made = flags.add_mutually_exclusive_group(required=True)
    made.add_argument("--out", help="folder of the student")
    made.add_argument("--prepare", metavar="FILE.npz", help="train nothing: encode the data for later runs of --data FILE.npz, also on other machines")
    flags.add_argument("--init", help="a student to start from; its tokenizer and shape are kept")
    flags.add_argument("--layers", type=int, default=8)
    flags.add_argument("--width", type=int, default=384)
    flags.add_argument("--vocab", type=int, default=4096, help="size of the vocabulary of a new tokenizer; --init and prepared files bring their own")
    flags.add_argument("--phrases", action="store_true", help="in a new tokenizer, make one token of each long text that half of the conversations share")
    flags.add_argument("--context", type=int, default=8192, help="longer rows are left out")
    flags.add_argument("--rows", type=int, help="train on the first N rows only")
    flags.add_argument("--epochs", type=int, default=1)
    flags.add_argument("--steps", type=int, help="stop after N steps")
    flags.add_argument("--seconds", type=float, help="stop after this long; the learning rate decays over this time")
    flags.add_argument("--batch-tokens", type=int, default=65536)
    flags.add_argument("--lr", type=float, default=1e-3)
    flags.add_argument("--optimizer", choices=["adamw", "muon"], default="adamw", help="muon: for the matrices of the layers; AdamW for the rest")
    flags.add_argument("--warmup", type=int, default=50)
    flags.add_argument("--seed", type=int, default=0)
    flags.add_argument("--save-every", type=float, default=120, help="seconds between checkpoints")
    flags.add_argument("--plain", action="store_true", help="on a GPU: neither compile nor record the step; slower, and it needs no compiler")
    flags.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    options = flags.parse_args()
    if options.prepare and not options.prepare.endswith(".npz"):
        sys.exit(f"error: --prepare: expected a name that ends with .npz, got {options.prepare}\nhint: --data knows a prepared file by its ending")
    if options.prepare and not os.path.isdir(os.path.dirname(options.prepare) or "."):
        sys.exit(f"error: --prepare: the folder of {options.prepare} does not exist\nhint: create it first")
    torch.manual_seed(options.seed)
    torch.set_float32_matmul_precision("high")
    model, tokenizer, _ = load(options.init, options.device) if options.init else (None, None, None)
    data = read_data(options, tokenizer)
    if options.prepare:
        prepare(options.prepare, data)
        return
    os.makedirs(options.out, exist_ok=True)
    model = model or new_student(data.tokenizer, options)
    rows, held = ([row for row in part if len(row[0]) <= options.context] for part in (data.rows, data.held))
    rows = [row for row in rows if row[1].any()]
    parameters = sum(p.numel() for p in model.parameters())
    note(options, parameters=parameters, rows=len(rows), left_out=len(data.rows) - len(rows), tokens=sum(len(r[0]) for r in rows))
    if not rows:
        sys.exit(f"error: no row fits into {options.context} tokens\nhint: raise --context")
    if options.steps is None and options.epochs * len(rows) > 50_000_000:
        sys.exit(f"error: the order of {options.epochs} epochs of {len(rows)} rows does not fit into memory\nhint: pass --steps too")
    train(model, rows, held, options, options.device, fingerprint(options, data))
    save(model, data.tokenizer, options)
    checkpoint = os.path.join(options.out, "checkpoint.pt")
    if os.path.exists(checkpoint):
        os.remove(checkpoint)


if __name__ == "__main__":
    main()
