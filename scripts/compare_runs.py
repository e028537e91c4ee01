#!/usr/bin/env python3
"""Prints runs of sp-run side by side.

    compare_runs.py FOLDER NAME=LABEL ...

Reads FOLDER/NAME.json and FOLDER/NAME.safetensors; logits are compared with the first
run's.
"""
import array
import json
import pathlib
import struct
import sys

folder = pathlib.Path(sys.argv[1])
runs = [argument.split("=", 1) for argument in sys.argv[2:]]


def read_logits(path):
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    info = json.loads(data[8 : 8 + size])["logits"]
    begin, end = (8 + size + offset for offset in info["data_offsets"])
    values = array.array({"F32": "f", "F64": "d"}[info["dtype"]])
    values.frombytes(data[begin:end])
    return values


def mebibytes(count):
    return f"{count / 2**20:.1f} MiB"


rows = {}
first = None
for name, label in runs:
    report = json.loads((folder / f"{name}.json").read_text())
    logits = read_logits(folder / f"{name}.safetensors")
    first = first or logits
    difference = max(map(abs, map(float.__sub__, logits, first)))
    column = {
        "loss": f"{report['loss']:.7f}",
        "max |logits - " + runs[0][1] + "|": f"{difference:.1e}",
    }
    for kind, total in report["collectives"].items():
        column[f"{kind} per rank"] = (
            f"{total['count']} ({mebibytes(total['bytes'])})" if total["count"] else "-"
        )
    column["activations per rank"] = mebibytes(report["activation_bytes"])
    column["arena per rank"] = mebibytes(report["arena_bytes"]["planned"])
    column["tokens/s"] = f"{report['tokens_per_second']:.0f}"
    rows[label] = column

labels = list(rows)
width = max(len(key) for column in rows.values() for key in column)
print()
print(" " * width, *(f"{label:>18}" for label in labels))
for key in rows[labels[0]]:
    print(f"{key:{width}}", *(f"{rows[label][key]:>18}" for label in labels))
print()
print("activations: all values of the forward pass, what training would keep;")
print("arena: the memory they take when a value's place is reused after its last use.")
