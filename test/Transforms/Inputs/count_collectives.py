"""Counts the collectives that one more layer adds to a program: of activations (in units
of one ring all-gather or reduce-scatter) and of gradients."""
import re
import sys


def count(path):
    found = {"all_gather": 0, "reduce_scatter": 0, "all_reduce": 0, "sync": 0}
    for line in open(path):
        match = re.search(r"= sp\.(all_gather|reduce_scatter|all_reduce) ", line)
        if match:
            found["sync" if "sp.sync_of" in line else match[1]] += 1
    return found


fewer, more = map(count, sys.argv[1:])
added = {kind: more[kind] - fewer[kind] for kind in more}
collectives = added["all_gather"] + added["reduce_scatter"] + added["all_reduce"]
print(
    f"per layer: {collectives} collectives, {collectives + added['all_reduce']} units:",
    f"{added['all_gather']} all_gather, {added['reduce_scatter']} reduce_scatter,",
    f"{added['all_reduce']} all_reduce; {added['sync']} more sums of gradients",
)
