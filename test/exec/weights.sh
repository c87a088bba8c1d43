#!/usr/bin/env bash
# Name maps of share/meshc/weights: what a model of stacked layers exports with them, a model
# of one block after the other reads, also on several ranks; and the losses are the same. They are also the losses of
# Hugging Face's models with the exported files, which published.py prints:
#   MESHC_EXPORTED=FOLDER test/exec/weights.sh && python3 test/exec/models/published.py FOLDER
. "$(dirname "$0")/lib.sh"
maps="$(dirname "$(dirname "$meshc")")/share/meshc/weights"
dims="dim batch = 2, seq = 8, memory = seq, model = 16, groups = 2, heads = 4, key = 4, ffn = 32, vocab = 32, layers = 3"
write() { # NAME LAYERS: a model whose layers are those statements
  cat >"$1.mesh" <<MESH
import nn
$dims
$block
model m(tokens[batch, seq]: i32, targets[batch, seq]: i32) {
  $first
  $2
  loss = mean(cross_entropy($last, targets, vocab))
}
train m minimize loss with sgd(lr = 0.5)
MESH
}
# Four examples of 8 tokens below 32, as bytes.
{ printf '\x93NUMPY\x01\x00\x76\x00'
  printf '%-117s\n' "{'descr': '|u1', 'fortran_order': False, 'shape': (4, 8), }"
  printf '%s' "ABCDEFGHIJKLMNOPQRSTUVWXYZHELLOM" | tr 'A-Z' '\001-\032'; } >t.npy
evaluate() { ./"$1" eval --data tokens=t.npy targets=t.npy --quiet --weights "${@:2}"; }
check() { # MAP [LOSS]: the loss of Hugging Face's model
  write stacked "for layers { x = block(x) }"
  write unrolled "x = block(block(block(x)))"
  "$meshc" stacked.mesh -o stacked
  "$meshc" unrolled.mesh -o unrolled
  "$meshc" unrolled.mesh --mesh d=2 --layout "heads:d,ffn:d" -o cut
  rm -f c.safetensors
  ./stacked train --data tokens=t.npy targets=t.npy --quiet --steps 6 --checkpoint c.safetensors || fail "$1: train"
  ./stacked export --checkpoint c.safetensors --weights-map "$maps/$1" --to out.safetensors || fail "$1: export"
  expected=$(evaluate stacked c.safetensors)
  echo "$1: $expected"
  [ -z "${MESHC_EXPORTED:-}" ] || cp out.safetensors "$MESHC_EXPORTED/$1.safetensors"
  echo "$expected ${2:-}" | awk '{ d = $2 - $5; exit !(NF == 4 || (NF == 5 && d < 1e-4 && d > -1e-4)) }' ||
    fail "$1: '$expected', but Hugging Face's model has $2"
  for program in stacked unrolled cut; do
    found=$(evaluate $program out.safetensors --weights-map "$maps/$1")
    # Ranks add in another order.
    echo "$found $expected" | awk '{ d = $2 - $6; exit !($1 == "loss" && NF == 8 && d < 2e-4 && d > -2e-4) }' ||
      fail "$1: $program has '$found', not '$expected'"
  done
}
first="x, table = nn.tied_embedding(tokens, vocab, model)
  x = nn.learned_positions(x, seq, model)"
last="nn.tied_output(nn.layer_norm(x, model), table, model)"
block="fn block(x) {
  x = x + nn.biased_attention(nn.layer_norm(x, model), model, heads, key, seq, memory, nn.causal(seq, memory))
  return x + nn.feed_forward(nn.layer_norm(x, model), model, ffn)
}"
check gpt2.map 2.6207876
# Queries and keys are the same third of a tensor, and no parameter has the second.
sed 's|(1/3 heads key)|(0/3 heads key)|' "$maps/gpt2.map" >twice.map
for program in stacked cut; do
  expect 4 "tensor 'h.0.attn.c_attn.weight', F32 \[16, 48\], is read only in part: no parameter has 256 of its 768 elements, at \
\[0 to 15, 16 to 31\]; '[a-z_.]*wq' and '[a-z_.]*wk' read the same part; correct the axes of its lines" \
    ./$program eval --data tokens=t.npy targets=t.npy --quiet --weights out.safetensors --weights-map twice.map
done
echo 'ignore h\.\d+\.attn\.c_attn\..*' >>twice.map
evaluate stacked out.safetensors --weights-map twice.map >twice.txt || fail "'ignore' does not permit unread parts"
dims=${dims/heads = 4/heads = 2}
first="x = nn.embedding(tokens, vocab, model)"
last="nn.linear(nn.rms_norm(x, model), model, vocab)"
block="fn block(x) {
  x = x + nn.grouped_attention(nn.rms_norm(x, model), model, groups, heads, key, seq, memory, nn.causal(seq, memory), positions = nn.rotary)
  return x + nn.gated_feed_forward(nn.rms_norm(x, model), model, ffn)
}"
check llama-hf.map 2.5229080
check llama-meta.map
echo passed
