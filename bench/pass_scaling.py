#!/usr/bin/env python3
"""Times the passes on deep models: is the work near-linear in the layers?

    bench/pass_scaling.py [--layers 50,100,200,400] [--bin build/bin]

Imports MiniMind-3 with more layers, runs every pass on it, and prints wall time,
time per layer, and the ratio to the first row's time per layer.
"""
import argparse
import json
import pathlib
import subprocess
import tempfile
import time

root = pathlib.Path(__file__).resolve().parent.parent
parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--layers", default="50,100,200,400")
parser.add_argument("--bin", type=pathlib.Path, default=root / "build/bin")
parser.add_argument("--tp", type=int, default=2)
parser.add_argument("--repeat", type=int, default=3)
arguments = parser.parse_args()

PASSES = ["--sp-parallelize=tp={tp}", "--sp-localize", "--sp-form-gemms", "--sp-form-row-kernels",
          "--sp-fuse-row-kernels", "--sp-plan-memory", "--convert-sp-to-llvm"]

config = json.loads((root / "configs/minimind3/config.json").read_text())
base = None
print(f"{'layers':>7} {'ms':>9} {'ms/layer':>9} {'ratio':>6}")
with tempfile.TemporaryDirectory() as folder:
    folder = pathlib.Path(folder)
    for layers in map(int, arguments.layers.split(",")):
        config["num_hidden_layers"] = layers
        (folder / "config.json").write_text(json.dumps(config))
        model = folder / "model.mlir"
        subprocess.run([arguments.bin / "sp-translate", "--import-hf", folder / "config.json",
                        "--batch-size", "2", "--seq-len", "340", "-o", model], check=True)
        command = [arguments.bin / "sp-opt", model, "-o", "/dev/null",
                   *(p.format(tp=arguments.tp) for p in PASSES)]
        best = float("inf")
        for _ in range(arguments.repeat):
            start = time.perf_counter()
            subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
            best = min(best, time.perf_counter() - start)
        per_layer = best * 1e3 / layers
        base = base or per_layer
        print(f"{layers:7} {best * 1e3:9.1f} {per_layer:9.2f} {per_layer / base:6.2f}")
