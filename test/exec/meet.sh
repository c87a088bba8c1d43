#!/usr/bin/env bash
# meet.sh [PAIRS]: pairs of runs that write the same checkpoint and log. Of each
# pair one trains, and the other is refused with code 2 and the first one's process
# and host; what is left is what the first one alone would have left. In some pairs
# both start at once; in others the second is started under mpirun, by another name
# of the file, or by the name of a generation or of the best checkpoint of the first.
# Then the first one is killed, and the next run is not refused.
. "$(dirname "$0")/lib.sh"
pairs=${1:-7}
cat >m.mesh <<'MESH'
dim batch = 32, model = 256
model m(x[batch, model]) {
  param w[model] ~ normal(0.5)
  loss = mean(square(tanh(x * w)))
}
train m minimize loss with adam(lr = 0.001)
MESH
"$meshc" m.mesh -o m
"$meshc" m.mesh --mesh d=2 --layout batch:d -o two
head -c 262144 /dev/zero | tr '\0' '\100' >values
{ printf '\223NUMPY\1\0\166\0'; printf '%-117s\n' "{'descr': '<f4', 'fortran_order': False, 'shape': (256, 256), }"; cat values; } >x.npy
train="train --data x=x.npy --threads 1 --quiet"

# A new run replaces the checkpoint of the same model, but not that of another one.
sed 's/model m/model n/; s/train m/train n/' m.mesh >n.mesh
"$meshc" n.mesh -o n
"$meshc" m.mesh --set model=128 -o narrow
sed 's/adam(lr = 0.001)/sgd(lr = 0.1)/' m.mesh >sgd.mesh
"$meshc" sgd.mesh -o sgd
sed 's/  loss/  param b[model] ~ zeros\n  loss/; s/x \* w/x * w + b/' m.mesh >bias.mesh
"$meshc" bias.mesh -o bias
end="; the run would replace it: give '--overwrite', or another name"
./m $train --steps 3 --checkpoint c
cp c before
expect 2 "^n: error: checkpoint 'c' is of another model: its model is 'm', and this one is 'n'$end" ./n $train --steps 9 --checkpoint c
head -c 131072 values >half
{ printf '\223NUMPY\1\0\166\0'; printf '%-117s\n' "{'descr': '<f4', 'fortran_order': False, 'shape': (256, 128), }"; cat half; } >half.npy
expect 2 "^m: error: checkpoint 'c' is of another model: its parameter 'w' is F32 \[256\], and that of this one is F32 \[128\]$end" \
  ./narrow train --data x=half.npy --threads 1 --steps 9 --checkpoint c
expect 2 "^m: error: checkpoint 'c' is of another model: it has no parameter 'b'$end" ./bias $train --steps 9 --checkpoint c
cmp c before || fail "a refused run has changed the checkpoint"
./bias $train --steps 3 --checkpoint b
expect 2 "^m: error: checkpoint 'b' is of another model: its 'b' is of no parameter of this one$end" ./m $train --steps 9 --checkpoint b
# Another optimizer, mesh or layout is the same model.
./sgd $train --steps 9 --checkpoint c
./two $train --steps 9 --checkpoint c
./n $train --steps 9 --checkpoint c --overwrite
cp c c.1
./m $train --steps 9 --checkpoint c --overwrite
expect 2 "^m: error: checkpoint '[^']*c.1' is of another model: its model is 'n'" ./m $train --steps 9 --checkpoint c --keep 3
./m $train --steps 9 --checkpoint c
host=$(hostname)

# await CONDITION...: at most 20 s.
await() {
  for _ in $(seq 1000); do
    ! "$@" 2>/dev/null || return 0
    sleep 0.02
  done
  return 1
}
has_lines() { [ -s "$1" ]; }
# refused PROCESS OUTPUT FILE: the other run's message.
refused() {
  grep -Eq "^m: error: '[^']*$3[^']*' is being written by another run \(process $1 on host '$host', since [-0-9]+ [:0-9]+\); wait" "$2"
}

# Both start at once: one of the two is refused.
at_once() {
  local one two loser winner code
  ./m $train --steps 100000000 --checkpoint c --log l >1.txt 2>&1 &
  one=$!
  ./m $train --steps 100000000 --checkpoint c --log l >2.txt 2>&1 &
  two=$!
  await eval "! kill -0 $one || ! kill -0 $two" || { kill -9 $one $two; echo "no run was refused"; return 1; }
  if kill -0 $one 2>/dev/null; then winner=1 loser=2; else winner=2 loser=1; fi
  [ $winner = 1 ] || { local swap=$one; one=$two; two=$swap; }
  code=0
  wait $two || code=$?
  [ $code = 2 ] && refused $one $loser.txt c || { cat $loser.txt; kill -9 $one; echo "code $code"; return 1; }
  finish $one
}

# The second starts while the first one trains.
later() {
  local kind=$1 first=(./m) second=(./m $train --steps 5) options=(--checkpoint c --log l) named=c one code=0
  case $kind in
  mpirun) first=(mpirun -n 2 ./two) second=(mpirun -n 2 ./two $train --steps 5) ;;
  link) ln -s c other ;;
  generation | best) options+=(--keep 3 --eval-data x=x.npy --eval-every 10000000 --keep-best loss) ;;
  esac
  "${first[@]}" $train --steps 100000000 "${options[@]}" >1.txt 2>&1 &
  one=$!
  await has_lines l || { cat 1.txt; kill -9 $one; echo "no start"; return 1; }
  case $kind in
  log) second+=(--log ./l) named=l ;;
  link) second+=(--checkpoint other) named=other ;;
  generation) second+=(--checkpoint c.2) named=c.2 ;;
  best) second+=(--checkpoint c.best) named=c.best ;;
  *) second+=(--checkpoint "$PWD/c") ;;
  esac
  "${second[@]}" >2.txt 2>&1 </dev/null || code=$?
  local holder=$one
  [ $kind != mpirun ] || holder='[0-9]+'
  [ $code = 2 ] && refused "$holder" 2.txt $named || { cat 2.txt; kill -9 $one; echo "code $code"; return 1; }
  finish $one $kind
}

# finish PROCESS: the first run ends by SIGTERM with a checkpoint, which reading
# does not disturb, and which is that of a run that met nobody.
finish() {
  local code=0 step
  kill -TERM $1
  wait $1 || code=$?
  [ "${2:-}" = mpirun ] || [ $code = 143 ] || { cat ?.txt; echo "the first run ended with $code"; return 1; }
  step=$(tail -n 1 l | sed 's/{"step":\([0-9]*\),.*/\1/')
  [ "${2:-}" != mpirun ] || return 0
  ./m $train --steps "$step" --checkpoint alone >/dev/null || return 1
  cmp alone c || return 1
  [ "$(sed 's/{"step":\([0-9]*\),.*/\1/' l | sort -n | uniq | wc -l)" = "$(wc -l <l)" ] || { echo "mixed logs"; return 1; }
  ! ls | grep meshc- || { echo "files were left"; return 1; }
  # A run that is killed holds nothing any more.
  ./m $train --steps 100000000 --checkpoint c --log l --resume >3.txt 2>&1 &
  local third=$!
  await [ -e c.meshc-lock ]
  ./m eval --data x=x.npy --checkpoint c >4.txt 2>&1 || { cat 4.txt; kill -9 $third; echo "eval is refused"; return 1; }
  kill -9 $third
  wait $third
  ./m $train --steps $((step + 5)) --checkpoint c --log l --resume >5.txt 2>&1 || { cat 5.txt; return 1; }
  ! ls | grep meshc-lock || { echo "a lock was left"; return 1; }
}

kinds=(at_once later log link generation best)
! has_mpi || kinds+=(mpirun)
# pair NUMBER KIND: writes "ok" or what failed to NUMBER.result.
pair() {
  mkdir "pair$1"
  cd "pair$1"
  ln -s ../m ../two ../x.npy .
  set +e
  if [ $2 = at_once ]; then at_once; else later $2; fi >result.txt 2>&1
  [ $? = 0 ] && echo "ok $2" >"../$1.result" || { echo "pair $1, $2:"; cat result.txt; } >"../$1.result"
}
atOnce=4
for number in $(seq "$pairs"); do
  (pair $number ${kinds[$((number % ${#kinds[@]}))]}) &
  [ $((number % atOnce)) != 0 ] || wait
done
wait
for number in $(seq "$pairs"); do
  grep -q '^ok' $number.result || { cat $number.result >&2; fail "of two runs, one must be refused and the other undisturbed"; }
done
echo "$pairs pairs of runs on one file, each with one refused"
skip_without_mpi
