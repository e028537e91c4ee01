#!/usr/bin/env python3
"""Times the passes on deep models: is the work near-linear in the layers?

    bench/pass_scaling.py [--layers 100,1000] [--pipeline all,cut,rematerialize] [--bin build/bin]

Imports MiniMind-3 with more layers and prints, per pipeline, wall time, time per layer,
and the ratio to the first row's time per layer:

    all            every pass from an unsharded program to LLVM, forward only; the whole
                   process, parsing included
    cut            sp-sequence-parallel on a differentiated program: the joint minimum cut
                   of the forward and the backward pass; the pass alone
    rematerialize  sp-rematerialize under a budget of its least bytes; the pass alone
"""
import argparse
import json
import pathlib
import re
import subprocess
import tempfile
import time

root = pathlib.Path(__file__).resolve().parent.parent
parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--layers", default="100,1000")
parser.add_argument("--pipeline", default="all,cut,rematerialize")
parser.add_argument("--bin", type=pathlib.Path, default=root / "build/bin")
parser.add_argument("--tp", type=int, default=2)
parser.add_argument("--repeat", type=int, default=3)
arguments = parser.parse_args()

# The passes, and which of them is timed; none: all, as a process.
PIPELINES = {
    "all": (["--sp-parallelize=tp={tp}", "--sp-localize", "--sp-form-gemms", "--sp-form-row-kernels",
             "--sp-fuse-row-kernels", "--sp-plan-memory", "--convert-sp-to-llvm"], None),
    "cut": (["--sp-tensor-parallel=tp={tp}", "--sp-differentiate", "--sp-sequence-parallel"],
            "SPSequenceParallel"),
    "rematerialize": (["--sp-parallelize=tp={tp}", "--sp-differentiate",
                       "--sp-rematerialize=recompute=all"], "SPRematerialize"),
}


def seconds(model, passes, timed):
    command = [arguments.bin / "sp-opt", model, "-o", "/dev/null",
               *(p.format(tp=arguments.tp) for p in passes)]
    if not timed:
        start = time.perf_counter()
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
        return time.perf_counter() - start
    run = subprocess.run([*command, "--mlir-timing", "--mlir-timing-display=list"], check=True,
                         stderr=subprocess.PIPE, text=True)
    match = re.search(rf"^ *([\d.]+) \([^)]*\) +{timed}$", run.stderr, re.MULTILINE)
    if not match:
        raise SystemExit(f"sp-opt reports no time for {timed}")
    return float(match.group(1))


if unknown := set(arguments.pipeline.split(",")) - PIPELINES.keys():
    parser.error(f"--pipeline {', '.join(unknown)}: choose from {', '.join(PIPELINES)}")
config = json.loads((root / "configs/minimind3/config.json").read_text())
with tempfile.TemporaryDirectory() as folder:
    folder = pathlib.Path(folder)
    models = {}
    for layers in map(int, arguments.layers.split(",")):
        config["num_hidden_layers"] = layers
        (folder / "config.json").write_text(json.dumps(config))
        models[layers] = folder / f"{layers}.mlir"
        subprocess.run([arguments.bin / "sp-translate", "--import-hf", folder / "config.json",
                        "--batch-size", "2", "--seq-len", "340", "-o", models[layers]], check=True)
    print(f"{'pipeline':<14} {'layers':>7} {'ms':>9} {'ms/layer':>9} {'ratio':>6}")
    for name in arguments.pipeline.split(","):
        passes, timed = PIPELINES[name]
        base = None
        for layers, model in models.items():
            best = min(seconds(model, passes, timed) for _ in range(arguments.repeat))
            per_layer = best * 1e3 / layers
            base = base or per_layer
            print(f"{name:<14} {layers:7} {best * 1e3:9.1f} {per_layer:9.3f} {per_layer / base:6.2f}",
                  flush=True)
