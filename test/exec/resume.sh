#!/usr/bin/env bash
# A run that was stopped and resumed ends with the same checkpoint as an
# uninterrupted run, to the bit, on 1, 2 and 4 ranks; and a mesh can resume
# from the checkpoint of another one.
. "$(dirname "$0")/lib.sh"
[ -d $fashion ] || skip "no $fashion"
data="--data images=$fashion/t10k-images-idx3-ubyte.gz --data labels=$fashion/t10k-labels-idx1-ubyte.gz"
train="train $data --seed 5 --threads 1 --quiet"

while read -r ranks mesh layout; do
  "$meshc" "$models/mlp.mesh" --mesh $mesh --layout "$layout" -o "model$ranks"
  start="./model$ranks"
  [ $ranks = 1 ] || ! has_mpi || start="mpirun -n $ranks $start"
  $start $train --steps 30 --checkpoint whole$ranks </dev/null
  $start $train --steps 11 --checkpoint parts$ranks </dev/null
  $start $train --steps 30 --checkpoint parts$ranks --resume </dev/null
  cmp whole$ranks parts$ranks || fail "resumed on --mesh $mesh differs"
  echo "ok $mesh"
done <<'LAYOUTS'
1 one=1
2 d=2 batch:d
4 d=2,t=2 batch:d,h1:t
LAYOUTS

# Eleven steps on four ranks, the others on one: the losses of four continue.
./model4 $train --steps 11 --checkpoint moved
./model1 $train --steps 30 --checkpoint moved --resume --log moved.jsonl --log-every 1
./model4 $train --steps 30 --log four.jsonl --log-every 1
losses() { sed -n 's/.*"step":\([0-9]*\),"loss":\([-+0-9.e]*\).*/\1 \2/p' "$1"; }
losses four.jsonl | tail -n 19 >four.txt
losses moved.jsonl >moved.txt
paste four.txt moved.txt | awk '
  NF != 4 || $1 != $3 || ($2 - $4) ^ 2 > (1e-4 * $2) ^ 2 { print "differs: " $0; bad = 1 }
  END { exit bad || NR != 19 }' || fail "one rank does not go on where four stopped"
skip_without_mpi
