"""What a training left is a model that loads and that learned for the given number of steps: trained.py FOLDER STEPS"""

import json
import math
import pathlib
import sys

folder, steps = pathlib.Path(sys.argv[1]), int(sys.argv[2])
log = [json.loads(line) for line in (folder / "trainer_log.jsonl").read_text().splitlines()]
losses = [entry["loss"] for entry in log if "loss" in entry]
assert len(losses) == steps and all(math.isfinite(loss) and loss > 0 for loss in losses), losses

from transformers import AutoModelForCausalLM, AutoTokenizer

model = AutoModelForCausalLM.from_pretrained(folder)
assert AutoTokenizer.from_pretrained(folder).chat_template
print(f"{steps} steps, losses {losses}, {sum(p.numel() for p in model.parameters())} parameters load")
