"""take_tensors.py IN.safetensors OUT.safetensors NAME...: those tensors alone."""
import sys

import safetensors

tensors = safetensors.read(sys.argv[1])
safetensors.write(sys.argv[2], {name: tensors[name] for name in sys.argv[3:]})
