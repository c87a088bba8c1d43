#!/usr/bin/env bash
#===- mpi_failures.sh - failures under mpirun ------------------------------===#
#
# Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===------------------------------------------------------------------------===#
#
# mpi_failures.sh COMM-FAILING [LAUNCHER...]
#
# Each failure ends the job soon, with exactly one message of the runtime, which
# names the rank and the cause. LAUNCHER is 'mpirun -n 4' unless given.
#
set -u
program=$1
shift
[ $# -gt 0 ] || set -- mpirun -n 4
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1
failed=0

# expect HOW PATTERN
expect() {
  local output code=0 messages
  output=$(timeout 60 "$@" 2>&1) || code=$?
  [ $code != 77 ] || { echo "$output"; exit 77; }
  messages=$(grep -a '^error:' <<< "$output")
  if [ $code = 124 ] || [ $code = 0 ] || [ "$(grep -c . <<< "$messages")" != 1 ] ||
    ! grep -Eq "$pattern" <<< "$messages"; then
    echo "FAILED ($how): code $code, wanted one message like: $pattern"
    echo "$output"
    failed=1
  else
    echo "$how: $messages"
  fi
}

# Like expect, but mpirun may end the job before we have said anything.
expectAtMostOne() {
  local output code=0
  output=$(timeout 60 "$@" 2>&1) || code=$?
  if [ $code = 124 ] || [ $code = 0 ] || [ "$(grep -ac '^error:' <<< "$output")" -gt 1 ] ||
    grep -a '^error:' <<< "$output" | grep -Evq "$pattern"; then
    echo "FAILED ($how): code $code, wanted at most one message, like: $pattern"
    echo "$output"
    failed=1
  else
    echo "$how: $(grep -a '^error:' <<< "$output")"
  fi
}

how=throw pattern="^error: rank 1 failed: no file 'x.idx'$"
expect "$@" "$program" throw
if [ "$1" = mpirun ]; then
  how=kill pattern='rank 1 failed: the process of rank 1 ended while rank [023] waited for it in .*gpt.mesh:14:13'
  expectAtMostOne "$@" "$program" kill
fi
how=apart pattern='ranks are in different collectives: rank [0-3] in .*gpt.mesh:(14:13|20:3)'
expect "$@" "$program" apart
export MESHC_TIMEOUT=0.5
how=circle pattern='^error: rank [0-3] failed: ranks have waited for one another for 0.5 s: rank [0-3] waits for rank [0-3](, rank [0-3] for rank [0-3]){2}, in all_reduce of 4000 bytes among 2 ranks at gpt.mesh:20:3 '
expect "$@" "$program" circle
pattern='^error: rank 1 failed: rank 1 has made no progress for 0.5 s: rank [023] waits for rank .*, in all_reduce of 4000 bytes among [24] ranks at gpt.mesh:14:13 .*$'
for how in sleep stop; do
  expect "$@" "$program" $how
done
exit $failed
