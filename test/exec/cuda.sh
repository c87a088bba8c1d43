#!/usr/bin/env bash
# Programs for GPUs, tested without a GPU: up to kernel selection the program equals
# the host's for the same machine, except for the epilogues of products, and the CUDA
# toolkit's assembler accepts the kernels for Hopper and Blackwell; MESHC_RANDOM_SEED
# draws a third of the models for the assembler.
. "$(dirname "$0")/lib.sh"
models=$(ls "$root"/python-free-examples/*/*.mesh "$root"/test/exec/models/*.mesh)
for model in $models; do
  "$meshc" "$model" --machine h100 --stop-after=collectives -o host.mlir
  "$meshc" "$model" --target=cuda --stop-after=collectives -o cuda.mlir
  cmp host.mlir cuda.mlir || fail "$model: the programs of host and cuda differ"
  echo "ok $model: the same program"
done
[ -x "${CUDA_HOME:-/usr/local/cuda}/bin/ptxas" ] || [ -n "$(command -v ptxas)" ] || skip "no ptxas"
number=0
for model in $models; do
  number=$((number + 1))
  is_drawn $number 3 || continue
  "$meshc" "$model" --target=cuda --chip=sm_90,sm_100 -o program
  for chip in sm_90 sm_100; do
    grep -aq "$chip" program || fail "$model: no code for $chip"
  done
  echo "ok $model: machine code"
done

# The report has the registers of every kernel on both chips.
model=$root/python-free-examples/01_fashion_mnist/perceptron.mesh
"$meshc" "$model" --target=cuda --chip=sm_90,sm_100 --report=json -o program >report.json
kernels=$(grep -c '"blocks":' report.json) # one for each compiled kernel
[ "$(grep -c '"registers": [1-9]' report.json)" = $((2 * kernels)) ] || { cat report.json; fail "registers are missing"; }

# Two compilations produce the same bytes.
for object in first second; do
  "$meshc" "$model" --target=cuda --emit=obj -o $object.o
done
cmp first.o second.o || fail "two objects of one program differ"

# Without a driver the program says so, and exits with the documented code.
[ -d $fashion ] && [ ! -e /dev/nvidiactl ] || exit 0
"$meshc" "$model" --target=cuda -o program
expect 0 perceptron ./program info
expect 8 '^perceptron: error: ' ./program train \
  --data images=$fashion/t10k-images-idx3-ubyte.gz --data labels=$fashion/t10k-labels-idx1-ubyte.gz
cat output.txt
