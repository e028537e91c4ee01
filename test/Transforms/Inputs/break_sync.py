"""break_sync.py PROGRAM PARAMETER missing|average: the program with the sum of the
parameter's gradient left out, or with the mean over two ranks in its place."""
import re
import sys

program, parameter, fault = sys.argv[1:]
text = open(program).read()
sync = re.compile(
    r"(?P<result>%\S+) = sp\.all_reduce (?P<input>%\S+) (?P<attributes>\{.*sync_of = \""
    + re.escape(parameter)
    + r"\"\}) : (?P<partial>tensor<.*>>) -> (?P<whole>tensor<.*>)\n"
)
match = sync.search(text)
assert match, "no sum of " + parameter
scale = "{to} = sp.scale {input} by {factor} : ({partial}) -> {partial}\n"
if fault == "missing":
    new = scale.format(to=match["result"], factor="1.0", **{k: match[k] for k in ("input", "partial")})
else:
    new = scale.format(to="%half", factor="0.5", **{k: match[k] for k in ("input", "partial")})
    new += match[0].replace(match["input"], "%half", 1)
print(text[: match.start()] + new + text[match.end() :], end="")
