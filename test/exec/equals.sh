#!/usr/bin/env bash
# Models written in two equivalent ways have the same losses, with host kernels and
# with emulated GPU kernels.
. "$(dirname "$0")/lib.sh"

# Four examples of 64 bytes.
{ printf '\0\0\x08\x02\0\0\0\x04\0\0\0\x40'; for ((i = 0; i < 256; i++)); do printf "\\x$(printf %x $((i * 37 % 251)))"; done; } >bytes.idx

# losses MODEL [OPTIONS...]: the losses of three steps.
losses() {
  local model=$1
  shift
  "$meshc" $model.mesh "$@" -o program
  rm -f log.jsonl
  ./program train --data x=bytes.idx --steps 3 --seed 3 --threads 1 --quiet --log log.jsonl --log-every 1 </dev/null
  sed -n 's/.*"step":[0-9]*,"loss":\([-+0-9.e]*\).*/\1/p' log.jsonl
}
# expect_equal A B TOLERANCE [OPTIONS of B...]
expect_equal() {
  local a=$1 b=$2 tolerance=$3
  shift 3
  for target in "" --gpu-kernels=emulated; do
    losses $a $target >a.txt
    losses $b $target "$@" >b.txt
    paste a.txt b.txt | awk -v most=$tolerance '
      NF != 2 { bad = 1 }
      { d = ($1 - $2) / $1; if (d > most || d < -most) { print "step " NR ": " $1 " and " $2; bad = 1 } }
      END { exit bad || NR != 3 }' || fail "$a and $b $*, ${target:-host kernels}"
  done
  echo "ok $a and $b"
}

# Four parts at once, and one by one.
cat >parts.mesh <<'MODEL'
dim n = 4, pixel = 64, p = 2, r = 4, q = 2, c = 4, d = 5, x1 = 32, x2 = 8
model m(x[n, pixel]) {
  param w[r, c, d] ~ normal(0.5)
  t = split(x / 255, pixel -> (p, r, q, c))
  loss = mean(square(tanh(dot(t, w, r, c))))
}
train m minimize loss with sgd(0.05)
MODEL
sed 's|t = split.*|t = split(split(split(x / 255, pixel -> (p, x1)), x1 -> (r, x2)), x2 -> (q, c))|' parts.mesh >nested.mesh
expect_equal parts nested 1e-6

# A metric that reads the parameter in several passes beside its update; rows
# that a GPU's threads keep in registers, and longer ones.
cat >metric.mesh <<'MODEL'
dim n = 4, pixel = 64, b = 20
model m(x[n, pixel]) {
  param p[b] ~ normal(0.5, 0.3)
  loss = mean(sin(silu(p)))
  metric k = mean(softmax(p, b) * cos(cast(iota(b), f32)))
}
train m minimize loss with momentum(lr = 0.3)
MODEL
sed /metric/d metric.mesh >plain.mesh
expect_equal plain metric 1e-6
sed -i s/20/9000/ metric.mesh plain.mesh
expect_equal plain metric 1e-6

# Windows that change nothing, on a reduction, an argmax and a gather.
cat >windows.mesh <<'MODEL'
dim n = 4, pixel = 64
model m(x[n, pixel]) {
  param w[pixel] ~ normal(0.5, 0.3)
  s = sum(x * w, pixel) / 2550
  largest = argmax(x, pixel)
  entry = gather(w, largest, pixel)
  loss = mean(square(slice(s, n, 0, 4))) + mean(concat(exp(s), n)) + mean(pad(entry * s, n, 0, 0))
    + mean(square(slice(entry, n, 0, 4))) + mean(cast(pad(largest, n, 0, 0), f32))
}
train m minimize loss with momentum(lr = 0.03)
MODEL
sed 's/slice(\([a-z]*\), n, 0, 4)/\1/g; s/concat(exp(s), n)/exp(s)/; s/pad(\([a-z* ]*\), n, 0, 0)/(\1)/g' windows.mesh >bare.mesh
grep -q 'slice\|concat\|pad' bare.mesh && fail "windows are left"
expect_equal bare windows 1e-6

# Sums whose equality shows only after products are expanded, in one all_reduce.
cat >twice.mesh <<'MODEL'
dim n = 4, pixel = 64, a = 4, c = 12
model m(x[n, pixel]) {
  param p0[] ~ normal(0.5)
  param p1[a, c] ~ uniform(-1, 1)
  t1 = einsum(p0, p1, p0, p1 -> [c]) * 0.0273255
  t4 = rename(t1, c -> e)
  m4 = t4 - mean(t4, e)
  t21 = m4 * rsqrt(mean(abs(m4), e) + 0.1)
  loss = mean(sin(t4 * p0))
  metric m9 = mean(t21 * cos(cast(iota(e), f32)))
}
train m minimize loss with momentum(lr = 0.03)
MODEL
expect_equal twice twice 1e-5 --mesh p=2 --layout c:p,t21.e:p

# In bf16 a product is rounded before it is summed, no matter what else reads
# it.
cat >rounded.mesh <<'MODEL'
dim n = 4, pixel = 64, a = 8, b = 6
model m(x[n, pixel]) {
  param v[n, a]: bf16 ~ normal(1)
  param w[a, b]: bf16 ~ normal(1)
  product = v * w
  loss = mean(square(cast(sum(product, a), f32)))
}
train m minimize loss with sgd(0.05)
MODEL
sed 's/^  loss.*/&\n  metric largest = mean(cast(max(product, a), f32))/' rounded.mesh >shared.mesh
expect_equal rounded shared 1e-6

# Loops and their iterations written one after the other: a stack of layers whose values are stacked, and a recurrence
# from the last entry to the first with a loop inside.
cat >loops.mesh <<'MODEL'
dim n = 4, pixel = 64, to = 64, layers = 3, seq = 2, key = 32
fn layer(h, w) {
  return h + rename(tanh(dot(h, w, pixel)), to -> pixel)
}
model m(x[n, pixel]) {
  param w[layers, pixel, to] ~ normal(0.1)
  param v[seq, layers] ~ normal(1)
  h = x / 255
  for layers {
    h = layer(h, w)
    part = mean(square(h))
  }
  s = split(h, pixel -> (seq, key))
  state = broadcast(1, n, key)
  total = 0
  for seq backwards {
    state = tanh(state / 2 + s * (iota(seq, f32) + 1))
    for layers { state = state * v + iota(layers, f32) }
    seen = mean(state)
    total = total * 2 + seen
  }
  loss = mean(square(state)) + total + sum(part * (iota(layers, f32) + 1)) + sum(sin(seen) * iota(seq, f32))
}
train m minimize loss with momentum(lr = 0.03)
MODEL
{ sed -n '1,/param v/p' loops.mesh; cat <<'MODEL'
  w0 = sum(slice(w, layers, 0, 1), layers)
  w1 = sum(slice(w, layers, 1, 1), layers)
  w2 = sum(slice(w, layers, 2, 1), layers)
  h0 = layer(x / 255, w0)
  h1 = layer(h0, w1)
  h2 = layer(h1, w2)
  s = split(h2, pixel -> (seq, key))
  first = sum(slice(v, seq, 0, 1), seq)
  last = sum(slice(v, seq, 1, 1), seq)
  a = tanh(0.5 + 2 * sum(slice(s, seq, 1, 1), seq))
  a = a * sum(slice(last, layers, 0, 1))
  a = a * sum(slice(last, layers, 1, 1)) + 1
  a = a * sum(slice(last, layers, 2, 1)) + 2
  b = tanh(a / 2 + sum(slice(s, seq, 0, 1), seq))
  b = b * sum(slice(first, layers, 0, 1))
  b = b * sum(slice(first, layers, 1, 1)) + 1
  b = b * sum(slice(first, layers, 2, 1)) + 2
  parts = mean(square(h0)) + 2 * mean(square(h1)) + 3 * mean(square(h2))
  loss = mean(square(b)) + 2 * mean(a) + mean(b) + parts + sin(mean(a))
}
train m minimize loss with momentum(lr = 0.03)
MODEL
} >iterations.mesh
expect_equal loops iterations 1e-5
expect_equal loops loops 1e-5 --unroll --mesh a=2,b=2 --layout n:a,to:b,h.pixel:b

# What a loop computes again for its gradient does not change a bit.
sed 's/h = layer(h, w)/recompute { & }/; s/state = tanh.*/recompute { & }/' loops.mesh >blocks.mesh
[ "$(grep -c recompute blocks.mesh)" = 2 ] || fail "blocks.mesh lacks its blocks"
expect_equal loops blocks 0 --recompute=none
