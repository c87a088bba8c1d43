#!/usr/bin/env bash
# Values that are not finite, in compiled models: the error names the op and the
# line of the first one, on one rank and on several, with host kernels and GPU
# kernels; a mask of -inf is not reported.
. "$(dirname "$0")/lib.sh"
text=/usr/share/common-licenses/GPL-3

# model NAME BODY...: a model over tokens, whose lines 1 to 4 are here.
model() {
  local name=$1
  shift
  {
    echo "dim batch = 8, seq = 16, memory = 16, key = 8, vocab = 256"
    echo "model m(tokens[batch, seq]: i32, targets[batch, seq]: i32) {"
    echo "  param e[vocab, key] ~ normal(0.5)"
    echo "  x = gather(e, tokens, vocab)"
    printf '%s\n' "$@" "}"
    echo "train m minimize loss with sgd(lr = 0.01)"
  } >$name.mesh
}
attention=("  k = rename(x, seq -> memory)"
  "  s = where(iota(memory) <= iota(seq), dot(x, k, key), -inf)"
  "  p = softmax(s, memory)"
  "  h = dot(p, k, memory)")
# The logarithm of mostly negative values, behind a causal mask (line 6).
model mask "${attention[@]}" "  g = log(h - 100)" "  loss = mean(g)"
# An exponential that overflows, and an op that uses it.
model overflow "  z = exp(x * 1000)" "  q = z / sum(z, key)" "  loss = mean(q)"
# A product that overflows; the loss is infinite.
model product "  y = x * 1e20" "  k = rename(y, seq -> memory)" "  s = dot(y, k, key)" "  loss = mean(abs(s))"
# The loss of step 1 is finite, its gradient is not: sqrt at 0.
model gradient "  r = sqrt(square(x - x))" "  loss = mean(r)"
# All is well.
model well "${attention[@]}" "  loss = mean(square(h))"

# check NAME CODE PATTERN OPTIONS...: on 1 rank and on 4, with both kinds of
# kernels.
check() {
  local name=$1 code=$2 pattern=$3
  shift 3
  "$meshc" $name.mesh -o $name.one
  "$meshc" $name.mesh --mesh d=2,t=2 --layout batch:d,key:t -o $name.four
  "$meshc" $name.mesh --mesh d=2 --layout batch:d --gpu-kernels=emulated -o $name.gpu
  for program in ./$name.one ./$name.four ./$name.gpu; do
    expect $code "$pattern" $program train --data $text --steps 3 --threads 1 "$@"
    ! grep -q "mask.mesh:6" output.txt || { cat output.txt >&2; fail "the mask is blamed"; }
    cat output.txt
  done
}
check mask 7 "the loss of step 1 is not a number: the first NaN is in 'loss', which kernel .* computes at mask.mesh:10:10 \(.*log mask.mesh:9:7[^)]*\)( on rank [0-3])?, most likely by 'log mask.mesh:9:7'; nothing was updated before this step: look there, at the initial values and at the data$"
check overflow 7 "the loss of step 1 is not a number: .*\(.*exp overflow.mesh:5:7"
# Infinite parts of both signs become NaN once they are summed over ranks.
check product 7 "the loss of step 1 is (infinite|not a number): .*'s', which matrix product .* computes at product.mesh:7:7"
check gradient 7 "the loss of step 2 is not a number: in step 1, .*\(.*gradient.mesh:5:7"
check well 0 "step 3/3"
check gradient 0 "skipped the updates of 3 of 3 steps" --on-nonfinite skip

# A target that is no class is to blame only if its entry reaches the loss. Here, -100 is left out, and
# the NaN is that of a logarithm.
npy() { # DESCR SHAPE <bytes
  printf '\223NUMPY\1\0\166\0'
  printf '%-117s\n' "{'descr': '$1', 'fortran_order': False, 'shape': $2, }"
  cat
}
head -c 24 /dev/zero | npy '<f4' '(2, 3)' >x.npy
{ printf '\0\0\300\177'; head -c 20 /dev/zero; } | npy '<f4' '(2, 3)' >nan.npy
printf '\1\0\0\0\234\377\377\377' | npy '<i4' '(2,)' >targets.npy
data="--data x=x.npy --data targets=targets.npy"
targets() { # NAME LOSS
  cat >$1.mesh <<MESH
dim batch = 2, feature = 3, vocab = 4
model m(x[batch, feature], targets[batch]: i32) {
  param w[feature, vocab] ~ normal(0.1)
  logits = dot(x, w, feature)
  nll = where(targets >= 0, cross_entropy(logits, targets, vocab), 0)
  loss = $2
}
train m minimize loss with sgd(lr = 0.1)
MESH
  "$meshc" $1.mesh -o $1
  "$meshc" $1.mesh --mesh d=2 --layout batch:d -o $1.two
}
bad="targets.npy': example 1 has -100 for input 'targets', a target of 'cross_entropy'; expected 0 to 3"
targets ignored "mean(nll) + log(sum(logits) - 1)"
targets reached "mean(nll) + mean(cross_entropy(logits, targets, vocab))"
targets masked "mean(nll)"
for ranks in "" .two; do
  expect 7 "the loss of step 1 is not a number: the first NaN is in .*log ignored.mesh:6:.*; nothing was updated before this step" \
    ./ignored$ranks train $data --steps 3 --threads 1
  ! grep -q "has -100" output.txt || { cat output.txt >&2; fail "a target that is left out is blamed"; }
  expect 0 "the update of step 1 is skipped, as it is not finite: the first NaN is in .*log ignored.mesh:6:" \
    ./ignored$ranks train $data --steps 3 --threads 1 --on-nonfinite skip
  expect 3 "the loss of step 1 is not a number: .*$bad" ./reached$ranks train $data --steps 3 --threads 1
  expect 0 "the update of step 1 is skipped, as it is not finite: .*$bad" \
    ./reached$ranks train $data --steps 3 --threads 1 --on-nonfinite skip
  expect 0 "step 3/3  epoch 3/3  loss 0.69315 " ./masked$ranks train $data --steps 3 --threads 1 --checkpoint w.safetensors --overwrite
  # So it is in evaluations.
  what="the loss of the evaluation is not a number"
  expect 7 "$what: the first NaN is in .* ignored.mesh:6:" ./ignored$ranks eval $data --checkpoint w.safetensors --threads 1
  ! grep -q "has -100" output.txt || { cat output.txt >&2; fail "a target that is left out is blamed"; }
  expect 3 "$what: .*$bad" ./reached$ranks eval $data --checkpoint w.safetensors --threads 1
  expect 0 "loss 0.69315 .2 examples" ./masked$ranks eval $data --checkpoint w.safetensors --threads 1
  expect 3 "$what: .*nan.npy': example 0 has a NaN" ./masked$ranks eval --data x=nan.npy --data targets=targets.npy \
    --checkpoint w.safetensors --threads 1
done
# Which of a kernel's ops are named: those that can give a NaN of finite values, and none that an evaluation adds to the model.
few() { # NAME LOSS
  cat >$1.mesh <<MESH
dim batch = 2, n = 4
model m(x[batch, n]) {
  param w[n] ~ ones
  loss = mean($2)
}
train m minimize loss with sgd(lr = 20)
MESH
  "$meshc" $1.mesh -o $1
}
few one "sqrt(x * w - 2)"
few two "sqrt(x * w - 2 + 0 * exp(x * w * 1000))"
few infinite "sqrt(x * w + 1) + 1 / (x * w - 1)"
printf '\0\0\200\77%.0s' 1 2 3 4 5 6 7 8 | npy '<f4' '(2, 4)' >eight.npy
first="the first NaN is in 'loss', which kernel 'kernel_[0-9]+' computes at"
steps="train --data x=eight.npy --threads 1 --steps 3"
one="$first one.mesh:4:10 \(mul one.mesh:4:22, sub one.mesh:4:26, sqrt one.mesh:4:15, reduce_sum, mul one.mesh:4:10\), most likely by 'sqrt one.mesh:4:15'"
look="; nothing was updated before this step: look there, at the initial values and at the data"
expect 7 "^m: error: the loss of step 1 is not a number: $one$look$" ./one $steps --checkpoint one.safetensors
expect 0 "^m: warning: the update of step 1 is skipped, as it is not finite: $one$" ./one $steps --on-nonfinite skip \
  --checkpoint one.safetensors
expect 7 "^m: error: the loss of the evaluation is not a number: $first one.mesh:4:10 \(mean one.mesh:4:10, mul one.mesh:4:22, sub one.mesh:4:26, sqrt one.mesh:4:15, reduce_sum[a-z_, ]* one.mesh:4:10\), most likely by 'sqrt one.mesh:4:15'$" \
  ./one eval --data x=eight.npy --checkpoint one.safetensors --threads 1
expect 7 "is not a number: $first two.mesh:4:10 \(.*\), most likely by 'exp two.mesh:4:36' or 'sqrt two.mesh:4:15'$look$" ./two $steps
expect 7 "the loss of step 1 is infinite: the first infinite value is in .*most likely by 'div infinite.mesh:4:35'$look$" ./infinite $steps
! grep -E "compare|select|cast|running_sum" output.txt || fail "an op that keeps its values is named"
# A ratio is not finite only if it is that after the last batch: of the first two examples, none is counted.
cat >ratio.mesh <<'MESH'
dim batch = 2
model m(x[batch], counted[batch]) {
  param w[] ~ ones
  loss = mean(x * w)
  metric share = sum(x * counted) / sum(counted)
}
train m minimize loss with sgd(lr = 0)
MESH
"$meshc" ratio.mesh -o ratio
printf '\0\0\200\77%.0s' 1 2 3 | npy '<f4' '(3,)' >ones.npy
{ head -c 8 /dev/zero; printf '\0\0\200\77'; } | npy '<f4' '(3,)' >last.npy
head -c 12 /dev/zero | npy '<f4' '(3,)' >none.npy
./ratio train --data x=ones.npy --data counted=ones.npy --steps 1 --threads 1 --checkpoint r.safetensors >/dev/null
expect 0 "share 1.0000 .3 examples" ./ratio eval --data x=ones.npy --data counted=last.npy --checkpoint r.safetensors --threads 1
expect 7 "the share of the evaluation is not a number: the first NaN is in 'share', .*div ratio.mesh:5:" \
  ./ratio eval --data x=ones.npy --data counted=none.npy --checkpoint r.safetensors --threads 1
if has_mpi; then
  expect 7 "log mask.mesh:9:7.* on rank [0-3]" mpirun -n 4 ./mask.four train --data $text --steps 3 --threads 1
fi
skip_without_mpi
