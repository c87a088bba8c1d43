#!/usr/bin/env bash
# A program says before its first step that memory is too little, with true
# figures, that the processor lacks a feature that it was compiled for, or that a
# library is missing.
. "$(dirname "$0")/lib.sh"
cat >model.mesh <<'MESH'
dim batch = 10, wide = 2000, class = 10
model m(x[batch, wide], labels[batch]: i32) {
  param w[wide, class] ~ zeros
  param v[wide] ~ zeros
  loss = mean(cross_entropy(dot(x * v, w, wide), labels, class))
}
train m minimize loss with adamw(lr = 1e-3)
MESH
# 1,000 examples as NPY, of which few steps read a few.
write_npy() { # FILE TYPE SHAPE BYTES
  local header="{'descr': '$2', 'fortran_order': False, 'shape': ($3), }"
  printf '\x93NUMPY\x01\x00\x76\x00%-117s\n' "$header" >"$1"
  head -c "$4" /dev/zero >>"$1"
}
write_npy x.npy '<f4' '1000, 2000' 8000000
write_npy labels.npy '<i4' '1000,' 4000
data="--data x=x.npy --data labels=labels.npy"

# Of a data file counts what was read, so that no part is below zero.
"$meshc" model.mesh -o model
./model train $data --steps 2 --threads 1 --quiet --memory >memory.txt
grep -Eq '^memory: peak [0-9]+ bytes = arena [0-9]+ \+ data [0-9]+ \+ fixed [0-9]+$' memory.txt ||
  fail "a part of the memory is missing or negative: $(cat memory.txt)"
awk '{ exit $3 != $7 + $10 + $13 }' memory.txt || fail "the parts do not add up: $(cat memory.txt)"

# A limit of the process: two ranks of 80 MB do not fit into it, and the error
# has the need and the limit.
"$meshc" model.mesh --set wide=1000000 --mesh d=2 --layout batch:d -o large
write_npy x1.npy '<f4' '10, 1000000' 40000000
write_npy labels1.npy '<i4' '10,' 40
expect 1 'the 2 ranks of this process need [0-9]+ bytes \([0-9.]+ MiB\) each, libraries another 33554432 bytes .*, and [0-9]+ bytes .* within RLIMIT_AS .*307200000 bytes' \
  bash -c 'ulimit -v 300000; exec "$@"' limited ./large train --data x=x1.npy --data labels=labels1.npy --steps 1 --threads 1

# Data is in memory before the arenas: with 400 MB of it two arenas of 216 MB no
# longer fit. A mapped file counts towards the limit, as unpacked data does.
write_npy x2.npy '<f4' '100, 1000000' 0
truncate -s 400000128 x2.npy
write_npy labels2.npy '<i4' '100,' 400
expect 1 '^m: error: too little memory: the 2 ranks of this process need' \
  bash -c 'ulimit -v 700000; exec "$@"' limited ./large train --data x=x2.npy --data labels=labels2.npy --steps 1 --threads 1
# So are the copies of the state: of 132 MB for each rank, or once.
expect 1 "^m: error: too little memory: the 2 ranks .* each, .*leave out '--on-nonfinite skip', which takes 132000004 bytes" \
  bash -c 'ulimit -v 720000; exec "$@"' limited ./large train --data x=x1.npy --data labels=labels1.npy --steps 1 --threads 1 \
  --on-nonfinite skip
expect 1 "^m: error: too little memory: the 2 ranks .* each and rank 0 another 132000004 bytes .*give '--save sync'" \
  bash -c 'ulimit -v 600000; exec "$@"' limited ./large train --data x=x1.npy --data labels=labels1.npy --steps 1 --threads 1 \
  --save-every 1 --checkpoint c

# Too little address space for libraries, threads, files or MPI is too little
# memory, whichever of them meets the limit. What is enough once is enough above,
# too: threads do not take address space from each other.
"$meshc" model.mesh --mesh d=2 --layout batch:d -o two
runs=0
starved() { # LIMITS COMMAND...: until three limits are enough
  local limits=$1 limit code enough=0
  shift
  for limit in $limits; do
    code=0
    "$@" bash -c "ulimit -v $limit; exec ./two train $data --steps 1 --threads 1 --quiet" >output.txt 2>&1 </dev/null || code=$?
    if [ $code = 0 ]; then
      enough=$((enough + 1))
      [ $enough -lt 3 ] || return 0
      continue
    fi
    [ $enough = 0 ] && [ $code = 1 ] && grep -q "^m: error: .*too little memory: .* [0-9]* bytes .*are left within RLIMIT_AS" output.txt ||
      { cat output.txt >&2; fail "'$*' with ulimit -v $limit ended with $code"; }
    runs=$((runs + 1))
  done
  fail "'$*' never starts"
}
starved "$(seq 10000 10000 400000)"
[ $runs -gt 4 ] || fail "only $runs limits were too low"
! has_mpi || starved "$(seq 20000 30000 600000)" mpirun -n 2

# No processor of today has all of bdver4: the error names the first that is
# missing, and 'info' needs none.
"$meshc" model.mesh -o alien --march=bdver4
expect 8 "compiled for processors with '(xop|fma4|tbm|sse4a)', which this machine's processor does not have" \
  ./alien train $data --steps 1
expect 0 "model m" ./alien info

# A library that cannot be opened: the error names it, what is wrong with it or
# with one that it needs, and its package, and 'info' needs none. An empty file
# takes the place of the library.
for library in libdnnl.so.2:libdnnl2 libgomp.so.1:libgomp1; do
  file=${library%:*} package=${library#*:}
  mkdir "without-$package"
  : >"without-$package/$file"
  broken="LD_LIBRARY_PATH=$PWD/without-$package"
  expect 8 "^m: error: the library 'libdnnl\.so\.[0-9]*', needed for [a-z ]*, cannot be opened: .*/$file: file too short; install it \(Debian's package 'libdnnl2'\)" \
    env "$broken" ./model train $data --steps 1
  expect 0 "model m" env "$broken" ./model info
done

# Under mpirun, rank 0 prints the error that all ranks have. A rank with a problem
# of its own prints it itself, although no rank has met another yet.
if has_mpi; then
  "$meshc" model.mesh --mesh d=2 --layout batch:d -o two
  broken="LD_LIBRARY_PATH=$PWD/without-libdnnl2:${LD_LIBRARY_PATH:-}"
  expect 8 "^m: error: the library 'libdnnl" mpirun -n 2 env "$broken" ./two train $data --steps 1
  expect 8 "^m: error: rank 1 failed: the library 'libdnnl" \
    mpirun -n 1 ./two train $data --steps 1 : -n 1 env "$broken" ./two train $data --steps 1
  expect 2 "^m: error: rank 1 failed: .*'--stops'" \
    mpirun -n 1 ./two train $data --steps 1 : -n 1 ./two train $data --stops 1
fi
skip_without_mpi
