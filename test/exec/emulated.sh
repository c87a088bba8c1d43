#!/usr/bin/env bash
# Whole programs with GPU kernels, emulated on the host: the losses equal those
# of the host's kernels, on one rank and on several.
. "$(dirname "$0")/lib.sh"
[ -d $fashion ] || skip "no $fashion"
images="--data images=$fashion/t10k-images-idx3-ubyte.gz --data labels=$fashion/t10k-labels-idx1-ubyte.gz"
text="--data /usr/share/common-licenses/GPL-3"

seed=${MESHC_EMULATION_SEED:-$RANDOM}
export MESHC_EMULATION_SEED=$seed
echo "MESHC_EMULATION_SEED=$seed"

losses() { # PROGRAM -> one loss a line
  rm -f log.jsonl
  ./$1 train $data --steps 5 --seed 3 --threads 1 --ranks $ranks --quiet --log log.jsonl --log-every 1 </dev/null
  sed -n 's/.*"step":[0-9]*,"loss":\([-+0-9.e]*\).*/\1/p' log.jsonl
}
while read -r model kind ranks mesh layout; do
  data=$images
  [ $kind = images ] || data=$text
  "$meshc" "$root/$model.mesh" --mesh $mesh --layout "${layout:-}" -o host
  "$meshc" "$root/$model.mesh" --mesh $mesh --layout "${layout:-}" --gpu-kernels=emulated -o emulated
  losses host >host.txt
  losses emulated >emulated.txt
  paste host.txt emulated.txt | awk '
    NF != 2 { bad = 1 }
    { d = ($1 - $2) / $1; if (d > 1e-4 || d < -1e-4) { print "step " NR ": " $2 ", on the host " $1; bad = 1 } }
    END { exit bad || NR != 5 }' || fail "$model --mesh $mesh"
  echo "ok $model --mesh $mesh"
done <<'PROGRAMS'
test/exec/models/mlp images 1 one=1
test/exec/models/mlp images 4 d=2,t=2 batch:d,h1:t
test/exec/models/half images 1 one=1
test/exec/models/half images 2 d=2 batch:d
test/gpu/models/epilogues images 1 one=1
test/gpu/models/epilogues images 2 t=2 first:t,third:t
test/gpu/models/epilogues images 4 d=2,t=2 batch:d,second:t,fifth:t
python-free-examples/01_fashion_mnist/perceptron images 2 t=2 hidden:t
python-free-examples/03_char_model/char text 2 d=2 batch:d
PROGRAMS
