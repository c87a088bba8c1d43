#!/usr/bin/env bash
# Accumulation over micro-batches: losses, parameters and evaluations are those of the
# whole batch under every layout, and the arena is smaller. (../optimizers.sh compares with PyTorch.)
. "$(dirname "$0")/lib.sh"
text=/usr/share/common-licenses/GPL-3
cat >model.mesh <<'END'
let parts = 1, rate = 0
dim batch = 16, seq = 16, model = 32, ffn = 64, vocab = 256, layers = 3
fn block(x) {
  param up[model, ffn] ~ he(model)
  param down[ffn, model] ~ lecun(ffn)
  return x + dropout(dot(relu(dot(x, up, model)), down, ffn), rate)
}
model m(tokens[batch, seq]: i32, targets[batch, seq]: i32) {
  param embed[vocab, model] ~ normal(0.5)
  h = gather(embed, tokens)
  for layers { h = block(h) }
  logits = dot(h, embed, model)
  loss = mean(cross_entropy(logits, targets, vocab))
  metric accuracy = mean(argmax(logits, vocab) == targets)
}
train m minimize loss with adamw(lr = 1e-2) accumulate parts
END
head -c 1000 $text >part.txt
train() { # OPTIONS... -> metrics of 5 steps, and of an evaluation of 62 windows
  "$meshc" model.mesh "$@" -o program
  rm -f log.jsonl
  ./program train --data $text --eval-data part.txt --steps 5 --seed 3 --threads 1 --quiet --log log.jsonl --log-every 1 \
    --checkpoint checkpoint.safetensors --overwrite </dev/null >/dev/null
  sed -n 's/.*"loss":\([^,]*\),"accuracy":\([^,}]*\).*/\1 \2/p; s/.*"eval_loss":\([^,]*\),"eval_accuracy":\([^,}]*\).*/\1 \2/p' log.jsonl
}
train >whole.txt
[ "$(wc -l <whole.txt)" = 6 ] || fail "the log has $(cat log.jsonl)"
while read -r options; do
  train --set parts=4 $options >parts.txt
  paste -d ' ' whole.txt parts.txt | awk '
    NF != 4 { bad = 1 }
    { a = ($1 - $3) / $1; b = $2 - $4; if (a > 1e-4 || a < -1e-4 || b > 5e-3 || b < -5e-3) bad = 1 }
    END { exit bad || NR != 6 }' || fail "4 micro-batches $options: $(cat parts.txt), the whole batch: $(cat whole.txt)"
  echo "ok $options"
done <<'OPTIONS'

--gpu-kernels=emulated
--mesh d=2 --layout batch:d
--mesh d=4 --layout batch:d,optimizer.model:d
--mesh d=2,t=2 --layout batch:d,ffn:t,vocab:t
--mesh d=2 --layout batch:d,parameter.model:d,gradient.model:d,optimizer.model:d
--mesh p=2,d=2 --layout batch:(p,d),gradient.model:d,optimizer.model:d
--gpu-kernels=emulated --mesh d=2 --layout batch:d,gradient.model:d,optimizer.model:d
OPTIONS

# Dropout: the same numbers under a layout, and where the loop over layers is unrolled.
train --set parts=4,rate=0.5 >looped.txt
mv checkpoint.safetensors looped.safetensors
train --set parts=4,rate=0.5 --unroll >unrolled.txt
paste -d ' ' looped.txt unrolled.txt | awk '{ a = ($1 - $3) / $1; if (a > 1e-5 || a < -1e-5) exit 1 }' ||
  fail "dropout: $(cat looped.txt) looped, $(cat unrolled.txt) unrolled"
train --set parts=4,rate=0.5 --mesh d=2 --layout batch:d >cut.txt
paste -d ' ' looped.txt cut.txt | awk '{ a = ($1 - $3) / $1; if (a > 1e-4 || a < -1e-4) exit 1 }' ||
  fail "dropout: $(cat looped.txt) on one rank, $(cat cut.txt) on two"

arena() { # OPTIONS... -> bytes
  "$meshc" model.mesh "$@" -o program
  ./program info | sed -n 's/^arena \([0-9]*\) bytes.*/\1/p'
}
whole=$(arena --set batch=64)
parts=$(arena --set batch=64,parts=8)
[ "$parts" -lt $((whole / 2)) ] || fail "an arena of $parts bytes with 8 micro-batches, $whole without"
echo "arena: $parts bytes with 8 micro-batches, $whole without"

# Generation goes on with as many texts at once as the whole batch has, and with the same texts.
cat >gpt.mesh <<'END'
import nn
let parts = 1
dim batch = 4, seq = 16, memory = seq, model = 16, heads = 4, key = 4, vocab = 256, layers = 2
model gpt(tokens[batch, seq]: i32, targets[batch, seq]: i32) {
  x, table = nn.tied_embedding(tokens, vocab, model, deviation = 0.3)
  for layers {
    x = x + nn.attention(nn.rms_norm(x, model), model, heads, key, seq, memory, nn.causal(seq, memory), positions = nn.rotary)
  }
  h = broadcast(0.5, batch, model)
  for seq {
    h = tanh(x + 0.5 * h)
    all = h
  }
  logits = nn.tied_output(all, table, model)
  loss = mean(cross_entropy(logits, targets, vocab))
}
train gpt minimize loss with adamw(lr = 1e-2) accumulate parts
generate gpt from tokens with logits over vocab along seq
END
generate() { ./program generate --weights gpt.safetensors --threads 1 --quiet "$@" </dev/null; }
several="--prompt the --prompt copyright --prompt This_License --prompt a"
for state in recurrent attention; do
  # Without the loop over positions, prompts are computed in blocks.
  [ $state = recurrent ] || { sed -i '/^  h = broadcast/,/^  }/d; s/(all, table/(x, table/' gpt.mesh; }
  "$meshc" gpt.mesh -o program
  ./program train --data $text --steps 30 --threads 1 --quiet --checkpoint gpt.safetensors --overwrite </dev/null >/dev/null
  generate $several --seed 5 >texts.txt
  generate --prompt "copyright" --beams 4 >beams.txt
  while read -r options; do
    "$meshc" gpt.mesh $options -o program
    generate $several --seed 5 | cmp - texts.txt || fail "$state: with '$options' other texts than '$(cat texts.txt)'"
    generate --prompt "copyright" --beams 4 | cmp - beams.txt || fail "$state: with '$options' another search than '$(cat beams.txt)'"
    echo "ok $state $options"
  done <<'OPTIONS'
--set parts=2
--set parts=4 --mesh t=2 --layout heads:t,vocab:t
--set parts=2 --mesh d=2 --layout batch:d
--set parts=2 --mesh d=4,t=2 --layout batch:d,heads:t
--set parts=2 --mesh d=2 --layout memory:d,parameter.model:d,gradient.model:d,optimizer.model:d
OPTIONS
done
expect 2 "there are 5 prompts, and the program generates 4 texts at once" ./program generate --weights gpt.safetensors $several --prompt b
expect 3 "a batch of 1 examples cannot be divided into 2" "$meshc" gpt.mesh --set parts=2 --set batch=1 -o program
echo passed
