"""Reads and writes safetensors files of f64 and int64, with nothing but the standard
library."""
import array
import json
import struct

TYPES = {"F64": "d", "I64": "q"}


def read(path):
    """{name: (type, shape, array)}"""
    data = open(path, "rb").read()
    (size,) = struct.unpack("<Q", data[:8])
    tensors = {}
    for name, info in json.loads(data[8 : 8 + size]).items():
        if name == "__metadata__":
            continue
        begin, end = info["data_offsets"]
        values = array.array(TYPES[info["dtype"]])
        values.frombytes(data[8 + size + begin : 8 + size + end])
        tensors[name] = (info["dtype"], info["shape"], values)
    return tensors


def write(path, tensors):
    header, blob = {}, b""
    for name, (dtype, shape, values) in tensors.items():
        part = values.tobytes()
        header[name] = {
            "dtype": dtype,
            "shape": shape,
            "data_offsets": [len(blob), len(blob) + len(part)],
        }
        blob += part
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + blob)
