#!/usr/bin/env bash
# MNIST, 784-128-10: at least 96.5 % of the test images after five epochs.
. "$(dirname "$0")/lib.sh"
mnist=${MESHC_DATA:-$root/../shared/data}/mnist
[ -d "$mnist" ] || skip "MNIST is not at $mnist (MESHC_DATA)"
"$meshc" "$models/mnist.mesh" -o mnist
./mnist train --ranks 4 --data images=$mnist/train-images-idx3-ubyte.gz \
  --data labels=$mnist/train-labels-idx1-ubyte.gz --epochs 5 --seed 1 --checkpoint mnist.safetensors
# The checkpoint of four ranks, read by one.
"$meshc" "$models/mnist.mesh" --mesh one=1 --layout "" -o single
./single eval --data images=$mnist/t10k-images-idx3-ubyte.gz \
  --data labels=$mnist/t10k-labels-idx1-ubyte.gz --checkpoint mnist.safetensors | tee eval.txt
awk '$1 == "accuracy" { print; ok = $2 >= 0.965 && /10000 examples/ } END { exit !ok }' eval.txt ||
  fail "accuracy below 0.965"
