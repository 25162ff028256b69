"""LLaMA-Factory's own argument classes read the YAML of rendered launches: parse.py PLAN.json...

What needs a GPU or a package that is not here is taken out first and named: DeepSpeed and FSDP files, bf16.
"""

import json
import os
import sys

import yaml
from llamafactory.hparams.parser import _TRAIN_ARGS
from transformers import HfArgumentParser

NEED_GPU = ("deepspeed", "fsdp", "fsdp_config", "bf16", "fp16", "tf32")
problems = []
for path in sys.argv[1:]:
    with open(path) as file:
        files = json.load(file)["files"]
    found = {name: yaml.safe_load(text) for name, text in files.items() if name.endswith((".yaml", ".yml"))}
    training = {name: keys for name, keys in found.items() if isinstance(keys, dict) and "stage" in keys}
    if not training:
        problems.append(f"{path}: no training file among {list(files)}")
    for name, keys in training.items():
        kept = {key: value for key, value in keys.items() if key not in NEED_GPU}
        is_mca = "sft_mca" in os.path.basename(path)
        try:
            HfArgumentParser(_TRAIN_ARGS).parse_dict({**kept, "use_cpu": True}, allow_extra_keys=is_mca)
        except Exception as error:
            problems.append(f"{os.path.basename(path)}: {name}: {type(error).__name__}: {error}"[:400])
print(f"{len(sys.argv) - 1} plans parsed without {', '.join(NEED_GPU)}; keys of Megatron are not known to these classes")
print("\n".join(problems))
sys.exit(bool(problems))
