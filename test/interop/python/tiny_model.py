"""Makes a small untrained model with its own tokenizer as a Hugging Face folder: tiny_model.py FOLDER TEXTS.jsonl...

The architecture is Qwen3's, a few million parameters wide. The tokenizer is a byte-level BPE trained on the conversations
given (role/content or from/value), with the special tokens of ChatML and a ChatML template.
"""

import json
import sys

import torch
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
SPLIT = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
CHATML = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)


def texts_of(files):
    for file in files:
        with open(file) as lines:
            for line in lines:
                row = json.loads(line)
                for turn in row.get("conversations") or row.get("messages") or []:
                    yield turn.get("content") or turn.get("value") or ""


def train_tokenizer(files):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(SPLIT), behavior="isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    tokenizer.train_from_iterator(texts_of(files), trainers.BpeTrainer(vocab_size=4096, special_tokens=SPECIAL, initial_alphabet=alphabet, show_progress=False))
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token="<|im_end|>", pad_token="<|endoftext|>", additional_special_tokens=SPECIAL, chat_template=CHATML, model_max_length=32768
    )


folder, *files = sys.argv[1:]
torch.manual_seed(7)
tokenizer = train_tokenizer(files)
config = Qwen3Config(
    vocab_size=(len(tokenizer) + 63) // 64 * 64,
    hidden_size=192,
    intermediate_size=512,
    num_hidden_layers=4,
    num_attention_heads=4,
    num_key_value_heads=2,
    head_dim=48,
    max_position_embeddings=32768,
    tie_word_embeddings=True,
    bos_token_id=None,
    eos_token_id=tokenizer.eos_token_id,
    pad_token_id=tokenizer.pad_token_id,
)
model = Qwen3ForCausalLM(config)
model.generation_config.eos_token_id = [tokenizer.eos_token_id, tokenizer.pad_token_id]
model.save_pretrained(folder)
tokenizer.save_pretrained(folder)
print(f"{sum(p.numel() for p in model.parameters()) / 1e6:.1f} M parameters, {len(tokenizer)} tokens")
