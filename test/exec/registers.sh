#!/usr/bin/env bash
# No kernel of the examples and of the GPU models needs many more registers than
# its threads have. ptxas spills a few registers itself to run two blocks at once.
# MESHC_RANDOM_SEED draws half of them.
. "$(dirname "$0")/lib.sh"
ptxas=${CUDA_HOME:-/usr/local/cuda}/bin/ptxas
[ -x $ptxas ] || skip "no $ptxas"
# Twelve layers, written one after the other, with weights in two memory orders:
# each update has a kernel, or a part of one, of its own.
{
  echo "dim batch = 512, model = 256, ffn = 1024"
  echo "fn layer(x) {"
  echo "  param up[model, ffn] ~ normal(0.02)"
  echo "  param down[ffn, model] ~ normal(0.02)"
  echo "  return x + dot(gelu(dot(x, up, model)), down, ffn)"
  echo "}"
  echo "model layers(x[batch, model]) {"
  for ((i = 0; i < 12; ++i)); do echo "  x = layer(x)"; done
  echo "  loss = mean(square(x))"
  echo "}"
  echo "train layers minimize loss with adamw(lr = 1e-3)"
} >layers.mesh
"$meshc" layers.mesh --target=cuda --stop-after=schedule -o layers.mlir
most=$(awk '
  /exec.kernel/ && /parts = / { hasParts[$2] = 1 }
  /exec.launch/ { kernel = $2; sub(/\(.*/, "", kernel); sub(/ -> .*/, ""); n = gsub(/%/, "")
    if (!hasParts[kernel] && n > most) most = n }
  END { print most }' layers.mlir)
[ "$most" -le 16 ] || fail "a kernel of 'layers' has $most inputs"
# Small parameters, whose updates one kernel could compute.
{
  echo "dim batch = 64, model = 128, ffn = 512"
  echo "fn layer(x) {"
  echo "  param scale[model] ~ ones"
  echo "  param shift[model] ~ zeros"
  echo "  param up[model, ffn] ~ normal(0.02)"
  echo "  param up_bias[ffn] ~ zeros"
  echo "  param down[ffn, model] ~ normal(0.02)"
  echo "  param down_bias[model] ~ zeros"
  echo "  return x + dot(gelu(dot(x * scale + shift, up, model) + up_bias), down, ffn) + down_bias"
  echo "}"
  echo "model small(x[batch, model]) {"
  for ((i = 0; i < 12; ++i)); do echo "  x = layer(x)"; done
  echo "  loss = mean(square(x))"
  echo "}"
  echo "train small minimize loss with adamw(lr = 1e-3)"
} >small.mesh
number=0
for model in layers.mesh small.mesh "$root"/test/accuracy/models/gpt2.mesh "$root"/test/gpu/models/*.mesh "$root"/python-free-examples/*/*.mesh; do
  number=$((number + 1))
  is_drawn $number 2 || continue
  name=$(basename "$model" .mesh)
  "$meshc" "$model" --target=cuda --emit=ptx -o kernels.ptx
  $ptxas -arch=sm_90 -O3 -v kernels.ptx -o kernels.cubin >usage.txt 2>&1 || { cat usage.txt >&2; fail "$name: ptxas"; }
  awk -v name=$name '
    /Compiling entry function/ { kernel = $6; ++kernels }
    /bytes spill stores/ { for (i = 2; i <= NF; ++i) if ($i == "spill" && $(i - 1) == "bytes" && $(i - 2) > 64) {
      print name ": " kernel ":" $0; bad = 1; break } }
    END { print "ok " name ": " kernels " kernels"; exit bad || kernels == 0 }' usage.txt >&2 || fail "$name: a kernel keeps values in local memory"
done
