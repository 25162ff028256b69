"""Writes a small Qwen3-like Hugging Face folder as one GGUF file for llama.cpp: to_gguf.py FOLDER FILE.gguf"""

import json
import pathlib
import sys

import gguf
import numpy
from safetensors.numpy import load_file

folder, target = pathlib.Path(sys.argv[1]), sys.argv[2]
config = json.loads((folder / "config.json").read_text())
tokenizer = json.loads((folder / "tokenizer.json").read_text())
assert config["model_type"] == "qwen3", config["model_type"]
layers = config["num_hidden_layers"]

writer = gguf.GGUFWriter(target, "qwen3")
writer.add_block_count(layers)
writer.add_context_length(config["max_position_embeddings"])
writer.add_embedding_length(config["hidden_size"])
writer.add_feed_forward_length(config["intermediate_size"])
writer.add_head_count(config["num_attention_heads"])
writer.add_head_count_kv(config["num_key_value_heads"])
writer.add_key_length(config["head_dim"])
writer.add_value_length(config["head_dim"])
writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
writer.add_rope_freq_base((config.get("rope_parameters") or {}).get("rope_theta") or config.get("rope_theta", 10000.0))

tokens = {index: text for text, index in tokenizer["model"]["vocab"].items()}
special = {added["id"]: added["content"] for added in tokenizer["added_tokens"]}
size = config["vocab_size"]
writer.add_tokenizer_model("gpt2")
writer.add_tokenizer_pre("qwen2")
writer.add_token_list([special.get(i) or tokens.get(i) or f"[PAD{i}]" for i in range(size)])
kinds = gguf.TokenType
writer.add_token_types([kinds.CONTROL if i in special else kinds.NORMAL if i in tokens else kinds.UNUSED for i in range(size)])
writer.add_token_merges([merge if isinstance(merge, str) else " ".join(merge) for merge in tokenizer["model"]["merges"]])
writer.add_eos_token_id(config["eos_token_id"])
writer.add_pad_token_id(config["pad_token_id"])
writer.add_add_bos_token(False)
writer.add_chat_template((folder / "chat_template.jinja").read_text())

names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.QWEN3, layers)
tensors = load_file(folder / "model.safetensors")
for name, values in tensors.items():
    if name == "lm_head.weight" and config["tie_word_embeddings"]:
        continue
    mapped = names.get_name(name, try_suffixes=(".weight",))
    assert mapped, f"no name for {name}"
    # Norms stay in float32, as llama.cpp requires.
    writer.add_tensor(mapped, values.astype(numpy.float32 if values.ndim == 1 else numpy.float16))
writer.write_header_to_file()
writer.write_kv_data_to_file()
writer.write_tensors_to_file()
writer.close()
print(f"{len(tensors)} tensors, {size} tokens")
