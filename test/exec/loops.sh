#!/usr/bin/env bash
# Loops compute what their iterations compute, written one after the other: the
# losses of a stack of recurrent layers and of its unrolled form, under several
# layouts, with host kernels and GPU kernels; where sums have one order, the same
# bits. Errors and traces know iterations. MESHC_RANDOM_SEED draws half of the layouts.
. "$(dirname "$0")/lib.sh"
text=/usr/share/common-licenses/GPL-3

train() { # MODEL OPTIONS... -> log.jsonl, checkpoint.safetensors
  "$meshc" "$models/$1.mesh" "${@:2}" -o program
  rm -f log.jsonl
  ./program train --data $text --steps 4 --seed 3 --threads 1 --quiet --log log.jsonl --log-every 1 \
    --checkpoint checkpoint.safetensors --overwrite </dev/null
}
losses() { # MODEL OPTIONS... -> one loss a line
  train "$@"
  sed -n 's/.*"step":[0-9]*,"loss":\([-+0-9.e]*\).*/\1/p' log.jsonl
}
number=0
while read -r options; do
  number=$((number + 1))
  is_drawn $number 2 || continue
  losses $options >looped.txt
  losses $options --unroll >unrolled.txt
  paste looped.txt unrolled.txt | awk '
    NF != 2 { bad = 1 }
    { d = ($1 - $2) / $2; if (d > 1e-5 || d < -1e-5) { print "step " NR ": " $1 ", unrolled " $2; bad = 1 } }
    END { exit bad || NR != 4 }' || fail "$options"
  echo "ok $options"
done <<'OPTIONS'
loops --set batch=8
loops --mesh d=2,t=2 --layout batch:d,out:t --set model=16 --set out=16
loops --mesh d=2,t=2 --layout batch:d,model:t,parameter.out:d --set model=16 --set out=16
loops --mesh d=4 --layout batch:d,parameter.out:d,optimizer.out:d --set model=16 --set out=16 --set batch=8
loops --gpu-kernels=emulated
loops --mesh d=2,t=2 --layout batch:d,out:t --set model=16 --set out=16 --gpu-kernels=emulated
loops --mesh d=2 --layout batch:d,parameter.out:d --set model=16 --set out=16 --gpu-kernels=emulated
deep --set layers=5 --mesh d=2,m=2 --layout batch:d,model:m
OPTIONS

# Unrolled, a program has kernels of several iterations and other memory orders; it
# may add up in another order, as above; or the compiler chooses other collectives
# for it, as for the last line above. In models whose sums have one order, losses and
# parameters have the same bits. Those of products have one order if a plain loop computes them: libraries take
# another one for a transposed result on some processors. Random numbers always have the same bits: a sum of them as whole
# numbers is exact.
metrics() { # MODEL OPTIONS... -> the metrics of each step
  train "$@"
  sed -n 's/.*"step":\([0-9]*,"loss":.*\),"examples_per_second.*/\1/p' log.jsonl
}
export MESHC_GEMM=reference
metrics draws | sed 's/"loss":[^,]*,//' >draws.txt
[ "$(cut -d, -f2- draws.txt | sort -u | wc -l)" = 4 ] || fail "steps have the same random numbers"
while read -r options; do
  metrics $options >looped.txt
  mv checkpoint.safetensors looped.safetensors
  metrics $options --unroll >unrolled.txt
  cmp looped.txt unrolled.txt && cmp looped.safetensors checkpoint.safetensors || fail "$options: other bits if unrolled"
  [[ $options = deep* ]] || sed 's/"loss":[^,]*,//' looped.txt | cmp - draws.txt || fail "$options: other random numbers"
  echo "ok $options"
done <<'OPTIONS'
draws
draws --gpu-kernels=emulated
draws --mesh d=2,m=2 --layout batch:d,model:m
deep --set layers=5
deep --set layers=5 --set hidden=2048 --mesh d=2,m=2 --layout batch:d,hidden:m
deep --set layers=5 --set batch=16 --mesh d=2,m=2 --layout batch:d,model:m
OPTIONS

# Whatever gradients recompute, the losses are the same, to the last bit. Of 48
# layers, full stores a fraction.
arena() { # MODEL OPTIONS... -> bytes
  "$meshc" "$models/$1.mesh" "${@:2}" --report=json -o program | sed -n 's/.*"arenaBytes": *\([0-9]*\).*/\1/p'
}
for model in loops deep; do
  for policy in none cheap full; do
    losses $model --recompute=$policy >$policy.txt
  done
  [ "$(wc -l <none.txt)" = 4 ] || fail "no losses of $model"
  cmp none.txt cheap.txt && cmp none.txt full.txt || fail "recomputed values of $model differ"
done
for model in "loops --set batch=64" deep; do
  none=$(arena $model --recompute=none) cheap=$(arena $model --recompute=cheap) full=$(arena $model --recompute=full)
  echo "$model: $none bytes, cheap $cheap, full $full"
  [ "$cheap" -lt "$none" ] && [ "$full" -lt "$cheap" ] || fail "recomputing saves no memory"
done
[ $((4 * full)) -le "$none" ] || fail "full stores more than a quarter"

# The step function has loops, not their iterations.
"$meshc" "$models/loops.mesh" --stop-after=schedule -o program.mlir
[ "$(grep -c 'exec.loop "seq" 6' program.mlir)" -ge 4 ] || fail "no loops over seq"
lines=$(wc -l <program.mlir)
"$meshc" "$models/loops.mesh" --set seq=60 --set layers=30 --stop-after=schedule -o program.mlir
[ "$(wc -l <program.mlir)" = "$lines" ] || fail "the program grows with the number of iterations"

# The logarithm of a negative value in the third layer's fifth iteration.
sed 's/h = tanh(\(.*\))$/h = tanh(\1) + 0 * log(22.5 - cast(10 * iota(layers) + iota(seq), f32))/' "$models/loops.mesh" >fault.mesh
for options in "" "--mesh d=2,t=2 --layout batch:d,out:t --set model=16 --set out=16"; do
  "$meshc" fault.mesh $options -o program
  expect 7 "the first NaN is .* in iteration 2 of 'layers', iteration 3 of 'seq'|the first NaN is .* in iteration 2 of 'layers', 3 of 'seq'" \
    ./program train --data $text --steps 2 --threads 1
done

# Calls of all iterations are in one row of the table, here of 18.
"$meshc" "$models/loops.mesh" -o program
./program train --data $text --steps 3 --threads 1 --trace trace.json --trace-steps 1 >table.txt </dev/null
grep -Eq '^ +18 .* product 8 x 15 x 15 f32, loops.mesh:13:23' table.txt || { cat table.txt >&2; fail "no row of 18 products"; }
grep -q '"iteration":"iteration 2 of '"'layers', 5 of 'seq'" trace.json || fail "no iteration in the trace"
echo passed
