#!/usr/bin/env bash
# No kernel of the examples and of the GPU models needs many more registers than
# its threads have. ptxas spills a few registers itself to run two blocks at once.
. "$(dirname "$0")/lib.sh"
ptxas=${CUDA_HOME:-/usr/local/cuda}/bin/ptxas
[ -x $ptxas ] || skip "no $ptxas"
for model in "$root"/test/gpu/models/*.mesh "$root"/python-free-examples/*/*.mesh; do
  name=$(basename "$model" .mesh)
  "$meshc" "$model" --target=cuda --emit=ptx -o kernels.ptx
  $ptxas -arch=sm_90 -O3 -v kernels.ptx -o kernels.cubin >usage.txt 2>&1 || { cat usage.txt >&2; fail "$name: ptxas"; }
  awk -v name=$name '
    /Compiling entry function/ { kernel = $6; ++kernels }
    /bytes spill stores/ { for (i = 2; i <= NF; ++i) if ($i == "spill" && $(i - 1) == "bytes" && $(i - 2) > 64) {
      print name ": " kernel ":" $0; bad = 1; break } }
    END { print "ok " name ": " kernels " kernels"; exit bad || kernels == 0 }' usage.txt >&2 || fail "$name: a kernel keeps values in local memory"
done
