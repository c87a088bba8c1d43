#!/usr/bin/env bash
# stopped.sh [TRIALS [AT-ONCE]]: in each trial some ranks of a run are stopped
# (SIGSTOP): one during the start, also after a warning that the start takes long,
# one or two during training, or one that sleeps while it waits for another. The
# first message that blames a rank must name them and no other rank.
# CI does two trials of each kind with a short MESHC_TIMEOUT; with TRIALS, the
# default timeout holds, and a rank must be named within 12 s.
. "$(dirname "$0")/lib.sh"
skip_without_mpi
trials=${1:-2} atOnce=${2:-10} most=0
if [ $# -gt 0 ]; then most=12; else export MESHC_TIMEOUT=4; fi
cat >m.mesh <<'MESH'
dim batch = 64, model = 512
model m(x[batch, model]) {
  param w[model] ~ normal(0.5)
  loss = mean(square(tanh(x * w)))
}
train m minimize loss with sgd(lr = 0.1)
MESH
"$meshc" m.mesh --mesh d=2,t=2 --layout batch:d,model:t -o m
head -c 2097152 /dev/zero >zeros
{ printf '\223NUMPY\1\0\166\0'; printf '%-117s\n' "{'descr': '<f4', 'fortran_order': False, 'shape': (1024, 512), }"; cat zeros; } >x.npy

# pidOf JOB RANK: the process of that rank of mpirun's process JOB.
pidOf() {
  local pid
  for pid in $(pgrep -P "$1"); do
    if tr '\0' '\n' <"/proc/$pid/environ" 2>/dev/null | grep -qx "OMPI_COMM_WORLD_RANK=$2"; then
      echo "$pid"
      return
    fi
  done
}
# stop JOB RANK...: stops them, together, as soon as they exist.
stop() {
  local job=$1 rank pid pids=()
  shift
  for rank; do
    until pid=$(pidOf "$job" "$rank") && [ -n "$pid" ] || ! kill -0 "$job" 2>/dev/null; do sleep 0.05; done
    [ -n "$pid" ] && pids+=("$pid")
  done
  [ ${#pids[@]} -gt 0 ] && kill -STOP "${pids[@]}"
}
# The first of these must name the stopped ranks. A warning that the run has not
# started names nobody: it comes if the machine is slow.
blames='no progress\|not come to\|error:'
# trial NUMBER KIND: writes "ok SECONDS" or the failure to NUMBER.result.
trial() {
  local number=$1 kind=$2 one=$((RANDOM % 4)) two began job ranks said
  two=$(((one + 1 + RANDOM % 3) % 4))
  local run=(./m train --data x=x.npy --threads 1 --steps 1000000000 --log "$number.log")
  # The last rank stops mpirun: no rank can start, and mpirun passes on no messages.
  [ "$kind" != late ] || run=(sh -c "[ \$OMPI_COMM_WORLD_RANK != 3 ] || kill -STOP \$PPID; exec ${run[*]} 2>>$number.txt")
  : >"$number.txt"
  mpirun -n 4 "${run[@]}" >>"$number.txt" 2>&1 </dev/null &
  job=$!
  if [ "$kind" = start ]; then
    sleep "0.$((RANDOM % 10))"
  elif [ "$kind" = late ]; then
    until grep -aq "not started" "$number.txt" || ! kill -0 $job 2>/dev/null; do sleep 0.1; done
  else
    until [ -s "$number.log" ] || ! kill -0 $job 2>/dev/null; do sleep 0.1; done
    sleep "0.$((RANDOM % 10))"
  fi
  ranks=$one
  case $kind in
  asleep) # `one` is stopped while it sleeps, because `two` keeps it waiting
    stop $job $two
    sleep 0.3
    stop $job $one
    kill -CONT "$(pidOf $job $two)"
    ;;
  several)
    stop $job $one $two
    ranks="($one, $two|$two, $one)"
    ;;
  *) stop $job $one ;;
  esac
  began=$(date +%s%N)
  until grep -aq "$blames" "$number.txt" || ! kill -0 $job 2>/dev/null; do sleep 0.1; done
  said=$((($(date +%s%N) - began) / 1000000))
  if grep -am1 "$blames" "$number.txt" |
    grep -Eq "warning: ranks? $ranks (has|have) (made no progress|not come to)"; then
    echo "ok $said" >"$number.result"
  else
    { echo "$kind: wanted rank $ranks to be named first:"; head -c 2000 "$number.txt"; } >"$number.result"
  fi
  local code=0
  if [ $most = 0 ] && [ "$kind" != late ]; then
    wait $job || code=$?
    [ $code != 0 ] || echo "$kind: ended with 0" >>"$number.result"
  else
    kill -KILL $(pgrep -P $job) $job 2>/dev/null || true
    wait $job 2>/dev/null || true
  fi
}
count=0
for ((i = 0; i < trials; ++i)); do
  for kind in start late run several asleep; do
    count=$((count + 1))
    trial $count $kind &
    [ $((count % atOnce)) != 0 ] || wait
  done
done
wait
slowest=0
for ((i = 1; i <= count; ++i)); do
  read -r word said <"$i.result"
  [ "$word" = ok ] && [ "$(wc -l <"$i.result")" = 1 ] || { cat "$i.result" >&2; fail "trial $i"; }
  [ "$said" -le "$slowest" ] || slowest=$said
done
[ $most = 0 ] || [ $slowest -le $((most * 1000)) ] || fail "a rank was named after $slowest ms only"
[ $most = 0 ] || find /dev/shm -name 'meshc-start-*' -newer m.mesh -delete
echo "$count trials, all stopped ranks named, the slowest after $slowest ms"
