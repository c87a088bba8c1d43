#!/usr/bin/env bash
# Metrics with known values, on one device and under several layouts.
. "$(dirname "$0")/lib.sh"
# Four 32-bit integers, each 4.
printf '\0\0\x0c\x01\0\0\0\x04\0\0\0\x04\0\0\0\x04\0\0\0\x04\0\0\0\x04' >t.idx
check() { # OPTIONS...
  "$meshc" "$models/values.mesh" "$@" -o program
  ./program train --data t=t.idx --steps 2 --seed 3 --quiet --log log.jsonl --log-every 1
  # exp(1) + 1; less after a step.
  for wanted in '"step":1,"loss":3.71828' '"part":5.43656' '"whole":8,' '"quotient":5,' '"reached":1,' '"inside":1,' '"ones":1,' '"table":108,' '"rest":11[,}]'; do
    head -1 log.jsonl | grep -Eq "$wanted" || { cat log.jsonl >&2; fail "$* does not give $wanted"; }
  done
  sed -n '2s/.*"loss":\([-+0-9.e]*\).*/\1/p' log.jsonl >>second.txt
  rm log.jsonl
}
check
check --mesh x=4 --layout n:x
check --mesh x=4 --layout w.d:x
check --mesh x=2 --layout d:x
check --mesh x=2,y=2 --layout a:x,b:y
awk 'NR == 1 { first = $1 } { d = $1 - first; if (d < 0) d = -d; if (d > 1e-5) bad = 1 } END { exit bad || NR != 5 }' second.txt ||
  { cat second.txt >&2; fail "layouts differ after a step"; }

# A model without parameters is evaluated without a checkpoint, and offers what it has.
cat >plain.mesh <<'END'
dim n = 4
model plain(t[n]: i32) {
  metric mean = mean(cast(t, f32))
  metric largest = max(cast(t, f32), n)
}
END
for options in "" "--mesh x=2 --layout n:x"; do
  "$meshc" plain.mesh $options -o program
  ./program eval --data t=t.idx --quiet >out.txt || fail "eval without parameters $options"
  printf 'mean 4.0000 (4 examples)\nlargest 4.0000 (4 examples)\n' | cmp - out.txt || fail "eval $options: $(cat out.txt)"
done
expect 2 "model 'plain' has no 'train' statement" ./program train --data t=t.idx
expect 2 "there is no command; expected 'eval', 'export' or 'info'" ./program
expect 2 "'--weights-map' requires '--checkpoint'" ./program eval --data t=t.idx --weights-map map
./program --help >help.txt
! grep -Eq '^ *(train|generate) ' help.txt || fail "the help names commands that the program does not have"
"$meshc" "$models/values.mesh" -o program
expect 2 "'--checkpoint' is required" ./program eval --data t=t.idx

# exp has 0 in place of results below 2^-126 [L5.5], and so has softmax; with host kernels and GPU kernels.
cat >powers.mesh <<'END'
dim n = 4
model powers(t[n]: i32) {
  x = [-87, -87.4, -100, 0] over n
  e = exp(x + cast(t - 4, f32))
  p = softmax(x + cast(t - 4, f32), n)
  metric first = sum(slice(e, n, 0, 1))
  metric rest = max(slice(e, n, 1, 2))
  metric share = max(slice(p, n, 1, 2))
  metric sum = sum(e)
}
END
for options in "" --gpu-kernels=emulated; do
  "$meshc" powers.mesh $options -o powers
  for wanted in "first 1.6458e-38" "rest 0" "share 0" "sum 1.0000"; do
    expect 0 "^$wanted \(4 examples\)" ./powers eval --data t=t.idx --threads 1
  done
done
