#!/usr/bin/env bash
# A rank takes the arena that --report prints, plus a fixed part that does not grow
# with the model: peak(big) - peak(small) = arena(big) - arena(small) within 2 %.
. "$(dirname "$0")/lib.sh"
[ -d $fashion ] || skip "no $fashion"
cat >model.mesh <<'MESH'
dim batch = 100, pixel = 784, hidden = 256, class = 10
model m(images[batch, pixel], labels[batch]: i32) {
  param w1[pixel, hidden] ~ he(pixel)
  param w2[hidden, class] ~ zeros
  loss = mean(cross_entropy(dot(relu(dot(images / 255, w1, pixel)), w2, hidden), labels, class))
}
train m minimize loss with adamw(lr = 1e-3)
MESH
measure() { # SIZE -> arena bytes, peak bytes
  "$meshc" model.mesh --set hidden=$1 -o program --report=json |
    sed -n 's/.*"arenaBytes": *\([0-9]*\).*/\1/p' >arena.txt
  ./program train --data images=$fashion/t10k-images-idx3-ubyte.gz --data labels=$fashion/t10k-labels-idx1-ubyte.gz \
    --steps 3 --threads 1 --quiet --memory | sed -n 's/^memory: peak \([0-9]*\) bytes.*/\1/p' >peak.txt
  echo "$(cat arena.txt) $(cat peak.txt)"
}
small=$(measure 256)
big=$(measure 16384)
echo "small: arena and peak $small; big: $big"
echo "$small $big" | awk 'NF != 4 { exit 1 } {
  arena = $3 - $1; peak = $4 - $2; ratio = peak / arena
  printf "grown by: arena %d, peak %d, ratio %.4f\n", arena, peak, ratio
  exit !(ratio > 0.98 && ratio < 1.02) }' || fail "peak and arena differ by more than 2 %"
