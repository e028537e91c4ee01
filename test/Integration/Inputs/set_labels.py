"""set_labels.py IN.safetensors OUT.safetensors some|all: ignores labels."""
import sys

import safetensors

tensors = safetensors.read(sys.argv[1])
dtype, shape, labels = tensors["labels"]
for i in range(len(labels)):
    # Each row ignores others, among them the tokens around the middle.
    row, column = divmod(i, shape[1])
    if sys.argv[3] == "all" or (column * 7 + row * 3) % 5 < 2 or column == shape[1] // 2:
        labels[i] = -100
safetensors.write(sys.argv[2], tensors)
