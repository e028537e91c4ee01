"""That the loss and every gradient are 0."""
import sys

import safetensors

tensors = safetensors.read(sys.argv[1])
assert tensors["loss"][2][0] == 0, tensors["loss"]
gradients = [name for name in tensors if name.startswith("grad.")]
assert len(gradients) > 20
for name in gradients:
    assert all(value == 0 for value in tensors[name][2]), name
