#!/usr/bin/env bash
#===- two_hosts.sh - a program of MPI on two hosts, both this one ----------===#
#
# Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===------------------------------------------------------------------------===#
#
# two_hosts.sh RANKS-A RANKS-B PROGRAM [ARGUMENT...]
#
# With CUT_SIGN=FILE in the environment, the cable is unplugged once PROGRAM has
# created FILE; then FILE.done is created.
#
# Runs PROGRAM under mpirun with its ranks on two hosts, which are two network
# namespaces of this machine joined by a virtual cable. Ends with PROGRAM's code;
# 77 if namespaces cannot be created (not root, or in a container without them).
#
set -eu
ranksA=$1 ranksB=$2
shift 2

skip() {
  echo "SKIPPED two_hosts: $1"
  exit 77
}
command -v ip > /dev/null || skip "'ip' (package iproute2) is not there"
command -v unshare > /dev/null || skip "'unshare' (package util-linux) is not there"

id=$$
hostA=meshc-$id-a hostB=meshc-$id-b
cableA=mva$id cableB=mvb$id
net=10.$((id / 256 % 200 + 20)).$((id % 256))
agent=$(mktemp)
cleanUp() {
  rm -f "$agent"
  ip netns del "$hostA" 2> /dev/null || true
  ip netns del "$hostB" 2> /dev/null || true
}
trap cleanUp EXIT

ip netns add "$hostA" 2> /dev/null || skip "network namespaces cannot be made here"
# For example in a chroot, where / is not a mount point.
ip netns exec "$hostA" true 2> /dev/null || skip "commands cannot be run in network namespaces here"
ip netns add "$hostB"
ip link add "$cableA" netns "$hostA" type veth peer name "$cableB" netns "$hostB" 2> /dev/null ||
  skip "virtual cables (veth) cannot be made here"
ip -n "$hostA" addr add "$net.1/24" dev "$cableA"
ip -n "$hostB" addr add "$net.2/24" dev "$cableB"
for link in lo "$cableA"; do ip -n "$hostA" link set "$link" up; done
for link in lo "$cableB"; do ip -n "$hostB" link set "$link" up; done

# What mpirun calls in place of ssh: HOST COMMAND. The hosts' names differ,
# because Open MPI identifies nodes by their names.
cat > "$agent" << EOF
#!/bin/sh
shift
exec ip netns exec $hostB unshare --uts sh -c "hostname $hostB; \$*"
EOF
chmod +x "$agent"

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1
code=0
if [ -n "${CUT_SIGN:-}" ]; then
  (
    until [ -e "$CUT_SIGN" ]; do sleep 0.05; done
    ip -n "$hostA" link set "$cableA" down
    touch "$CUT_SIGN.done"
  ) &
  watcher=$!
fi
ip netns exec "$hostA" unshare --uts sh -c "hostname $hostA; exec \"\$@\"" sh \
  mpirun --mca plm_rsh_agent "$agent" --mca btl tcp,self \
  --mca btl_tcp_if_include "$net.0/24" --mca oob_tcp_if_include "$net.0/24" \
  --mca pml ob1 -H "$net.1:$ranksA,$net.2:$ranksB" -n $((ranksA + ranksB)) "$@" || code=$?
# Without a cable, each host ends its own processes.
if [ -n "${CUT_SIGN:-}" ]; then
  kill "$watcher" 2> /dev/null || true
  [ -e "$CUT_SIGN.done" ] || echo "the cable was not unplugged"
  for _ in $(seq 60); do
    [ -n "$(ip netns pids "$hostA")$(ip netns pids "$hostB")" ] || break
    sleep 0.5
  done
  for pid in $(ip netns pids "$hostA") $(ip netns pids "$hostB"); do
    echo "LEFT: $(tr '\0' ' ' < "/proc/$pid/cmdline")"
  done
fi
exit $code
