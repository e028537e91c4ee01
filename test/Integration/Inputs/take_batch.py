"""take_batch.py BATCHES.safetensors I OUT.safetensors: batch I of [N,B,S]."""
import sys

import safetensors

tensors = {}
for name, (dtype, (count, *shape), values) in safetensors.read(sys.argv[1]).items():
    size, index = len(values) // count, int(sys.argv[2])
    tensors[name] = (dtype, shape, values[index * size : (index + 1) * size])
safetensors.write(sys.argv[3], tensors)
