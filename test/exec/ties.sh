#!/usr/bin/env bash
# A maximum equals one of its operands to the bit wherever the two are computed: x·s + c in one kernel, in two kernels,
# in the kernel of the product, or from its stored value. Otherwise the gradient of max loses rows and argmax finds no index.
. "$(dirname "$0")/lib.sh"
license=/usr/share/common-licenses/GPL-3
{ printf '\0\0\x08\x02\0\0\0\x60\0\0\x01\0'; head -c $((96 * 256)) $license; } >x.idx

# check NAME SUM OPTIONS...: no index of argmax is out of range, and the gradients of `c` sum to SUM in each step.
check() {
  local name=$1 sum=$2
  shift 2
  "$meshc" $name.mesh "$@" -o program
  rm -f log.jsonl
  ./program train --data x=x.idx --steps 6 --seed 3 --quiet --log log.jsonl --log-every 1
  awk -v sum=$sum '
    match($0, /"beyond":[-+0-9.e]+/) { beyond += substr($0, RSTART + 9, RLENGTH - 9); ++lines }
    match($0, /"total":[-+0-9.e]+/) { total = substr($0, RSTART + 8, RLENGTH - 8) + 0; if (lines > 1) moved += before - total; before = total }
    END {
      gradient = moved / 5 / 0.05
      d = gradient - sum
      print "out of range: " beyond / lines ", gradients sum to " gradient
      exit !(lines == 6 && beyond == 0 && d < 1e-3 && d > -1e-3)
    }' log.jsonl || fail "$name $*"
}
model() { # NAME: the lines that use x, w, s, c and v come from the standard input
  {
    echo "dim batch = 96, pixel = 256, unit = 64, class = 10
model ties(x[batch, pixel]) {
  param w[pixel, unit] ~ he(pixel)
  param s[unit] ~ normal(1, 0.1)
  param c[unit] ~ normal(0, 0.1)
  param v[unit, class] ~ glorot(unit -> class)
  p = dot(x / 255, w, pixel) * s
  y = p + c
  m = max(y, unit)"
    cat
    echo "  metric total = sum(c)
}
train ties minimize loss with sgd(lr = 0.05)"
  } >$1.mesh
}
# One kernel that walks a row twice, the product stored.
model walks <<'E2'
  q = mean(square(p), batch)
  loss = mean(m) + 0.001 * mean(square(q))
  metric beyond = mean(cast(argmax(y, unit) > 63, f32))
E2
# The product is an operand of another op: through memory.
model memory <<'E2'
  o = dot(p, v, unit)
  loss = mean(m) + 0.001 * mean(square(o))
  metric beyond = mean(cast(argmax(y, unit) > 63, f32)) + 0 * mean(o)
E2
# Several of them.
model both <<'E2'
  o = dot(p, v, unit) + m
  loss = mean(o)
  metric beyond = mean(cast(argmax(y, unit) > 63, f32) * sum(p, unit))
E2
for name in walks memory both; do
  check $name 1
  check $name 1 --gpu-kernels=emulated
  check $name 1 --mesh t=2 --layout unit:t
  check $name 1 --mesh d=2 --layout batch:d
done

# Fifty entries nearly tie for the maximum. Rounding decides which of them it is, and --verify reports no difference.
cat >near.mesh <<'E2'
dim o = 12, c = 13, f = 8
model near(x[o, f]) {
  param p[f, c] ~ ones
  z = p * p
  s = sin(z) * cos(cast(iota(f), f32) * 0.38) * cos(cast(iota(c), f32) * 1.045)
  t = sin(p) * cos(cast(iota(f), f32) * 1.223) * cos(cast(iota(c), f32) * 0.473)
  loss = max(z + 0.5 * p, f, c) + mean(s) + mean(t) + 0 * mean(x)
}
train near minimize loss with adamw(lr = 0.09 / cast(step() + 1, f32))
E2
for options in "" --recompute=full --gpu-kernels=emulated; do
  "$meshc" near.mesh --verify $options >verified || { cat verified; fail "--verify $options of entries that nearly tie"; }
done
