"""Leaves two checkpoints as DeepSpeed writes them, sharded over the processes of torchrun: shard.py MODEL SETTINGS.json RUN WHOLE.bin

RUN/checkpoint-9 and the newer RUN/checkpoint-10 differ by one step. What the newer one holds, DeepSpeed also gathers into
WHOLE.bin by itself. The tokenizer lies beside the shards, the configuration of the model in RUN.
"""

import json
import os
import sys

import deepspeed
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer
from transformers.integrations import HfDeepSpeedConfig

model_dir, settings_file, run, whole = sys.argv[1:]
with open(settings_file) as file:
    settings = json.load(file)
# Values that a trainer fills in for "auto".
del settings["train_batch_size"]
settings.update(train_micro_batch_size_per_gpu=1, gradient_accumulation_steps=1, gradient_clipping=1.0, bf16={"enabled": False}, fp16={"enabled": False})
zero = settings["zero_optimization"]
zero.update({key: 1_000_000 for key, value in zero.items() if value == "auto"})

# The shared-memory transport would have to be compiled first, which takes a minute.
deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False
deepspeed.init_distributed("gloo")
is_shared = HfDeepSpeedConfig(settings)  # from here on models are loaded in shards
model = AutoModelForCausalLM.from_pretrained(model_dir, dtype=torch.float32)
tokenizer = AutoTokenizer.from_pretrained(model_dir)
engine, *_ = deepspeed.initialize(model=model, optimizer=torch.optim.AdamW(model.parameters(), lr=1e-3), config=settings)
tokens = tokenizer("every step changes every weight", return_tensors="pt").input_ids
for step in (9, 10):
    loss = engine(input_ids=tokens, labels=tokens).loss
    engine.backward(loss)
    engine.step()
    checkpoint = os.path.join(run, f"checkpoint-{step}")
    engine.save_checkpoint(checkpoint, tag=f"global_step{step}")
    if engine.global_rank == 0:
        tokenizer.save_pretrained(checkpoint)
engine.save_16bit_model(os.path.dirname(whole), os.path.basename(whole))
if engine.global_rank == 0:
    model.config.save_pretrained(run)
