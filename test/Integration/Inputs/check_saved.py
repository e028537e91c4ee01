"""Checks what one more layer adds to the saved activations of a run."""
import argparse
import json
import sys
from fractions import Fraction

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("fewer")
parser.add_argument("more")
parser.add_argument("--tp", type=int, required=True)
parser.add_argument("--dtype", required=True)
parser.add_argument("--units", type=Fraction, required=True)
parser.add_argument("--exact-arena", action="store_true")
args = parser.parse_args()

fewer, more = (json.load(open(path)) for path in (args.fewer, args.more))
element = {"bf16": 2, "f32": 4}[args.dtype]
elements = 256 * 2 * 96  # S * B * H
want = args.units * elements * element / 2 / args.tp
saved = more["saved_activation_bytes"] - fewer["saved_activation_bytes"]
failed = saved != want
print(f"saved {saved}, want {want}")
for run in (fewer, more):
    if any(bytes != run["arena_bytes"]["planned"] for bytes in run["arena_bytes"]["measured"]):
        print("planned and touched bytes differ:", run["arena_bytes"])
        failed = True
if args.exact_arena:
    grown = more["arena_bytes"]["planned"] - fewer["arena_bytes"]["planned"]
    print(f"the arena grows by {grown}")
    failed |= grown != want
sys.exit(failed)
