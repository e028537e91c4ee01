#!/usr/bin/env python3
"""Writes a batch.safetensors of made-up token ids (and the same ids as labels)."""
import argparse
import json
import random
import struct

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--vocab-size", type=int, required=True)
parser.add_argument("--batch-size", type=int, default=2)
parser.add_argument("--seq-len", type=int, required=True)
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--out", required=True)
arguments = parser.parse_args()

generator = random.Random(arguments.seed)
count = arguments.batch_size * arguments.seq_len
ids = struct.pack(f"<{count}q", *(generator.randrange(arguments.vocab_size) for _ in range(count)))
shape = [arguments.batch_size, arguments.seq_len]
header = json.dumps({
    name: {"dtype": "I64", "shape": shape, "data_offsets": [i * len(ids), (i + 1) * len(ids)]}
    for i, name in enumerate(("input_ids", "labels"))
}).encode()
header += b" " * (-len(header) % 8)
with open(arguments.out, "wb") as file:
    file.write(struct.pack("<Q", len(header)) + header + ids + ids)
