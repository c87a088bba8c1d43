#!/usr/bin/env bash
# Parameters in bf16 and f16 train like those in f32, under several layouts. An
# optimizer that kept its state in 16 bits would lose the squares of gradients.
. "$(dirname "$0")/lib.sh"
[ -d $fashion ] || skip "no $fashion"
data="--data images=$fashion/t10k-images-idx3-ubyte.gz --data labels=$fashion/t10k-labels-idx1-ubyte.gz"
losses() { sed -n 's/.*"step":[0-9]*,"loss":\([-+0-9.e]*\).*/\1/p' "$1"; }
run() { # NAME OPTIONS...: its losses in NAME.txt
  local name=$1 model=$2
  shift 2
  "$meshc" "$model" "$@" -o program
  rm -f log.jsonl
  ./program train $data --steps 100 --seed 3 --threads 1 --quiet --log log.jsonl --log-every 1
  losses log.jsonl >$name.txt
}
sed 's/: bf16 ~/ ~/; s/: f16 ~/ ~/; s/, b\?f16)/, f32)/' "$models/half.mesh" >whole.mesh
run whole whole.mesh
run one "$models/half.mesh"
run data "$models/half.mesh" --mesh d=2 --layout batch:d
run both "$models/half.mesh" --mesh d=2,t=2 --layout batch:d,h1:t
for name in one data both; do
  paste whole.txt $name.txt | awk '
    { d = ($1 - $2) / $1; d = d < 0 ? -d : d; if (d > largest) largest = d }
    END { print "differs from f32 by " largest; exit !(NR == 100 && largest < 0.1) }' || fail "$name"
done

# Dims that do not fill a vector: 16-bit numbers are processed one by one.
"$meshc" "$models/half.mesh" --set h1=7 --set h2=5 -o program || fail "dims of odd sizes"
./program train $data --steps 3 --quiet || fail "dims of odd sizes"
echo "ok dims of odd sizes"
