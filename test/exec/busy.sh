#!/usr/bin/env bash
# busy.sh [STEPS [LOAD]]: trains on four ranks beside LOAD busy processes. No
# rank may be reported as stuck.
. "$(dirname "$0")/lib.sh"
skip_without_mpi
steps=${1:-200} load=${2:-4}
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
busy=()
trap 'kill "${busy[@]}" 2>/dev/null || true; rm -rf "$work"' EXIT
for _ in $(seq "$load"); do
  (while :; do :; done) &
  busy+=($!)
done
began=$(date +%s%N)
mpirun -n 4 ./m train --data x=x.npy --threads 1 --steps "$steps" --quiet --log log.txt >out.txt 2>&1 </dev/null ||
  { cat out.txt >&2; fail "the run ended early"; }
[ "$(wc -l <log.txt)" = "$steps" ] || fail "$(wc -l <log.txt) steps were done"
! grep -a "no progress\|not come to\|not started\|waited for one" out.txt || fail "a rank was taken for stuck"
echo "$steps steps on 4 ranks beside $load busy processes in $((($(date +%s%N) - began) / 1000000)) ms, load $(cut -d' ' -f1 /proc/loadavg): no rank was taken for stuck"
