"""Checks the collectives of a report: kind=count,bytes ..."""
import json
import sys

report = json.load(open(sys.argv[1]))
for argument in sys.argv[2:]:
    kind, numbers = argument.split("=")
    count, size = map(int, numbers.split(","))
    assert report["collectives"][kind] == {"count": count, "bytes": size}, (kind, report)
assert all(n == report["arena_bytes"]["planned"] for n in report["arena_bytes"]["measured"])
