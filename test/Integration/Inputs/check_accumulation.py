"""check_accumulation.py RUN.json GRADIENTS.safetensors...: the first step of a run over
these micro-batches has the mean of their losses, and the norm of the mean of their
gradients."""
import json
import math
import sys

import safetensors

run = json.load(open(sys.argv[1]))
batches = [safetensors.read(path) for path in sys.argv[2:]]

losses = [batch["loss"][2][0] for batch in batches]
mean = sum(losses) / len(losses)
assert abs(run["losses"][0] - mean) < 1e-12 * mean, (run["losses"][0], losses)

total = 0
for name in batches[0]:
    if name.startswith("grad."):
        for values in zip(*(batch[name][2] for batch in batches)):
            total += (sum(values) / len(values)) ** 2
norm = math.sqrt(total)
assert abs(run["grad_norms"][0] - norm) < 1e-11 * norm, (run["grad_norms"][0], norm)
print(f"loss {mean}, gradient norm {norm}")
