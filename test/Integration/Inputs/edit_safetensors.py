"""Writes a changed copy of a safetensors file, for tests of bad inputs.

edit_safetensors.py IN OUT drop NAME | cast NAME DTYPE | reshape NAME D0,D1,...
                           | set NAME INDEX VALUE | truncate BYTES | add NAME
"""
import json
import struct
import sys

source, target, action, *args = sys.argv[1:]
data = open(source, "rb").read()
if action == "truncate":
    open(target, "wb").write(data[: len(data) - int(args[0])])
    sys.exit()
size = struct.unpack("<Q", data[:8])[0]
header = json.loads(data[8 : 8 + size])
header.pop("__metadata__", None)
body = data[8 + size :]
tensors = {
    name: [info["dtype"], info["shape"], body[slice(*info["data_offsets"])]]
    for name, info in header.items()
}
if action == "drop":
    del tensors[args[0]]
elif action == "cast":  # relabels the bytes: only the type is wrong
    tensors[args[0]][0] = args[1]
elif action == "reshape":
    tensors[args[0]][1] = [int(d) for d in args[1].split(",")]
elif action == "set":
    content = bytearray(tensors[args[0]][2])
    struct.pack_into("<q", content, 8 * int(args[1]), int(args[2]))
    tensors[args[0]][2] = bytes(content)
elif action == "add":
    tensors[args[0]] = ["F32", [1], b"\0\0\0\0"]
else:
    sys.exit(f"unknown action {action}")

offset, blob, new = 0, b"", {}
for name, (dtype, shape, content) in tensors.items():
    new[name] = {"dtype": dtype, "shape": shape, "data_offsets": [offset, offset + len(content)]}
    blob += content
    offset += len(content)
text = json.dumps(new).encode()
text += b" " * (-len(text) % 8)
open(target, "wb").write(struct.pack("<Q", len(text)) + text + blob)
