"""Compares the losses of training runs, as sp-run --json wrote them."""
import argparse
import json

parser = argparse.ArgumentParser()
parser.add_argument("run")
parser.add_argument("reference", nargs="?")
parser.add_argument("--tolerance", type=float)
parser.add_argument("--last-below", type=float)
args = parser.parse_args()

losses = json.load(open(args.run))["losses"]
if args.reference:
    reference = json.load(open(args.reference))["losses"]
    assert len(losses) == len(reference), (len(losses), len(reference))
    worst = max(abs(a - b) for a, b in zip(losses, reference))
    assert worst <= args.tolerance, f"losses differ by {worst}"
    print(f"{len(losses)} losses agree to {worst:.1e}")
if args.last_below is not None:
    last = sum(losses[-10:]) / 10
    assert last < args.last_below, f"mean of the last ten losses is {last}"
    print(f"mean of the last ten losses is {last:.4f}, the first was {losses[0]:.4f}")
