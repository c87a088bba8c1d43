#!/usr/bin/env bash
# Slurm's own daemons, slurmctld and slurmd, on this machine: the job script of
# docs/running.md, interrupted and queued again, ends with the checkpoint and the
# log of an undisturbed run; srun without PMIx is an error that says what to do.
. "$(dirname "$0")/lib.sh"
for program in slurmctld slurmd srun sbatch; do
  [ -n "$(command -v $program || command -v /usr/sbin/$program)" ] || skip "no $program (Debian's slurmctld, slurmd, slurm-client)"
done
[ "$(id -u)" = 0 ] || skip "the daemons start jobs as root only"
skip_without_mpi
export PATH=$PATH:/usr/sbin SLURM_CONF=$work/slurm/slurm.conf
export OMPI_MCA_btl_vader_single_copy_mechanism=none
host=$(hostname -s)

# free_port: a TCP port that nobody listens to.
free_port() {
  local port
  for _ in $(seq 50); do
    port=$((20000 + RANDOM % 10000))
    (exec 3<>/dev/tcp/127.0.0.1/$port) 2>/dev/null || { echo $port; return; }
  done
}
mkdir -p slurm/state slurm/spool
cat >slurm/slurm.conf <<CONF
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$(free_port)
SlurmdPort=$(free_port)
AuthType=auth/none
CredType=cred/none
SlurmUser=root
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/linear
SwitchType=switch/none
MpiDefault=none
StateSaveLocation=$work/slurm/state
SlurmdSpoolDir=$work/slurm/spool
SlurmctldPidFile=$work/slurm/slurmctld.pid
SlurmdPidFile=$work/slurm/slurmd.pid
SlurmctldParameters=idle_on_node_suspend
SlurmdParameters=config_overrides
ReturnToService=2
KillWait=20
NodeName=$host NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN
PartitionName=test Nodes=ALL Default=YES State=UP
CONF
slurmctld -D -i >slurm/slurmctld.log 2>&1 &
controller=$!
slurmd -D >slurm/slurmd.log 2>&1 &
daemon=$!
trap 'scancel --user=root >/dev/null 2>&1; kill $controller $daemon 2>/dev/null; wait; rm -rf "$work"' EXIT
for _ in $(seq 100); do
  [ "$(sinfo -h -o %T 2>/dev/null)" != idle ] || break
  sleep 0.1
done
if [ "$(sinfo -h -o %T 2>/dev/null)" != idle ]; then
  tail -n 5 slurm/*.log
  skip "slurmctld and slurmd do not start on this machine"
fi

cat >gpt.mesh <<'MESH'
dim batch = 64, seq = 16, vocab = 256, model = 96
model gpt(tokens[batch, seq]: i32, targets[batch, seq]: i32) {
  param e[vocab, model] ~ normal(0.5)
  param w[model, vocab] ~ normal(0.1)
  loss = mean(cross_entropy(dot(gather(e, tokens, vocab), w, model), targets, vocab))
}
train gpt minimize loss with adam(lr = 0.001)
MESH
"$meshc" gpt.mesh --mesh d=2 --layout batch:d -o gpt
seq 20000 >text
"$build/bin/meshc-tokens" encode --tokenizer bytes -o train.tokens text >/dev/null

# Without PMIx, no task starts a run, and one of them says why.
train="./gpt train --data train.tokens --steps 3 --quiet"
for kind in none pmi2; do
  expect 6 "^gpt: error: srun started 2 processes with.*; start them with 'srun --mpi=pmix'" \
    srun --mpi=$kind -n 2 $train --checkpoint c --log l
  [ "$(grep -c "error: srun started" output.txt)" = 1 ] || { cat output.txt >&2; fail "--mpi=$kind is told more than once"; }
  [ ! -e c ] && [ ! -e l ] || fail "files were written with --mpi=$kind"
done
expect 0 "^gpt: mesh d=2, 2 ranks \(shm\), 1 thread each" srun --mpi=pmix -n 2 ./gpt train --data train.tokens --steps 3
expect 0 "^gpt: mesh d=2, 2 ranks \(threads of this process\)" srun -n 1 ./gpt train --data train.tokens --steps 3
expect 0 "^gpt: mesh d=2, 2 ranks \(threads of this process\)" srun --mpi=pmix -n 1 ./gpt train --data train.tokens --steps 3
srun --mpi=none -n 2 sh -c "exec $train --comm threads --checkpoint own\$SLURM_PROCID" || fail "tasks are no runs of their own"
cmp own0 own1 || fail "runs of their own differ"
# A program that the batch script starts itself is one run, of threads.
sbatch -n 2 --wait --output=direct.out --wrap "$train --checkpoint direct" || { cat direct.out >&2; fail "a batch script is no run"; }
cmp direct own0 || fail "a run in a batch script differs"

# The job script of the documentation, with fewer steps.
steps=2000
sed -n '/^    #!\/bin\/bash$/,/^$/ s/^    //p' "$root/docs/running.md" |
  sed "s/--steps 100000/--steps $steps/; s/--save-every 1000/--save-every 100/; s/--log gpt.jsonl/& --log-every 1/" >job.sh
[ "$(grep -c -- "--steps $steps\|--save-every 100 \|^#SBATCH.*--requeue\|--log-every" job.sh)" -ge 3 ] ||
  { cat job.sh >&2; fail "docs/running.md has no job script"; }
"$PWD/gpt" train --data train.tokens --threads 1 --steps $steps --quiet --checkpoint whole --log whole.jsonl --log-every 1
# What the log says of a step, without times.
steps_of() { sed 's/,"examples_per_second".*//' "$1"; }

# requeued WAY COMMAND...: the job is interrupted by `COMMAND JOB` once it has saved.
requeued() {
  local way=$1 job
  shift
  mkdir "$way"
  job=$(cd "$way" && ln -s ../gpt ../train.tokens . && sbatch --parsable --ntasks=2 --cpus-per-task=1 ../job.sh)
  for _ in $(seq 600); do
    [ ! -e "$way/gpt.safetensors" ] || break
    sleep 0.02
  done
  "$@" "$job" || fail "$way: '$*' failed"
  for _ in $(seq 600); do # the job would wait for two minutes
    [ "$(squeue -h -j "$job" -o '%T %r')" != "PENDING BeginTime" ] || break
    sleep 0.05
  done
  # slurmd refuses to start the job in the second in which it ended: "Job credential revoked".
  sleep 2
  scontrol update "JobId=$job" StartTime=now || { cat "$way/gpt.out" >&2; fail "$way: the job was not queued again"; }
  for _ in $(seq 2400); do
    [ -n "$(squeue -h -j "$job" -o %T 2>/dev/null)" ] || break
    [ "$(squeue -h -j "$job" -o %T)" != COMPLETED ] || break
    sleep 0.05
  done
  [ "$(grep -c "^gpt: mesh" "$way/gpt.out")" = 2 ] || { cat "$way/gpt.out" >&2; fail "$way: the run did not start twice"; }
  grep -q "^gpt: stopped by SIGTERM after step [0-9]*; continue with" "$way/gpt.out" ||
    { cat "$way/gpt.out" >&2; fail "$way: the first part did not end with a checkpoint"; }
  cmp whole "$way/gpt.safetensors" || { cat "$way/gpt.out" >&2; fail "$way: another checkpoint than that of an undisturbed run"; }
  steps_of "$way/gpt.jsonl" >log.txt
  steps_of whole.jsonl | cmp - log.txt || fail "$way: another log than that of an undisturbed run"
  ls "$way" | grep -v '^gpt$\|^gpt\.\(out\|jsonl\|safetensors\)$\|^train.tokens$' && fail "$way: other files were left"
  echo "ok $way: $(grep -o "stopped by SIGTERM after step [0-9]*" "$way/gpt.out") of $steps, then continued"
}
requeued preempted scontrol requeue
requeued out-of-time scancel --signal=TERM
