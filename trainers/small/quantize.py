"""Writes a student as a GGUF file with weights of 8 bits: half as large as the one that training leaves.

    python trainers/small/quantize.py STUDENT OUT.gguf
"""

import sys

from gguf_file import write_gguf
from train import CHAT_TEMPLATE, load

folder, out = sys.argv[1:]
model, tokenizer, context = load(folder, "cpu")
write_gguf(out, model.state_dict(), model.shape, tokenizer, context, CHAT_TEMPLATE, quantized=True)
