#!/usr/bin/env bash
# Programs for GPUs, as far as they go without one: the same program as the
# host's up to kernel selection, and kernels that the CUDA toolkit's assembler
# accepts for Hopper and Blackwell.
. "$(dirname "$0")/lib.sh"
models=$(echo "$root"/python-free-examples/*/*.mesh "$root"/test/exec/models/*.mesh)
for model in $models; do
  "$meshc" "$model" --stop-after=schedule -o host.mlir
  "$meshc" "$model" --target=cuda --chip=sm_90,sm_100 --stop-after=schedule -o cuda.mlir
  cmp host.mlir cuda.mlir || fail "$model: the programs of host and cuda differ"
  echo "ok $model: the same program"
done
[ -x "${CUDA_HOME:-/usr/local/cuda}/bin/ptxas" ] || [ -n "$(command -v ptxas)" ] || skip "no ptxas"
for model in $models; do
  "$meshc" "$model" --target=cuda --chip=sm_90,sm_100 --emit=obj -o first.o
  "$meshc" "$model" --target=cuda --chip=sm_90,sm_100 --emit=obj -o second.o
  cmp first.o second.o || fail "$model: two objects of one program differ"
  "$meshc" "$model" --target=cuda --chip=sm_90,sm_100 -o program
  [ -x program ] || fail "$model: no program"
  for chip in sm_90 sm_100; do
    grep -aq "$chip" program || fail "$model: no code for $chip"
  done
  echo "ok $model: machine code"
done
