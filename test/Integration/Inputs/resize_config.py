"""Writes a model folder with another model's config.json, some numbers changed."""
import json
import os
import sys

source, folder, *changes = sys.argv[1:]
config = json.load(open(source))
for change in changes:
    name, value = change.split("=")
    config[name] = int(value)
os.makedirs(folder, exist_ok=True)
json.dump(config, open(os.path.join(folder, "config.json"), "w"))
