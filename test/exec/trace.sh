#!/usr/bin/env bash
# Traces of a compiled model: the manifest has the bytes of kernels and the operations
# of products; --trace writes one file for all ranks and a table, with ranks as threads
# and under mpirun.
. "$(dirname "$0")/lib.sh"
[ -d $fashion ] || skip "no $fashion"
cat >model.mesh <<'MESH'
dim batch = 64, pixel = 784, hidden = 32, class = 10
model m(images[batch, pixel], labels[batch]: i32) {
  param w1[pixel, hidden] ~ he(pixel)
  param w2[hidden, class] ~ he(hidden)
  loss = mean(cross_entropy(dot(relu(dot(images / 255, w1, pixel)), w2, hidden), labels, class))
}
train m minimize loss with sgd(lr = 0.01)
MESH
data="--data images=$fashion/t10k-images-idx3-ubyte.gz --data labels=$fashion/t10k-labels-idx1-ubyte.gz"

# In f32: m = 64, n = 32, k = 784 is 2 m n k = 3211264 operations on 4 (m k + k
# n) = 301056 bytes, and 4 m n = 8192 written.
"$meshc" model.mesh -o program --report=json >report.json
tr -d ' \n' <report.json >flat.json
grep -q '"k":784,"batch":1,"type":"f32","flops":3211264.0,"read":301056,"written":8192}' flat.json ||
  { cat flat.json >&2; fail "the first product is not in the report as it should be"; }
grep -Eq '"kernels":\[\{"name":"[^"]+","location":"[^"]*model.mesh:[0-9]+:[0-9]+","lines":"[0-9,-]+","read":[0-9]+,"written":[0-9]+,"tensor":"w1"\}' flat.json ||
  { cat flat.json >&2; fail "there are no kernels in the report"; }
! grep -q '"kind":"wait"' flat.json || { cat flat.json >&2; fail "one device waits for nothing"; }
# If no product has an epilogue and no kernels share a launch (one parameter is
# updated), both targets' reports are equal except for the
# registers of a GPU's kernels, predicted times, where buffers lie, and what lives at the arena's peak:
# only the host's arena has scratch memory of products, which moves the peak.
flatten() {
  sed '/^ "machineCode"/,/^ \],$/d; /^ "memory"/,/^ },$/d' | tr -d ' \n' |
    sed -E 's/,?\{[^{}]*"class":"scratch"[^{}]*\}//g; s/"offset":[0-9]+,?//g; s/,?"(time|machine)":\{[^{}]*\}//g'
}
if [ -x "${CUDA_HOME:-/usr/local/cuda}/bin/ptxas" ]; then
  sed -e '/param w2/d' -e 's/w1\[pixel, hidden\]/w1[pixel, class]/' -e 's/relu(\(dot([^)]*)\))/\1/' \
    -e 's/dot(\(dot([^)]*)\), w2, hidden)/\1/' model.mesh >linear.mesh
  "$meshc" linear.mesh -o program --report=json | flatten >report.json
  "$meshc" linear.mesh --target=cuda -o cuda --report=json | flatten >cuda.json
  cmp report.json cuda.json || fail "the reports of host and cuda differ"
  # With one: relu's result and its mask of bits instead of the product itself.
  "$meshc" model.mesh --target=cuda -o cuda --report=json | tr -d ' \n' >flat.json
  grep -Eq '"k":784,"batch":1,"type":"f32","flops":3211264.0,"read":301056,"written":(8192|9216),"inputs":\[[0-9,]*\],"results":\[[^]]*\],"epilogue":"relu"}' flat.json ||
    { cat flat.json >&2; fail "the product with relu is not in the report as it should be"; }
fi

check() { # RANKS OUTPUT FILE
  grep -q '^trace: 5 steps of rank 0 after step 10' $2 || { cat $2 >&2; fail "no table"; }
  grep -Eq '^ +1 .* product 64 x 32 x 784 f32, model.mesh:5:[0-9]+$' $2 ||
    [ $1 != 1 ] || { cat $2 >&2; fail "the first product is not in the table"; }
  grep -Eq '^ +1 .* kernel [^ ]+, model.mesh:[0-9]+:[0-9]+' $2 || { cat $2 >&2; fail "no kernel in the table"; }
  [ $1 = 1 ] || grep -Eq 'all_reduce of .*, model.mesh:[0-9]+:[0-9]+$' $2 || { cat $2 >&2; fail "no collective in the table"; }
  # Each collective is predicted, and measured.
  [ $1 = 1 ] || grep -q "^collectives of a step: predicted for machine 'host', measured as the median of 5 steps" $2 ||
    { cat $2 >&2; fail "no table of collectives"; }
  awk '/^collectives of a step/ { on = 1 } on && /(all_reduce|reduce_scatter|all_gather)/ { ++rows; bad += !($3 > 0 && $5 > 0 && $6 > 0) }
    /  all collectives$/ { on = 0; all = $5 } /  the step$/ { step = $3 } END { exit !(rows > 0 && bad == 0 && all < step) }' $2 ||
    [ $1 = 1 ] || { cat $2 >&2; fail "a collective has no prediction or no time"; }
  # The parts add up to the whole.
  awk '/^step / { step = $2 } /^inside / { inside = $3 } /^outside / { outside = $3; share = $5 }
    # Times are rounded to 0.1 us, shares to 0.01 %.
    END { all = inside + outside; off = 5 / step + 0.006
      exit !(step > 0 && inside > 0 && all > step - 0.2 && all < step + 0.2 &&
        share > 100 * outside / step - 0.006 - 2 * off && share < 100 * outside / step + 0.006 + 2 * off) }' $2 ||
    { cat $2 >&2; fail "inside and outside are not the step"; }
  [ "$(grep -c '"cat":"step"' $3)" = $((5 * $1)) ] || fail "$3 has not 5 steps of $1 ranks"
  for rank in $(seq 0 $(($1 - 1))); do
    [ "$(grep '"cat":"product"' $3 | grep -c "\"pid\":$rank,")" -ge 20 ] || fail "$3 has no products of rank $rank"
  done
  echo "ok $1 ranks: $(grep '^outside' $2)"
}
for mesh in data=1 data=2 data=2,tensor=2; do
  ranks=$(echo $mesh | tr -dc '0-9,' | tr ',' '*')
  ranks=$((ranks))
  layout=batch:data
  [ $ranks = 4 ] && layout=batch:data,hidden:tensor
  "$meshc" model.mesh --mesh $mesh --layout $layout -o program
  ./program train $data --steps 20 --quiet --threads 1 --trace t.json >out.txt
  check $ranks out.txt t.json
  [ -n "$(command -v mpirun)" ] && [ -e "$build/lib/libmeshc_mpi.so" ] && [ $ranks -gt 1 ] || continue
  mpirun -n $ranks ./program train $data --steps 20 --quiet --threads 1 --trace t.json >out.txt
  check $ranks out.txt t.json
done
