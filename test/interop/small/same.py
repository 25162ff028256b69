"""Compares a student of trainers/small in three programs: its own, transformers and llama.cpp."""

import json
import sys
import urllib.request

import torch
import xllamacpp
from transformers import AutoModelForCausalLM, AutoTokenizer

sys.path.insert(0, "trainers/small")
from train import load, packed  # noqa: E402

folder = sys.argv[1]
model, tokenizer, _ = load(folder, "cpu")
phrases = [token.content for token in tokenizer.get_added_tokens_decoder().values() if not token.special]
assert phrases, "the student has no phrases"
text = 'Please list the files:\n{"analysis": "é 12345", "commands": []}\n' + " and ".join(phrases)
ids = tokenizer.encode(text).ids
with torch.no_grad():
    ours = model.eval().logits(model(torch.tensor(ids), torch.arange(len(ids)), packed(torch.tensor([0, len(ids)], dtype=torch.int32), len(ids))))
    theirs = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()(torch.tensor([ids])).logits[0]
assert AutoTokenizer.from_pretrained(folder)(text).input_ids == ids, "transformers splits the text otherwise"
assert tokenizer.decode(ids, skip_special_tokens=False) == text, "the text does not come back"
assert (ours - theirs).abs().max() < 1e-3, "transformers computes something else"

options = xllamacpp.CommonParams()
options.model.path, options.n_ctx, options.port = f"{folder}/student.gguf", 1024, 18342
options.hostnames, options.use_jinja = ["127.0.0.1"], True
server = xllamacpp.Server(options)


def ask(path, body):
    request = urllib.request.Request("http://127.0.0.1:18342" + path, json.dumps(body).encode(), {"content-type": "application/json"})
    return json.load(urllib.request.urlopen(request))


assert ask("/tokenize", {"content": text})["tokens"] == ids, "llama.cpp splits the text otherwise"
first = ask("/completion", {"prompt": ids, "n_predict": 1, "temperature": 0, "n_probs": 1})["completion_probabilities"][0]
assert first["id"] == int(ours[-1].argmax()), "llama.cpp goes on with another token"
print("the same in all three")
