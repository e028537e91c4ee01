#!/usr/bin/env bash
# Installs what is missing, configures and builds into build/.
#   scripts/build.sh [ninja target ...]
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install.sh
log=build/configure.log
mkdir -p build
echo "configure: build/ (log: $log)"
cmake --preset release >"$log" 2>&1 || {
  cat "$log" >&2
  exit 1
}
echo "build: about ten minutes on two cores the first time"
NINJA_STATUS='[%f/%t, %es] ' ninja -C build "$@"
