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

OPTIONS = {
    "mesh": ["tp=2", "tp=4"],
    "sequence-parallel": ["true", "false"],
    "min-tokens": ["0", "1000"],
    "objective": ["memory", "bytes"],
    "shared-entry-gathers": ["true", "false"],
    "merge-linears": ["false", "true"],
    "head": ["replicated", "vocab"],
    "pad-sequence": ["false", "true"],
    "sync-at-end": ["true", "false"],
    # Enough for each form of the model, too little for all that they could save.
    "recompute": ["none", "gathers", "all", "auto --activation-budget=240000"],
}


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
    run("sp-run", "grad", "--model", args.model, "--batch", batch, "--dtype", "f64", "--out", out, *flags)


def compare(out, golden, *flags):
    run("sp-test-compare", out, golden, "--mode=scaled", "--tolerance=1e-10", *flags)


def run(*command):
    result = subprocess.run(command, capture_output=True, text=True, timeout=120)
    if result.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{result.stdout}{result.stderr}")


out, one = args.folder / "out.st", args.folder / "one.st"
grad(args.odd_batch, one)
count = 0
for row in cover():
    flags = " ".join(f"--{name}={value}" for name, value in zip(OPTIONS, row)).split()
    grad(args.model / "batch.safetensors", out, flags)
    compare(out, args.model / "golden.safetensors", "--names=grad.*,logits")
    if "--pad-sequence=true" in flags:
        grad(args.odd_batch, out, flags)
        compare(out, one)
    count += 1
    print("agrees:", *flags)
print(f"{count} combinations agree")
