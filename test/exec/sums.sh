#!/usr/bin/env bash
# Sums of 16 bits whose parts ranks add: in f32, rounded once, as on one rank [L2.7] [L5.11]. The parts are 3005 and
# -3000, which bf16 rounds to 3008 and -3008, and f16 to 3004 and -3000. Under `precision`, ranks may round their
# parts, unless its sums are f32 [L7.8].
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/tensors.sh"

terms=('\x00\x00\x3b\x45' '\x00\x00\x50\x41' '\x00\x00\x3b\xc5' '\x00\x00\x00\xc1') # 2992, 13, -2992, -8
write_f32 row.npy "(1, 4)" "${terms[@]}"
write_f32 column.npy "(4, 1)" "${terms[@]}"
write_f32 factors.npy "(1, 4)" '\x00\x00\x89\x3f' '\x00\x00\x89\x3f' '\x00\x00\x89\x3f' '\x00\x00\x89\x3f' # 1.0703125

# loss NAME=FILE: the loss of the first step.
loss() {
  rm -f log.jsonl
  ./program train --data "$1" --steps 1 --quiet --log log.jsonl >/dev/null || fail "$1"
  sed -n 's/.*"step":1,"loss":\([^,]*\),.*/\1/p' log.jsonl
}
# Values of the model.
forward() { # WANTED DATA EXPRESSION OF x[batch, k], w[k] and u[k, m]
  cat >model.mesh <<END
dim batch = 1, k = 4, m = 2
model m(input[batch, k]) {
  param w[k]: bf16 ~ ones
  param u[k, m]: bf16 ~ ones
  x = cast(input, bf16)
  y = $3
  loss = mean(cast(y, f32)) + 0 * sum(cast(w, f32)) + 0 * sum(cast(u, f32))
}
train m minimize loss with sgd(lr = 1)
END
  while read -r options; do
    "$meshc" model.mesh $options -o program
    [ "$(loss input=$2)" = $1 ] || fail "'$options': $3 is $(loss input=$2), expected $1"
    [ "$options" != "--mesh t=2 --layout k:t" ] || "$meshc" model.mesh $options --verify >said.txt 2>&1 ||
      fail "$3: $(cat said.txt)"
  done <<'OPTIONS'

--mesh t=2 --layout k:t
--mesh t=4 --layout k:t
--mesh t=2,r=2 --layout k:t+r
--mesh t=2 --layout k:t,y.m:?t
--mesh t=2 --layout k:t --gpu-kernels=emulated
OPTIONS
  echo "ok $3"
}
forward 5 row.npy "dot(x, w, k)"
forward 5 row.npy "dot(x, u, k)"
forward 5 row.npy "sum(x, k)"
forward 1.3125 factors.npy "prod(x, k)"                         # 1.3203 of rounded parts
forward 5 row.npy "3 * dot(x, w, k) - 2 * sum(x, k)"       # linear in both parts
forward 5 row.npy "concat(dot(x, u, k), dot(x, u, k), m)"
forward 5 row.npy "sum(cast(cast(x, f16), f16), k)"
forward 5 row.npy "einsum(x, w, u -> [batch, m])"

# Gradients of parameters, whose parts are those of examples.
backward() { # WANTED_BITS BODY
  cat >model.mesh <<END
dim batch = 4, k = 1, layers = 2, vocab = 1, m = 2
model m(x[batch, k]) {
$2
}
train m minimize loss with sgd(lr = 1)
END
  while read -r options; do
    "$meshc" model.mesh $options -o program
    ./program train --data x=column.npy --steps 1 --no-shuffle --quiet --checkpoint c.safetensors --overwrite \
      >said.txt 2>&1 || fail "$2: $(cat said.txt)"
    [ "$(tensor c.safetensors w x2 | tr -d ' ' | sort -u)" = "$1" ] ||
      fail "'$options': w is $(tensor c.safetensors w x2), expected $1, of $2"
    [ "$options" != "--mesh d=2 --layout batch:d" ] || "$meshc" model.mesh $options --verify >said.txt 2>&1 ||
      fail "$2: $(cat said.txt)"
  done <<'OPTIONS'

--mesh d=2 --layout batch:d
--mesh d=4 --layout batch:d
--mesh d=2 --layout batch:d,gradient.m:?d,optimizer.m:?d
--mesh d=2 --layout batch:d --gpu-kernels=emulated
OPTIONS
  echo "ok gradient: $2"
}
backward c080 "  param w[k, m]: bf16 ~ ones
  loss = sum(cast(dot(cast(x, bf16), w, k), f32)) + 0" # 1 - 5
backward c110 "  param w[k, m]: bf16 ~ ones
  total = 0
  for layers { total = total + sum(cast(dot(cast(x, bf16), w, k), f32)) }
  loss = total + 0" # 1 - 2 * 5
backward c080 "  param w[vocab, m]: bf16 ~ ones
  loss = sum(x * cast(gather(w, cast(x * 0, i32), vocab), f32))" # an embedding
backward c080 "  param w[m]: bf16 ~ ones
  loss = sum(cast(cast(x, bf16) + w, f32) * x)" # a bias

# Under precision: an all_reduce of 2 bf16; with sums = f32, a reduce_scatter of 2 f32 and an all_gather of 2 bf16.
while read -r wanted bytes type; do
  cat >model.mesh <<END
dim batch = 1, k = 4, m = 2
model m(x[batch, k]) {
  param w[k, m] ~ ones
  y = dot(x, w, k)
  loss = mean(square(y))
}
train m minimize loss with sgd(lr = 1) precision $type
END
  "$meshc" model.mesh --mesh t=2 --layout k:t -o program
  [ "$(loss x=row.npy)" = $wanted ] || fail "precision $type: $(loss x=row.npy), expected $wanted"
  expect 0 "eval_step: .* each rank sends $bytes B" "$meshc" model.mesh --mesh t=2 --layout k:t,m:\(\) --report
  "$meshc" model.mesh -o program
  [ "$(loss x=row.npy)" = 25 ] || fail "precision $type on one rank"
  echo "ok precision $type"
done <<'PRECISIONS'
0 4 bf16
25 6 bf16(sums = f32)
16 4 f16
25 6 f16(scale = 2, sums = f32)
PRECISIONS
