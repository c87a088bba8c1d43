#!/usr/bin/env bash
# Two layers of GPT-2 124M, of full width and with its vocabulary (50,304 of it, which two ranks can share), have
# PyTorch's losses in four steps of AdamW, on one rank, with tensor parallelism, and with data and tensor parallelism. The
# losses are those of accuracy/gpt2/compare.py, from the checkpoint of
#   ./gpt2 train --data tokens.bin --token-type u16 --window-stride 64 --steps 0 --seed 1 --checkpoint FILE
. "$(dirname "$0")/lib.sh"
# 257 tokens, which are one batch of 4 windows: the squares modulo a prime.
for ((i = 0; i < 257; ++i)); do
  token=$((i * i * 7 % 50257))
  printf "\\x$(printf %x $((token % 256)))\\x$(printf %x $((token / 256)))"
done >tokens.bin
echo "11.033774 10.177918 9.449543 8.787890" | tr ' ' '\n' >pytorch.txt

check() { # OPTIONS...
  "$meshc" "$root/test/accuracy/models/gpt2.mesh" --set layers=2 --set vocab=50304 "$@" -o gpt2
  ./gpt2 train --data tokens.bin --token-type u16 --window-stride 64 --no-shuffle --steps 4 --seed 1 --threads 1 \
    --quiet --log log.jsonl --log-every 1 </dev/null
  sed -n 's/.*"loss":\([-+0-9.e]*\).*/\1/p' log.jsonl >losses.txt
  rm log.jsonl
  paste losses.txt pytorch.txt | awk '{ d = $1 / $2 - 1; if (d < -1e-5 || d > 1e-5) bad = 1 } END { exit bad || NR != 4 }' ||
    fail "'$*': losses $(tr '\n' ' ' <losses.txt), PyTorch has $(tr '\n' ' ' <pytorch.txt)"
}
check
check --mesh data=1,tensor=2
check --mesh data=2,tensor=2
echo passed
