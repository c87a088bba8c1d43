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
# The cable between two hosts of two ranks each is unplugged. mpirun and all
# ranks end, and no process is left.
#
set -u
here=$(dirname "$0")
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
export MESHC_TIMEOUT=3 CUT_SIGN=$directory/sign
failed=0

# expect HOW PATTERN: one line of what the program prints is like PATTERN.
expect() {
  local output code=0 problem=
  rm -f "$CUT_SIGN" "$CUT_SIGN.done"
  output=$(timeout 120 "$here/two_hosts.sh" 2 2 "$program" "$1" "$CUT_SIGN" 2>&1) || code=$?
  [ $code != 77 ] || { echo "$output"; exit 77; }
  grep -aEq "$2" <<< "$output" || problem="no line like: $2"
  ! grep -aq '^LEFT' <<< "$output" || problem="processes were left behind"
  ! grep -aq 'was not unplugged' <<< "$output" || problem="the run ended before the cable was unplugged"
  [ $code != 0 ] || problem="mpirun ended with 0"
  [ $code != 124 ] || problem="mpirun did not end"
  [ -z "$problem" ] || failed=1
  echo "$1: ${problem:+FAILED: }${problem:-ok}, code $code"
  echo "$output"
}

program=$1
# While the ranks reduce: an error says what was waited for.
expect endless '^error: rank [0-3] failed: rank.* no progress for 3 s: rank [0-3] waits for rank [0-3].*, in all_reduce of 4000 bytes among 4 ranks at gpt.mesh:14:13'
# Before the first message between two of the ranks: Open MPI opens connections
# as they are needed, and ends a rank that cannot connect.
expect connect 'Unable to connect to the peer'
exit $failed
