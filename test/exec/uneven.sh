#!/usr/bin/env bash
# Sizes that no axis divides: losses and metrics of a training, those of an
# evaluation, and generated texts are those of one rank under layouts of 2 to 7
# ranks, with blocks that are short or empty, with host kernels and GPU kernels, as
# threads and under mpirun. Checkpoints hold each entry once, so that any number of
# ranks reads them.
. "$(dirname "$0")/lib.sh"
text=/usr/share/common-licenses/GPL-3
train="train --data $text --steps 5 --seed 3 --threads 1 --quiet --log log.jsonl --log-every 1 --checkpoint checkpoint.safetensors"

# compare FILE ONE NAME: numbers of each line, within 1e-4 of each other.
compare() {
  paste -d ' ' "$2" "$1" | awk -v name="$3" '
    { n = NF / 2
      for (i = 1; i <= n; ++i) {
        d = $i - $(i + n); if (d < 0) d = -d
        if (n != int(n) || !(d <= 1e-4 * (1 + ($i < 0 ? -$i : $i)))) { print name ": line " NR ": " $0; bad = 1; exit }
      } }
    END { exit bad || NR == 0 }' || fail "$3"
}
numbers() { # LOG -> loss and metrics, one step a line
  sed -n 's/.*"step":[0-9]*,"loss":\(.*\),"examples_per_second.*/\1/p' "$1" | sed 's/"[a-z_]*"://g; s/,/ /g'
}
evaluate() { # PROGRAM OPTIONS... -> the metrics, one a line
  "$1" eval --data few.txt --checkpoint checkpoint.safetensors --threads 1 --quiet "${@:2}" </dev/null |
    awk '{ print $2 }'
}

# 28 windows of 7 tokens, two batches of 10 and one of 8.
head -c 200 $text >few.txt
"$meshc" "$models/uneven.mesh" -o one
./one $train </dev/null
numbers log.jsonl >one.txt
[ "$(wc -l <one.txt)" = 5 ] || fail "no losses of one rank"
evaluate ./one >one-eval.txt
[ -s one-eval.txt ] || fail "no metrics of one rank"
generate() { # PROGRAM OPTIONS... -> texts: the likeliest tokens, drawn ones, beams
  for how in --greedy "--temperature 1.1 --seed 4" "--beams 3"; do
    "$1" generate --checkpoint checkpoint.safetensors --prompt The --tokens 4 --threads 1 --quiet $how "${@:2}" </dev/null
  done
}
generate ./one >one-texts.txt
[ "$(wc -l <one-texts.txt)" = 3 ] || fail "no texts of one rank"
mv checkpoint.safetensors one.safetensors

while read -r ranks launcher options; do
  "$meshc" "$models/uneven.mesh" $options -o many
  rm -f log.jsonl
  if [ $launcher = threads ]; then
    ./many $train --ranks $ranks </dev/null
  elif has_mpi; then
    mpirun -n $ranks ./many $train </dev/null
  else
    continue
  fi
  numbers log.jsonl >many.txt
  compare many.txt one.txt "$options"
  # Each program reads what the other one wrote.
  evaluate ./one >crossed.txt
  compare crossed.txt one-eval.txt "$options: one rank reads the checkpoint of $ranks"
  cp one.safetensors checkpoint.safetensors
  evaluate ./many --ranks $ranks >crossed.txt
  compare crossed.txt one-eval.txt "$options: $ranks ranks read the checkpoint of one"
  generate ./many --ranks $ranks >texts.txt
  cmp texts.txt one-texts.txt || fail "$options: other texts"
  echo "ok $ranks $launcher $options"
done <<'LAYOUTS'
3 threads --mesh data=3 --layout batch:data
4 mpirun --mesh data=4 --layout batch:data
7 threads --mesh data=7 --layout batch:data
2 mpirun --mesh tensor=2 --layout heads:tensor,ffn:tensor,vocab:tensor
6 threads --mesh tensor=6 --layout heads:tensor,ffn:tensor,vocab:tensor
6 threads --mesh data=3,tensor=2 --layout batch:data,heads:tensor,ffn:tensor,vocab:tensor
4 mpirun --mesh pod=2,data=2 --layout batch:(pod,data),parameter.ffn:data
6 threads --mesh data=2,tensor=3 --layout batch:data,vocab:(data,tensor),activation.vocab:tensor
3 threads --mesh data=3 --layout batch:data,optimizer.model:data
3 threads --mesh data=3 --layout batch:data,parameter.model:data,gradient.model:data,optimizer.model:data
4 threads --mesh seq=4 --layout seq:seq
4 threads --mesh tensor=4 --layout heads:tensor,ffn:tensor,vocab:tensor,seq:~tensor
5 threads --mesh tensor=5 --layout model:tensor
3 threads --mesh data=3 --layout batch:data --gpu-kernels=emulated
2 threads --mesh tensor=2 --layout heads:tensor,ffn:tensor,vocab:tensor --gpu-kernels=emulated
LAYOUTS
echo passed
