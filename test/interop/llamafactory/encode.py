"""LLaMA-Factory's own encoder on rows, against what the preflight of a launch counted: encode.py MODEL COUNTED.jsonl

Each line of COUNTED: {"system", "tools", "turns", "template", "cutoffLen", "maskHistory", "tokens", "trainable"}.
"""

import functools
import json
import sys

from llamafactory.data.processor.supervised import SupervisedDatasetProcessor
from llamafactory.data.template import get_template_and_fix_tokenizer
from llamafactory.hparams import DataArguments
from transformers import AutoTokenizer


@functools.cache
def processor_of(name, mask_history):
    arguments = DataArguments(template=name, mask_history=mask_history)
    tokenizer = AutoTokenizer.from_pretrained(sys.argv[1])
    template = get_template_and_fix_tokenizer(tokenizer, arguments)
    return SupervisedDatasetProcessor(template, tokenizer, None, arguments)


def encode(row, cutoff_len):
    processor = processor_of(row["template"], row["maskHistory"])
    processor.data_args.cutoff_len = cutoff_len
    said = [{"role": turn["role"], "content": turn["content"]} for turn in row["turns"]]
    return processor._encode_data_example(said[:-1], said[-1:], row["system"], row["tools"], [], [], [])


problems, rows, tokens, trainable, cut = [], 0, 0, 0, 0
for line in open(sys.argv[2]):
    row = json.loads(line)
    whole = len(encode(row, 10**9)[0])
    kept, labels = encode(row, row["cutoffLen"])
    learnt = sum(label != -100 for label in labels)
    rows, tokens, trainable, cut = rows + 1, tokens + whole, trainable + learnt, cut + (len(kept) < whole)
    if (whole, learnt) != (row["tokens"], row["trainable"]):
        problems.append(
            f"row {rows} ({row['template']}, cutoff_len {row['cutoffLen']}, mask_history {row['maskHistory']}): "
            f"LLaMA-Factory has {whole} tokens, {learnt} trainable; counted were {row['tokens']} and {row['trainable']}"
        )
print(f"{rows} rows, {tokens} tokens, {trainable} trainable, {cut} cut, {len(problems)} counted otherwise")
print("\n".join(problems[:20]))
sys.exit(bool(problems) or rows == 0)
