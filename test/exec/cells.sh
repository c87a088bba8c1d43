#!/usr/bin/env bash
# Recurrent networks, as loops: from the weights that models/cells.py wrote, LSTM and
# GRU have the losses of PyTorch's cells in double precision, step by step (which
# needs the gradients of all weights), under every layout.
. "$(dirname "$0")/lib.sh"
# 4 sequences of 7 tokens.
{ printf '\0\0\x08\x02\0\0\0\x04\0\0\0\x07'
  printf '\x00\x03\x00\x03\x00\x03\x00\x05\x03\x01\x05\x03\x01\x05\x04\x03\x02\x01\x00\x05\x04\x03\x03\x03\x03\x03\x03\x03'; } >tokens.idx
{ printf '\0\0\x08\x02\0\0\0\x04\0\0\0\x07'
  printf '\x03\x00\x03\x00\x03\x00\x03\x03\x01\x05\x03\x01\x05\x03\x03\x02\x01\x00\x05\x04\x03\x03\x03\x03\x03\x03\x03\x03'; } >targets.idx
declare -A losses=(
  [lstm]="1.753362 1.642269 1.582304 1.525901 1.471876 1.421402"
  [gru]="2.293610 1.443326 1.333842 1.245278 1.175479 1.136772")

check() { # CELL OPTIONS...
  local cell=$1
  shift
  "$meshc" "$models/$cell.mesh" "$@" -o program
  ./program train --data tokens=tokens.idx --data targets=targets.idx --weights "$models/$cell.safetensors" \
    --no-shuffle --steps 6 --quiet --log log.jsonl --log-every 1 --checkpoint trained.safetensors --overwrite
  sed -n 's/.*"loss":\([-+0-9.e]*\).*/\1/p' log.jsonl | tr '\n' ' ' >got.txt
  rm log.jsonl
  echo "${losses[$cell]}" | paste -d ' ' - got.txt |
    awk '{ for (i = 1; i <= 6; ++i) { d = $i - $(i + 6); if (d < -2e-5 || d > 2e-5) exit 1 } exit NF != 12 }' ||
    fail "$cell $*: losses $(cat got.txt), PyTorch has ${losses[$cell]}"
}
for cell in lstm gru; do
  check $cell
  # Where no product leaves a loop, all sums have one order; so the parameters have the same bits.
  check $cell --recompute=full
  mv trained.safetensors looped.safetensors
  check $cell --unroll
  cmp trained.safetensors looped.safetensors || fail "$cell: other bits if unrolled"
  check $cell --mesh d=2 --layout batch:d
  check $cell --mesh t=2 --layout cell:t
  check $cell --mesh d=2,t=2 --layout batch:d,cell:t,out.vocab:t
  check $cell --gpu-kernels=emulated
done
