"""make_checkerboard.py WEIGHTS.safetensors STEP.safetensors: `gate_up` and `down` of small integers, of
which no two gates, rows or columns are alike, so that a part in a wrong place shows; and what a training
step needs in order to change nothing."""
import array
import sys

import safetensors


def tensor(*shape):
    count = 1
    for extent in shape:
        count *= extent
    values = ((-1) ** (i + i // shape[-1]) * (1 + i % 97) for i in range(count))
    return ("F64", list(shape), array.array("d", values))


safetensors.write(sys.argv[1], {"gate_up": tensor(2, 12, 8), "down": tensor(8, 2, 12)})
safetensors.write(
    sys.argv[2],
    {
        "x": tensor(4, 2, 8),
        "learning_rate": ("F64", [], array.array("d", [0])),
        "step": ("I64", [], array.array("q", [1])),
    },
)
