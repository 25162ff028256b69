"""Writes a student as a GGUF file, the form that llama.cpp reads."""

import os
import struct

import numpy

KINDS = {"u32": 4, "i32": 5, "f32": 6, "bool": 7, "string": 8, "array": 9}


def text(value):
    data = value.encode("utf-8")
    return struct.pack("<Q", len(data)) + data


def plain(kind, value):
    if kind == "string":
        return text(value)
    return struct.pack({"u32": "<I", "i32": "<i", "f32": "<f", "bool": "<?"}[kind], value)


def entry(key, kind, value):
    if isinstance(value, list):
        body = struct.pack("<IQ", KINDS[kind], len(value)) + b"".join(plain(kind, one) for one in value)
        return text(key) + struct.pack("<I", KINDS["array"]) + body
    return text(key) + struct.pack("<I", KINDS[kind]) + plain(kind, value)


NAMES = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_norm": "attn_k_norm",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}


def name_of(name):
    if name == "model.embed_tokens.weight":
        return "token_embd.weight"
    if name == "model.norm.weight":
        return "output_norm.weight"
    _, _, number, rest = name.split(".", 3)
    return f"blk.{number}.{NAMES[rest.removesuffix('.weight')]}.weight"


# llama.cpp's kinds of tokens. It calls phrases user-defined: it looks for them in a text before it splits the rest.
NORMAL, CONTROL, PHRASE, UNUSED = 1, 3, 4, 5


def facts(shape, tokenizer, context, chat_template, quantized):
    import json

    model = json.loads(tokenizer.to_str())["model"]
    added = tokenizer.get_added_tokens_decoder()
    special = {token.content: number for number, token in added.items() if token.special}
    tokens = [f"[PAD{i}]" for i in range(shape["vocab"])]
    types = [UNUSED] * shape["vocab"]
    for token, number in tokenizer.get_vocab().items():
        kind = CONTROL if token in special else PHRASE if number in added else NORMAL
        tokens[number], types[number] = token, kind
    merges = [m if isinstance(m, str) else " ".join(m) for m in model["merges"]]
    a = "qwen3."
    return [
        ("general.architecture", "string", "qwen3"),
        ("general.name", "string", "student"),
        ("general.file_type", "u32", 7 if quantized else 1),
        (a + "block_count", "u32", shape["layers"]),
        (a + "context_length", "u32", context),
        (a + "embedding_length", "u32", shape["width"]),
        (a + "feed_forward_length", "u32", shape["inner"]),
        (a + "attention.head_count", "u32", shape["heads"]),
        (a + "attention.head_count_kv", "u32", shape["kv_heads"]),
        (a + "attention.key_length", "u32", shape["head"]),
        (a + "attention.value_length", "u32", shape["head"]),
        (a + "attention.layer_norm_rms_epsilon", "f32", 1e-6),
        (a + "rope.freq_base", "f32", shape["theta"]),
        ("tokenizer.ggml.model", "string", "gpt2"),
        ("tokenizer.ggml.pre", "string", "qwen2"),
        ("tokenizer.ggml.tokens", "string", tokens),
        ("tokenizer.ggml.token_type", "i32", types),
        ("tokenizer.ggml.merges", "string", merges),
        ("tokenizer.ggml.eos_token_id", "u32", special["<|im_end|>"]),
        ("tokenizer.ggml.padding_token_id", "u32", special["<|endoftext|>"]),
        ("tokenizer.ggml.add_bos_token", "bool", False),
        ("tokenizer.chat_template", "string", chat_template),
    ]


F32, F16, Q8_0 = 0, 1, 8


def stored(weight, quantized):
    """A weight's kind and bytes: 16 bits for matrices, or 8 with a scale for every 32 numbers; 32 bits for norms."""
    values = weight.float().numpy()
    if values.ndim == 1:
        return F32, values.astype(numpy.float32).tobytes()
    if not quantized:
        return F16, values.astype(numpy.float16).tobytes()
    blocks = values.reshape(-1, 32)
    scales = (numpy.abs(blocks).max(1, keepdims=True) / 127).astype(numpy.float16)
    divisors = numpy.where(scales == 0, 1, scales).astype(numpy.float32)
    numbers = numpy.clip(numpy.rint(blocks / divisors), -127, 127).astype(numpy.int8)
    return Q8_0, numpy.concatenate([scales.view(numpy.int8), numbers], 1).tobytes()


def write_gguf(path, weights, shape, tokenizer, context, chat_template, quantized=False):
    arrays = [(name_of(name), weight.shape[::-1], *stored(weight, quantized)) for name, weight in weights.items()]
    entries = facts(shape, tokenizer, context, chat_template, quantized)
    head = b"GGUF" + struct.pack("<IQQ", 3, len(arrays), len(entries))
    head += b"".join(entry(*one) for one in entries)
    offset = 0
    for name, sizes, kind, data in arrays:
        head += text(name) + struct.pack("<I", len(sizes)) + struct.pack(f"<{len(sizes)}Q", *sizes) + struct.pack("<IQ", kind, offset)
        offset += len(data) + -len(data) % 32
    # By renaming, because whoever finds the file takes the student as finished.
    with open(path + ".tmp", "wb") as file:
        file.write(head + b"\0" * (-len(head) % 32))
        for *_, data in arrays:
            file.write(data + b"\0" * (-len(data) % 32))
    os.replace(path + ".tmp", path)
