#!/usr/bin/env bash
# Loops that end early compute the same under several layouts, with host kernels and
# GPU kernels, and unrolled; they do not run further iterations; and what comes after
# them is found by its own place in errors and traces.
. "$(dirname "$0")/lib.sh"
text=/usr/share/common-licenses/GPL-3

# The interpreter, virtual ranks and the compiled program on as many ranks.
while read -r options; do
  "$meshc" "$models/ends.mesh" --verify $options >verify.txt || { cat verify.txt >&2; fail "--verify $options"; }
  echo "ok --verify $options"
done <<'OPTIONS'

--mesh d=2 --layout batch:d
--mesh d=2,t=2 --layout batch:d,model:t
--mesh t=2,s=2 --layout seq:t,steps_of:s --set seq=8
--gpu-kernels=emulated
--mesh d=2,t=2 --layout batch:d,vocab:t,parameter.to:d --gpu-kernels=emulated
OPTIONS

metrics() { # OPTIONS... -> the metrics of each step
  "$meshc" "$models/ends.mesh" "$@" -o program
  rm -f log.jsonl
  ./program train --data $text --steps 4 --seed 3 --threads 1 --quiet --log log.jsonl --log-every 1 </dev/null
  sed -n 's/.*"loss":\([-+0-9.e]*\),"halves":\([-+0-9.e]*\),"counts":\([-+0-9.e]*\),"turned_often":\([-+0-9.e]*\).*/\1 \2 \3 \4/p' log.jsonl
}
metrics >one.txt
[ "$(wc -l <one.txt)" = 4 ] || fail "no metrics"
# ASCII is 0 after 7 halves; the vectors turn more than once, and not as long as they may.
awk '$3 < 3 || $3 > 6 || $4 <= 2 || $4 >= 60 { exit 1 }' one.txt || { cat one.txt >&2; fail "loops of another length"; }
while read -r options; do
  metrics $options >other.txt
  paste one.txt other.txt | awk '
    NF != 8 || $2 != $6 || $3 != $7 { bad = 1 }
    { d = ($1 - $5) / $1; if (d > 1e-4 || d < -1e-4) bad = 1 }
    bad { print; exit 1 }' || fail "metrics with '$options'"
  echo "ok $options"
done <<'OPTIONS'
--unroll
--mesh d=2,t=2 --layout batch:d,model:t
--mesh d=2,t=2 --layout batch:d,vocab:t --gpu-kernels=emulated
OPTIONS

# Iterations behind the end do not run: of products there are as many as turns.
"$meshc" "$models/ends.mesh" --set steps=1000000 -o program
timeout 60 ./program train --data $text --steps 3 --threads 1 --trace trace.json --trace-steps 1 >table.txt </dev/null ||
  fail "a million iterations were run"
turns=$(sed -n 's/.*turned_often \([0-9]*\)\..*/\1/p' table.txt | tail -n 1)
line=$(grep -n 'turned = rename' "$models/ends.mesh" | cut -d: -f1)
grep -Eq "^ +$turns .* product .* ends.mesh:$line:" table.txt || { cat table.txt >&2; fail "no row of $turns products"; }
# What follows the loop has its own place, in traces and in errors.
line=$(grep -n 'logits = ' "$models/ends.mesh" | cut -d: -f1)
grep -q "product .* ends.mesh:$line:" table.txt || { cat table.txt >&2; fail "no product of line $line"; }
sed 's/logits - 1/logits + 0 * log(0 - square(logits)) - 1/' "$models/ends.mesh" >fault.mesh
line=$(grep -n 'loss = ' fault.mesh | cut -d: -f1)
for options in "" "--mesh d=2 --layout batch:d"; do
  "$meshc" fault.mesh $options -o program
  expect 7 "the first (NaN|infinite value) is .* at fault.mesh:$line:" ./program train --data $text --steps 2 --threads 1
done

# Without a gradient of its own, such a loop has none, also if it is replaced by its iterations.
sed '/^} gradient(g) {$/,/^}$/c }' "$models/ends.mesh" >none.mesh
line=$(grep -n 'for steps' none.mesh | head -n 1 | cut -d: -f1)
for options in "" --unroll; do
  expect 3 "none.mesh:$line:3: error: a loop with 'while' has no gradient" "$meshc" none.mesh $options -o program
done
echo passed
