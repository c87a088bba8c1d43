#!/usr/bin/env bash
# Two layers of GPT-2 124M, of full width and with its vocabulary (50,304 of it, which two ranks can share), train as in
# PyTorch, on one rank, with tensor parallelism, and with data and tensor parallelism: the losses of four steps of AdamW
# within 1e-5, each gradient and the update of each parameter in the first step within 1e-4. Gradients differ by 3e-6,
# updates by 3e-5, which is the rounding of gains near 1. PyTorch's losses, and sketches of its gradients and updates
# (CompareStep.cpp), are those of accuracy/gpt2/compare.py losses and compare.py step, from the checkpoint of
#   ./gpt2 train --data tokens.bin --token-type u16 --window-stride 64 --steps 0 --seed 1 --checkpoint FILE
# Needs 1.3 GB for two checkpoints.
. "$(dirname "$0")/lib.sh"
# 257 tokens, which are one batch of 4 windows: the squares modulo a prime.
for ((i = 0; i < 257; ++i)); do
  token=$((i * i * 7 % 50257))
  printf "\\x$(printf %x $((token % 256)))\\x$(printf %x $((token / 256)))"
done >tokens.bin
echo "11.033774 10.177918 9.449543 8.787890" | tr ' ' '\n' >pytorch.txt

train() { # STEPS OPTIONS...
  ./gpt2 train --data tokens.bin --token-type u16 --window-stride 64 --no-shuffle --seed 1 --threads 1 --quiet --steps "$@" </dev/null
}
# Whether the first step agrees with the sketches in FILE. The initial parameters are those of the first layout.
compare_step() { # FILE
  "$build/bin/compare_step" start.safetensors step.safetensors "$1" >step.txt
}
check() { # OPTIONS...
  "$meshc" "$root/test/accuracy/models/gpt2.mesh" --set layers=2 --set vocab=50304 "$@" -o gpt2
  train 4 --log log.jsonl --log-every 1
  sed -n 's/.*"loss":\([-+0-9.e]*\).*/\1/p' log.jsonl >losses.txt
  rm log.jsonl
  paste losses.txt pytorch.txt | awk '{ d = $1 / $2 - 1; if (d < -1e-5 || d > 1e-5) bad = 1 } END { exit bad || NR != 4 }' ||
    fail "'$*': losses $(tr '\n' ' ' <losses.txt), PyTorch has $(tr '\n' ' ' <pytorch.txt)"
  [ -e start.safetensors ] || train 0 --checkpoint start.safetensors
  rm -f step.safetensors
  train 1 --checkpoint step.safetensors
  compare_step "$models/gpt2-step.txt" || { cat step.txt >&2; fail "'$*': the first step is not PyTorch's"; }
  cat step.txt
}
check
check --mesh data=1,tensor=2
check --mesh data=2,tensor=2

# The comparison sees a thousandth of one tensor, and a tensor that has no line.
reject() { # PATTERN AWK-PROGRAM
  awk "$2" "$models/gpt2-step.txt" >other.txt
  ! compare_step other.txt || fail "'$1' is accepted"
  grep -q "$1" step.txt || { cat step.txt >&2; fail "compare_step does not say '$1'"; }
}
scale='{ for (i = 3; i <= NF; ++i) $i = sprintf("%.9e", $i * 1.001) } 1'
reject "the gradient of 'layers.block.biased_attention.wq\[0\]' differs by 1" "/wq\[0\] gradient/ $scale"
reject "the update of 'tied_embedding.table' differs by 1" "/table update/ $scale"
reject "elements of gradients and updates are compared" "!/^layer_norm.bias gradient/"
echo passed
