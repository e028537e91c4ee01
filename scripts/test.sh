#!/usr/bin/env bash
# Installs, builds and runs every test: lit, gtest and Integration.
# The last line is "N passed, N failed" (", N skipped" may follow).
#   scripts/test.sh [lit options, for example --filter=Transforms]
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/build.sh
results=build/test-results.json
rm -f "$results"
status=0
timeout 2400 /usr/lib/llvm-22/bin/lit -sv --output "$results" "$@" build/test build/test/unit || status=$?
python3 - "$results" <<'PY' || status=1
import json, sys
codes = [test["code"] for test in json.load(open(sys.argv[1]))["tests"]]
good = {"PASS", "XFAIL", "FLAKYPASS"}
passed = sum(code in good for code in codes)
# What this processor cannot show says so by itself; all else that did not run failed.
skipped = codes.count("SKIPPED")
failed = len(codes) - passed - skipped
print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
sys.exit(failed > 0 or passed == 0)
PY
exit $status
