"""Golden gradients under combinations of options in which each pair of values occurs.

With padding on, once more with a length that needs it, against one rank without padding."""
import argparse
import itertools
import pathlib
import subprocess
import sys

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("model", type=pathlib.Path)
parser.add_argument("odd_batch", type=pathlib.Path)
parser.add_argument("folder", type=pathlib.Path)
args = parser.parse_args()

# What a program is like under sequence parallelism.
OPTIONS = {
    "mesh": ["tp=2", "tp=4"],
    "objective": ["memory", "bytes"],
    "shared-entry-gathers": ["true", "false"],
    "merge-linears": ["false", "true"],
    "head": ["replicated", "vocab"],
    "pad-sequence": ["false", "true"],
    "sync-at-end": ["true", "false"],
    # Enough for each form of the model, too little for all that they could save.
    "recompute": ["none", "gathers", "all", "auto --activation-budget=240000"],
}
# What turns it off; then the objective and entry gathers mean nothing.
OFF = ["--sequence-parallel=false", "--min-tokens=1000"]


def pairs(row):
    return set(itertools.combinations(zip(OPTIONS, row), 2))


def cover():
    """The row with the most pairs that no earlier row has, until there are none."""
    rows = list(itertools.product(*OPTIONS.values()))
    missing = set().union(*map(pairs, rows))
    while missing:
        best = max(rows, key=lambda row: len(pairs(row) & missing))
        missing -= pairs(best)
        yield best


def grad(batch, out, flags=()):
    return run("sp-run", "grad", "--model", args.model, "--batch", batch, "--dtype", "f64", "--out", out, *flags)


def compare(out, golden, *flags):
    run("sp-test-compare", out, golden, "--mode=scaled", "--tolerance=1e-10", *flags)


def run(*command):
    result = subprocess.run(command, capture_output=True, text=True, timeout=120)
    if result.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{result.stdout}{result.stderr}")
    return result.stdout + result.stderr


out, one = args.folder / "out.st", args.folder / "one.st"
grad(args.odd_batch, one)
count = 0
for row in cover():
    flags = " ".join(f"--{name}={value}" for name, value in zip(OPTIONS, row)).split()
    for off in [[], [OFF[count % len(OFF)]]]:
        printed = grad(args.model / "batch.safetensors", out, flags + off)
        if ("reduce_scatter" in printed) == bool(off):
            sys.exit(f"sequence parallelism, with {flags + off}:\n{printed}")
        compare(out, args.model / "golden.safetensors", "--names=grad.*,logits,loss")
        if "--pad-sequence=true" in flags:
            grad(args.odd_batch, out, flags + off)
            compare(out, one)
        print("agrees:", *flags, *off)
    count += 1
print(f"{count} combinations agree, with and without sequence parallelism")
