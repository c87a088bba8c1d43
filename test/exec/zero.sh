#!/usr/bin/env bash
# ZeRO where layers are not a loop: losses of a training are those of one rank, while parameters are gathered again
# for the backward pass, in several collectives, which run beside other ops.
. "$(dirname "$0")/lib.sh"
text=/usr/share/common-licenses/GPL-3
cat >model.mesh <<'END'
dim batch = 32, seq = 64, model = 256, ffn = 1024, vocab = 256
fn block(x) {
  param up[model, ffn] ~ he(model)
  param down[ffn, model] ~ lecun(ffn)
  return x + dot(relu(dot(x, up, model)), down, ffn)
}
model m(tokens[batch, seq]: i32, targets[batch, seq]: i32) {
  param embed[vocab, model] ~ normal(0.1)
  h = block(block(block(block(gather(embed, tokens)))))
  loss = mean(cross_entropy(dot(h, embed, model), targets, vocab))
}
train m minimize loss with adamw(lr = 1e-3)
END
train() { # RANKS OPTIONS... -> the losses of 4 steps
  "$meshc" model.mesh "${@:2}" -o program
  rm -f log.jsonl
  ./program train --data $text --steps 4 --seed 3 --threads 1 --ranks $1 --quiet --log log.jsonl --log-every 1 </dev/null >/dev/null
  sed -n 's/.*"loss":\([^,]*\),.*/\1/p' log.jsonl
}
train 1 >one.txt
[ "$(wc -l <one.txt)" = 4 ] || fail "the log has $(cat log.jsonl)"
while read -r ranks gathers options; do
  got=$("$meshc" model.mesh ${options% --gpu-kernels=*} --stop-after=collectives | sed -n '/@train_step/,/@eval_step/p' | grep -c spmd.use || true)
  [ "$got" -ge $gathers ] || fail "$options: $got collectives gather parameters again, wanted $gathers or more"
  train $ranks $options >many.txt
  paste -d ' ' one.txt many.txt | awk '{ a = ($1 - $2) / $1; if (!(a < 1e-4 && a > -1e-4)) bad = 1 } END { exit bad || NR != 4 }' ||
    fail "$options: $(cat many.txt), one rank: $(cat one.txt)"
  echo "ok $options"
done <<'OPTIONS'
2 0 --mesh d=2 --layout batch:d
2 0 --mesh d=2 --layout batch:d,optimizer.model:d
4 0 --mesh d=4 --layout batch:d,optimizer.model:d,gradient.model:d
2 2 --mesh d=2 --layout batch:d,optimizer.model:d,gradient.model:d,parameter.model:d
4 2 --mesh d=4 --layout batch:d,optimizer.model:d,gradient.model:d,parameter.model:d
3 2 --mesh d=3 --layout batch:d,optimizer.model:d,gradient.model:d,parameter.model:d
2 2 --mesh d=2 --layout batch:d,optimizer.model:d,gradient.model:d,parameter.model:d --gpu-kernels=emulated
OPTIONS
echo passed
