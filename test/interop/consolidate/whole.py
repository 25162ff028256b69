"""A consolidated folder loads and holds exactly the weights that DeepSpeed gathered by itself: whole.py FOLDER WHOLE.bin"""

import sys

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

folder, whole = sys.argv[1:]
model, loading = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, output_loading_info=True)
assert not any(loading.values()), loading
assert AutoTokenizer.from_pretrained(folder).chat_template
expected, found = torch.load(whole), model.state_dict()
assert expected.keys() == found.keys(), expected.keys() ^ found.keys()
different = [name for name in expected if not torch.equal(expected[name], found[name])]
assert not different, different
print(f"{len(found)} weights are those of the shards, {sum(p.numel() for p in model.parameters())} parameters load")
