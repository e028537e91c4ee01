"""make_mask.py OUT.safetensors S: `mask` [S,S], 0 up to the diagonal, -1e30 beyond it."""
import array
import sys

import safetensors

size = int(sys.argv[2])
values = array.array("d", (0.0 if t <= s else -1e30 for s in range(size) for t in range(size)))
safetensors.write(sys.argv[1], {"mask": ("F64", [size, size], values)})
