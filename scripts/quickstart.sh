#!/usr/bin/env bash
# Installs what is missing, builds, and runs MiniMind-3's forward pass on CPU ranks:
# unsharded (T=1), tensor parallel (T=2), tensor and sequence parallel (T=2), side by side.
#   scripts/quickstart.sh [OUTPUT-FOLDER]     default: out/quickstart
set -euo pipefail
cd "$(dirname "$0")/.."
out=${1:-out/quickstart}
mkdir -p "$out"

scripts/build.sh
export PATH="$PWD/build/bin:$PATH"

echo "batch: 2 rows of 340 token ids -> $out/batch.safetensors"
python3 scripts/make_batch.py --vocab-size 6400 --batch-size 2 --seq-len 340 --out "$out/batch.safetensors"

run() { # NAME DESCRIPTION OPTIONS...
  local name=$1 what=$2
  shift 2
  echo "run: $what -> $out/$name.safetensors"
  sp-run forward --model configs/minimind3 --random-weights 1 --batch "$out/batch.safetensors" \
    --json "$out/$name.json" --out "$out/$name.safetensors" "$@" >"$out/$name.log" 2>&1 || {
    cat "$out/$name.log" >&2
    exit 1
  }
}
run t1 "MiniMind-3, 1 rank" --mesh tp=1 --sequence-parallel=false
run tp2 "MiniMind-3, 2 ranks, tensor parallel" --mesh tp=2 --sequence-parallel=false
run sp2 "MiniMind-3, 2 ranks, tensor and sequence parallel" --mesh tp=2 --sequence-parallel=true

python3 scripts/compare_runs.py "$out" t1="T=1" tp2="T=2 TP" sp2="T=2 TP+SP"
echo
echo "outputs (logits, loss, JSON, logs): $out"
echo "the program, before and after:"
echo "  build/bin/sp-translate --import-hf configs/minimind3 --batch-size 2 --seq-len 340 -o $out/model.mlir"
echo "  build/bin/sp-opt $out/model.mlir --sp-parallelize=tp=2 -o $out/parallel.mlir"
