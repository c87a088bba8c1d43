#!/usr/bin/env bash
# --memory-budget: the program takes the arena that was planned within the budget, and
# computes the same whatever it recomputes.
. "$(dirname "$0")/lib.sh"
cat >model.mesh <<'MESH'
dim batch = 256, layers = 6, model = 64, ffn = 512
mesh data = 2, tensor = 2
layout batch -> data, ffn -> tensor
model m(x[batch, model], t[batch, model]) {
  param w1[layers, model, ffn] ~ lecun(model)
  param w2[layers, ffn, model] ~ lecun(ffn)
  y = x / 255
  for layers {
    y = y + 0.1 * dot(relu(dot(y, w1, model)), w2, ffn)
  }
  loss = mean(square(y - t / 255))
}
train m minimize loss with sgd(lr = 0.01)
MESH
# 512 examples of 64 numbers.
{ printf '\x93NUMPY\x01\x00\x76\x00'
  printf '%-117s\n' "{'descr': '|u1', 'fortran_order': False, 'shape': (512, 64), }"
  head -c 32768 "$meshc"; } >x.npy
planned() { sed -n 's/^memory: arena of .*(\([0-9]*\) bytes)$/\1/p' "$1"; }
losses() { ./program train --data x=x.npy t=x.npy --steps 4 --memory --log "$1" >out.txt 2>&1 || { cat out.txt; fail "train"; }; }
# Within a budget, other plans may be chosen, whose sums are rounded in another order.
same_losses() { # TWO LOGS
  sed -n 's/.*"loss": *\([0-9.e+-]*\).*/\1/p' "$1" >one.txt
  sed -n 's/.*"loss": *\([0-9.e+-]*\).*/\1/p' "$2" | paste one.txt - |
    awk '{ d = $1 - $2; if (NF != 2 || d * d > 1e-12 * $1 * $1) exit 1 } END { exit NR != 4 }' || { cat "$1" "$2"; fail "the losses differ"; }
}
"$meshc" model.mesh --report -o program >cheap.txt
losses cheap.json
budget=$(($(planned cheap.txt) - 1))
"$meshc" model.mesh --memory-budget $budget --report -o program >chosen.txt
arena=$(planned chosen.txt)
echo "arenas: $(planned cheap.txt) without a budget, $arena within $budget"
[ "$arena" -le "$budget" ] || fail "the arena exceeds the budget"
./program info >info.txt
grep -q "^arena $arena bytes " info.txt || { head -3 info.txt; fail "info prints another arena"; }
losses full.json
grep -q "= arena $((4 * arena)) + " out.txt || { cat out.txt; fail "the four ranks hold other arenas"; }
same_losses cheap.json full.json
# Outside of loops: the windows of the first convolution are gathered once more for the gradient of its weight.
windows=$root/test/tools/meshc/Inputs/windows.mesh
"$meshc" "$windows" --recompute=none --report -o program >kept.txt
losses kept.json
budget=$(($(planned kept.txt) * 95 / 100))
"$meshc" "$windows" --recompute=none --memory-budget $budget -o none 2>error.txt && fail "'none' computes something again"
"$meshc" "$windows" --memory-budget $budget --report -o program >again.txt
echo "arenas: $(planned kept.txt) if windows are kept, $(planned again.txt) otherwise"
losses again.json
same_losses kept.json again.json
# A smaller budget may lead to other plans, until none fits.
tries=0
while "$meshc" model.mesh --memory-budget $((arena - 1)) --report -o none >smaller.txt 2>error.txt; do
  [ "$(planned smaller.txt)" -lt "$arena" ] && [ $((++tries)) -lt 10 ] || fail "compiled beyond the budget"
  arena=$(planned smaller.txt)
done
grep -q "the program needs an arena of .* ($arena bytes) per rank" error.txt || { cat error.txt; fail "the error"; }
echo passed
