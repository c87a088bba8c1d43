#!/usr/bin/env bash
# One model under many layouts, on 1, 2, 4 and 8 ranks, as threads and under
# mpirun: the losses of 50 steps equal those of one rank up to rounding, and
# --verify finds nothing.
. "$(dirname "$0")/lib.sh"
[ -d $fashion ] || skip "no $fashion"
steps=50
data="--data images=$fashion/t10k-images-idx3-ubyte.gz --data labels=$fashion/t10k-labels-idx1-ubyte.gz"

losses() { # LOG -> one loss a line
  sed -n 's/.*"step":[0-9]*,"loss":\([-+0-9.e]*\).*/\1/p' "$1"
}
# check NAME: log.jsonl against one.txt. Rounding differences grow with the
# steps; 1e-3 relative is a tenth of the effect of the first wrong row.
check() {
  losses log.jsonl >this.txt
  paste one.txt this.txt | awk -v name="$1" -v steps=$steps '
    function abs(x) { return x < 0 ? -x : x }
    NF != 2 { print name ": a loss is missing in step " NR; bad = 1; exit }
    abs($1 - $2) > 1e-3 * abs($1) { print name ": step " NR ": " $2 ", on one rank " $1; bad = 1; exit }
    NR == 1 && abs($1 - $2) > 1e-6 * abs($1) { print name ": first loss " $2 ", on one rank " $1; bad = 1; exit }
    END { if (!bad && NR != steps) { print name ": " NR " steps"; bad = 1 }; exit bad }' || fail "$1"
}
train="train $data --steps $steps --seed 3 --threads 1 --quiet --log log.jsonl --log-every 1"

"$meshc" "$models/mlp.mesh" -o one
./one $train
losses log.jsonl >one.txt

while read -r ranks mesh layout; do
  name="--mesh $mesh --layout $layout"
  "$meshc" "$models/mlp.mesh" --mesh $mesh --layout $layout --verify >verify.txt ||
    { cat verify.txt; fail "$name --verify"; }
  "$meshc" "$models/mlp.mesh" --mesh $mesh --layout $layout -o many
  rm -f log.jsonl
  ./many $train --ranks $ranks </dev/null
  check "$name, threads"
  if has_mpi; then
    rm -f log.jsonl
    mpirun -n $ranks ./many $train </dev/null
    check "$name, mpirun"
  fi
  echo "ok $name"
done <<'LAYOUTS'
2 d=2 batch:d
4 d=4 batch:d
8 d=8 batch:d
2 t=2 h1:t
4 t=4 class:t
4 d=2,t=2 batch:d,h1:t
4 r=2,c=2 pixel:r,h1:c
4 a=2,b=2 h1:a,h2:b
4 p=2,d=2 batch:p+d
8 d=2,t=2,p=2 batch:d,h1:t,pixel:p
8 d=2,t=2,p=2 batch:d,h1:t,optimizer.pixel:p
8 d=8 class:d
8 d=2,t=4 batch:d,h2:t
LAYOUTS
skip_without_mpi
