"""What a student is trained on is what the chat template of its folder renders: same_tokens.py TOKENIZED DATASET MODEL FIRST.json

Every row that LLaMA-Factory tokenized is compared, token by token, with the row of the dataset under the template saved with
the model. FIRST.json gets one conversation up to its last reply, with the tokens trained on, for servers to be held to.
"""

import json
import pathlib
import sys

from datasets import load_from_disk
from transformers import AutoTokenizer

tokenized, dataset, model, first = sys.argv[1:]
tokenizer = AutoTokenizer.from_pretrained(model)
ROLES = {"human": "user", "gpt": "assistant"}


def messages_of(row):
    return [{"role": ROLES.get(role := turn.get("role") or turn["from"], role), "content": turn.get("content") or turn["value"]} for turn in row["conversations"]]


def tokens_of(messages, **more):
    return tokenizer.apply_chat_template(messages, tokenize=True, return_dict=False, **more)


rows = [messages_of(json.loads(line)) for file in sorted(pathlib.Path(dataset, "jsonl").glob("*train*.jsonl")) for line in file.read_text().splitlines()]
trained = [row["input_ids"] for row in load_from_disk(tokenized)["train"]]
assert len(rows) == len(trained) > 0, f"{len(rows)} rows, {len(trained)} tokenized"
for number, (messages, tokens) in enumerate(zip(rows, trained)):
    rendered = tokens_of(messages)
    if rendered != tokens:
        at = next((i for i, (a, b) in enumerate(zip(rendered, tokens)) if a != b), min(len(rendered), len(tokens)))
        raise SystemExit(f"row {number} differs at token {at} of {len(tokens)}: trained on {tokenizer.decode(tokens[at : at + 20])!r}, rendered {tokenizer.decode(rendered[at : at + 20])!r}")
    asked = tokens_of(messages[:-1], add_generation_prompt=True)
    assert tokens[: len(asked)] == asked, f"row {number}: what is asked for the last reply is not how its tokens begin"
shortest = min(range(len(rows)), key=lambda i: len(trained[i]))
asked = tokens_of(rows[shortest][:-1], add_generation_prompt=True)
pathlib.Path(first).write_text(json.dumps({"messages": rows[shortest][:-1], "tokens": trained[shortest][: len(asked)]}))
print(f"{len(rows)} rows, {sum(map(len, trained))} tokens: trained on exactly what the template renders")
