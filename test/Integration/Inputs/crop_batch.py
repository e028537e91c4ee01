"""crop_batch.py BATCH.safetensors S OUT.safetensors: the first S tokens of each row."""
import array
import sys

import safetensors

tensors = {}
for name, (dtype, (*lead, seq), values) in safetensors.read(sys.argv[1]).items():
    size = int(sys.argv[2])
    rows = [values[i : i + size] for i in range(0, len(values), seq)]
    tensors[name] = (dtype, [*lead, size], array.array(values.typecode, (v for row in rows for v in row)))
safetensors.write(sys.argv[3], tensors)
