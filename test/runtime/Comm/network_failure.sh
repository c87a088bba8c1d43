#!/usr/bin/env bash
#===- network_failure.sh - the network between hosts fails -----------------===#
#
# Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===------------------------------------------------------------------------===#
#
# network_failure.sh COMM-FAILING
#
# Two ranks on each of two hosts reduce until the cable between the hosts is
# unplugged. An error says what was waited for, and mpirun and all ranks end.
#
set -u
export MESHC_TIMEOUT=3 CUT_AFTER=3
code=0
output=$(timeout 120 "$(dirname "$0")/two_hosts.sh" 2 2 "$1" endless 2>&1) || code=$?
echo "$output"
[ $code != 77 ] || exit 77
fail() {
  echo "FAILED: $1"
  exit 1
}
[ $code != 124 ] || fail "mpirun did not end"
[ $code != 0 ] || fail "mpirun ended with 0"
grep -aEq '^error: rank [0-3] failed: rank.* no progress for 3 s: rank [0-3] waits for rank [0-3].*, in all_reduce of 4000 bytes among 4 ranks at gpt.mesh:14:13' <<< "$output" ||
  fail "no error says what was waited for"
! grep -aq '^LEFT' <<< "$output" || fail "processes were left behind"
