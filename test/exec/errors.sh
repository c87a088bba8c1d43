#!/usr/bin/env bash
# Failures of a compiled program: one clear error, a documented exit code
# (docs/exit-codes.md), and the last checkpoint is intact.
. "$(dirname "$0")/lib.sh"
[ -d $fashion ] || skip "no $fashion"
images=$fashion/t10k-images-idx3-ubyte.gz
labels=$fashion/t10k-labels-idx1-ubyte.gz
data="--data images=$images --data labels=$labels"
"$meshc" "$models/mlp.mesh" --mesh d=2,t=2 --layout batch:d,h1:t -o model

# The command line and the mesh.
expect 2 "no data for input 'labels'" ./model train --data images=$images
expect 2 "'image'" ./model train --data image=$images --data labels=$labels
expect 5 "got 3 ranks.*needs 4" ./model train $data --ranks 3
! has_mpi || expect 5 "got 2 ranks.*needs 4" mpirun -n 2 ./model train $data

# Data: missing, truncated, with other dims, not what its name says.
expect 3 "missing.gz" ./model train --data images=missing.gz --data labels=$labels
head -c 100000 $images >cut.gz
expect 3 "cut.gz.*(truncated|ends)" ./model train --data images=cut.gz --data labels=$labels
expect 3 "1 elements per example; .* needs 784" ./model train --data images=$labels --data labels=$labels
head -c 5000 /dev/urandom >random.gz
expect 3 "random.gz" ./model train --data images=random.gz --data labels=$labels
! has_mpi || expect 3 "missing.gz" mpirun -n 4 ./model train --data images=missing.gz --data labels=$labels

# Checkpoints: from another model, truncated, on a full disk.
./model train $data --steps 3 --seed 1 --quiet --checkpoint good
head -c 1000 good >cut.safetensors
expect 4 "cut.safetensors" ./model train $data --steps 4 --resume cut.safetensors
"$meshc" "$models/mlp.mesh" --set h1=32 --mesh d=2,t=2 --layout batch:d,h1:t -o other
expect 4 "h1" ./other train $data --steps 4 --resume good
expect 4 "h1" ./other eval $data --checkpoint good
cp good before
# A separate file system if that is allowed (root, and no sandbox).
cat >full.sh <<'FULL'
set -e
mkdir full
mount -t tmpfs -o size=$(($(stat -c %s good) * 3 / 2 / 1024))k none full
cp good full/c
code=0
./model train $1 --steps 6 --quiet --checkpoint full/c --resume || code=$?
cmp full/c good && ls full | wc -l | grep -qx 1 || code=90
umount full
exit $code
FULL
if unshare -m true 2>/dev/null && unshare -m sh -c 'mkdir -p try && mount -t tmpfs none try' 2>/dev/null; then
  expect 4 "full/c.*No space left on device.*the checkpoint of before is intact" unshare -m bash full.sh "$data"
else
  echo "the full disk was left out: mount is not allowed here"
fi

# A killed rank ends the job; the previous checkpoint is intact.
if has_mpi; then
  mpirun -n 4 ./model train $data --steps 1000000 --quiet --save-every 5 --seed 1 --checkpoint killed >killed.txt 2>&1 </dev/null &
  job=$!
  until [ -f killed ] || ! kill -0 $job 2>/dev/null; do sleep 0.1; done
  [ -f killed ] || { cat killed.txt; fail "no checkpoint was written"; }
  pkill -KILL -n -P $job || fail "no rank to kill"
  code=0
  timeout 60 tail --pid=$job -f /dev/null || fail "the job goes on without the killed rank"
  wait $job || code=$?
  [ $code != 0 ] || fail "a job with a killed rank ended with 0"
  grep -Eiq "signal 9|rank [0-3]" killed.txt || { cat killed.txt; fail "nothing said which rank was killed"; }
  expect 0 "accuracy" ./model eval $data --checkpoint killed
  ! ls killed.* 2>/dev/null | grep -v '\.txt$' || fail "a temporary file was left"
fi

# A loss that is not a number ends the run.
"$meshc" - --emit=exe -o wild <<'MESH'
dim batch = 100, pixel = 784, class = 10
model m(images[batch, pixel], labels[batch]: i32) {
  param w[pixel, class] ~ zeros
  loss = mean(cross_entropy(dot(images, w, pixel), labels, class)) * sqrt(-1 - mean(w))
}
train m minimize loss with sgd(lr = 1)
MESH
expect 7 "not a number|not finite" ./wild train $data --steps 5
# Ranks fail and leave while others read their gradients: still one message.
"$meshc" "$models/mlp.mesh" --set class=8 --set h1=256 --mesh d=2,t=2 --layout batch:d,h1:t -o few
for _ in $(seq 20); do
  expect 3 "not a number" ./few train $data --steps 5 --threads 1
done

# Labels that are not a class; an evaluation of a model that diverged.
"$meshc" "$models/mlp.mesh" --set class=8 -o eight
"$meshc" "$models/mlp.mesh" --set class=8 --mesh d=2,t=2 --layout batch:d,class:t -o eight4
bad="labels.*: example [0-9]+ has [89] for input 'labels', a target of 'cross_entropy'; expected 0 to 7"
programs=(./eight ./eight4)
! has_mpi || programs+=("mpirun -n 4 ./eight4")
for program in "${programs[@]}"; do
  expect 3 "error: the loss of step 1 is not a number: .*$bad" $program train $data --steps 5
  expect 0 "" $program train $data --steps 0 --checkpoint eight.safetensors
  expect 3 "error: the loss of the evaluation is not a number: .*$bad" $program eval $data --checkpoint eight.safetensors
  grep -q "^loss nan (10000 examples)" output.txt || fail "$program does not print the metrics"
done
skip_without_mpi
