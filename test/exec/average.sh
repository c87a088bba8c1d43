#!/usr/bin/env bash
# Moving averages of parameters: evaluations during training have the losses of PyTorch's averaged model on one device
# and under layouts; a resumed run continues them bit for bit; a step that f16 skips does not change them; eval, generate
# and export read them or the last parameters. The table is a part of the output of models/optimizers.py.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/losses.sh"
data=(--data x=x.idx --data y=y.idx)
cat >table.txt <<'END'
1.401007 1.197668 1.155488 0.950838 0.710342 0.874769 0.989737 0.960672 sgd(lr = 0.5) average 0.8
1.012308 0.962782 0.888503 0.799523 0.698515 0.584933 0.467934 0.358462 adamw(lr = 0.05) clip 0.5 accumulate 2 average minimum(0.9, cast(step(), f32))
0.986309 0.654231 0.466921 0.343366 0.244674 0.188840 0.144819 0.108468 adamw(lr = 0.05, weight_decay = 0.2) set *bias -> (weight_decay = 0, lr = 0.2) average warm(0.5)
END
cat >warm.mesh <<'END'
fn warm(decay) {
  t = cast(step(), f32)
  return minimum(decay, (1 + t) / (10 + t))
}
END
write_model() { # TRAINING
  grep -v '^train ' "$models/optimizers.mesh" >model.mesh
  [[ $1 != *'warm('* ]] || cat warm.mesh >>model.mesh
  echo "train m minimize loss with $1" >>model.mesh
}
train() { # OPTIONS OF TRAIN...
  ./program train "${data[@]}" --eval-data x=x.idx --eval-data y=y.idx --eval-every 1 --no-shuffle --quiet "$@" >/dev/null
}
eval_losses() { # LOG -> the losses of its evaluations
  sed -n 's/.*"eval_loss":\([-+0-9.e]*\).*/\1/p' "$1" | tr '\n' ' '
}
check() { # LOSSES TRAINING OPTIONS...
  local wanted=$1 training=$2
  shift 2
  write_model "$training"
  "$meshc" model.mesh "$@" -o program
  train --weights "$models/optimizers.safetensors" --steps 8 --log log.jsonl --log-every 1
  eval_losses log.jsonl >got.txt
  rm log.jsonl
  agree 2e-5 "$wanted" "$training $*"
}
while read -r a b c d e f g h training; do
  losses="$a $b $c $d $e $f $g $h"
  check "$losses" "$training"
  check "$losses" "$training" --gpu-kernels=emulated
  check "$losses" "$training" --mesh t=2 --layout hidden:t
  check "$losses" "$training" --mesh d=2,t=2 --layout batch:d,hidden:t,optimizer.class:d,optimizer.to:d
  echo "ok $training"
done <table.txt

# The averages are computed in the kernels of the updates: a step has the same calls as without them.
calls() { # MODEL OPTIONS... -> how often train_step makes each kind of call
  "$meshc" "$@" --stop-after=schedule |
    awk '/^  exec.func/ { inside = /@train_step/ } inside && $1 ~ /^exec\./ { print $1 }' | sort | uniq -c
}
write_model "adamw(lr = 0.05)"
cp model.mesh without.mesh
write_model "adamw(lr = 0.05) average 0.9"
while read -r options; do
  calls without.mesh $options >without.txt
  calls model.mesh $options >with.txt
  grep -q launch with.txt || fail "no launch in $(cat with.txt)"
  cmp with.txt without.txt || fail "calls $options: $(cat with.txt) with averages, $(cat without.txt) without"
done <<'OPTIONS'

--mesh t=2 --layout hidden:t
--mesh d=2,t=2 --layout batch:d,hidden:t,optimizer.class:d,optimizer.to:d
--mesh d=2 --layout batch:d --target=cuda
OPTIONS

# A resumed run has the same averages, and so has another mesh, but for rounding.
for options in "" "--mesh t=2 --layout hidden:t" "--mesh d=2,t=2 --layout batch:d,hidden:t,optimizer.class:d"; do
  "$meshc" model.mesh $options -o program
  rm -f log.jsonl part.jsonl
  train --weights "$models/optimizers.safetensors" --steps 8 --checkpoint whole.safetensors --overwrite --log log.jsonl
  train --weights "$models/optimizers.safetensors" --steps 3 --checkpoint part.safetensors --overwrite --log part.jsonl
  train --steps 8 --checkpoint part.safetensors --resume --log part.jsonl
  cmp whole.safetensors part.safetensors || fail "the checkpoint of a resumed run $options"
  [ "$(eval_losses log.jsonl)" = "$(eval_losses part.jsonl)" ] ||
    fail "evaluations of a resumed run $options: $(cat part.jsonl), expected $(cat log.jsonl)"
  "$meshc" model.mesh $options --verify >verified.txt 2>&1 || { cat verified.txt >&2; fail "--verify $options"; }
  echo "ok resumed $options"
done

# What reads a checkpoint takes its averages, or what '--parameters' says.
"$meshc" model.mesh -o program
evaluate() { ./program eval "${data[@]}" --checkpoint "$@" --log eval.jsonl >/dev/null && sed 's/.*"loss":\([^,]*\),.*/\1/' eval.jsonl; }
average=$(evaluate whole.safetensors)
last=$(evaluate whole.safetensors --parameters last)
[ "$average" != "$last" ] || fail "averages and last parameters have the loss $average"
[ "$average" = "$(evaluate whole.safetensors --parameters average)" ] || fail "averages are not the default"
train --steps 8 --resume whole.safetensors --parameters last --log last.jsonl
[ "$(eval_losses last.jsonl)" = "$last " ] || fail "$(cat last.jsonl): training evaluates other parameters than 'eval', $last"
./program export --checkpoint whole.safetensors --to average.safetensors
./program export --checkpoint whole.safetensors --to last.safetensors --parameters last
[ "$(evaluate average.safetensors)" = "$average" ] || fail "the exported averages have the loss $(evaluate average.safetensors)"
[ "$(evaluate last.safetensors)" = "$last" ] || fail "the exported parameters have the loss $(evaluate last.safetensors)"
# Averages begin at the parameters that a run begins from.
train --steps 0 --weights last.safetensors --log begin.jsonl
[ "$(eval_losses begin.jsonl)" = "$last " ] || fail "averages begin with $(cat begin.jsonl), not with the loss $last"
expect 4 "last.safetensors' has no averages of parameters, such as those of a training with 'average 0.999'" \
  ./program eval "${data[@]}" --checkpoint last.safetensors --parameters average
expect 2 "'--parameters' is 'best'; expected 'average' or 'last'" ./program eval "${data[@]}" --checkpoint last.safetensors --parameters best
"$meshc" without.mesh -o without
expect 2 "'--parameters' is 'average', and the training keeps no averages" \
  ./without train "${data[@]}" --eval-data x=x.idx --eval-data y=y.idx --parameters average
# It does not go on with a checkpoint whose averages its next one would lose.
cp whole.safetensors kept.safetensors
expect 4 "tensors? '[^']*average'.* (is|are) no state of this program's training, which would lose it; resume with the program that wrote the checkpoint" \
  ./without train "${data[@]}" --steps 100 --checkpoint kept.safetensors --resume
cmp whole.safetensors kept.safetensors || fail "a refused resume changes the checkpoint"
# A program whose text has no averages reads those of a checkpoint, too.
./without eval "${data[@]}" --checkpoint whole.safetensors --log other.jsonl >/dev/null
cmp eval.jsonl other.jsonl >/dev/null && fail "eval.jsonl is not of the last call"
evaluate whole.safetensors >/dev/null
sed 's/.*"loss"/"loss"/' eval.jsonl >a.txt
sed 's/.*"loss"/"loss"/' other.jsonl | cmp - a.txt || fail "averages in another program: $(cat other.jsonl), $(cat eval.jsonl)"

# A step that f16 skips leaves the averages as they are, and is counted.
write_model "adamw(lr = 0.01) precision f16(scale = 2 ** 26, interval = 100) average 0.5"
while read -r options; do
  "$meshc" model.mesh $options -o program
  rm -f log.jsonl
  train --weights "$models/optimizers.safetensors" --steps 16 --log log.jsonl --checkpoint short.safetensors --overwrite
  awk -F '[:,}]' '
    /"loss_scale"/ { for (i = 1; i < NF; ++i) { if ($i ~ /"loss_scale"/) scale = $(i + 1); if ($i ~ /"skipped"/) skipped = $(i + 1) } }
    /"eval_loss_scale"/ { bad = "an evaluation has a scale" }
    /"eval_loss"/ {
      if (n++ && (skipped > before) != ($4 == loss)) bad = "step " n " is " (skipped > before ? "" : "not ") "skipped, and the loss was " loss " and is " $4
      if (2 ^ 26 / 2 ^ skipped != (skipped > before ? scale / 2 : scale)) bad = skipped " skipped steps at scale " scale
      before = skipped; loss = $4 }
    END { if (n != 16 || skipped < 2 || skipped > 12) bad = n " evaluations, " skipped " skipped"
      if (bad) { print bad; exit 1 } }' log.jsonl || fail "f16 $options: $(cat log.jsonl)"
  # The count goes on where a run is resumed.
  wanted=$(sed -n 's/.*"skipped":\([0-9]*\),.*/\1/p' log.jsonl | tail -1)
  train --steps 17 --resume short.safetensors --log more.jsonl
  grep -q "\"skipped\":$wanted," more.jsonl || fail "resumed with $(cat more.jsonl), $wanted steps were skipped"
  rm more.jsonl
  expect 0 '^loss [0-9.]+ \(4 examples\)$' ./program eval "${data[@]}" --checkpoint short.safetensors
  ! grep -q loss_scale output.txt || fail "an evaluation prints a scale: $(cat output.txt)"
  echo "ok f16 $options: $wanted steps skipped"
done <<'OPTIONS'

--mesh d=2,t=2 --layout batch:d,hidden:t,optimizer.class:d,optimizer.to:d
OPTIONS

has_mpi || skip_without_mpi
write_model "adamw(lr = 0.05) average 0.9"
"$meshc" model.mesh --mesh d=2,t=2 --layout batch:d,hidden:t -o program
rm -f log.jsonl processes.jsonl
train --weights "$models/optimizers.safetensors" --steps 4 --log log.jsonl --threads 1
timeout 120 mpirun -n 4 ./program train "${data[@]}" --eval-data x=x.idx --eval-data y=y.idx --eval-every 1 --no-shuffle --quiet \
  --weights "$models/optimizers.safetensors" --steps 4 --log processes.jsonl --threads 1 </dev/null >/dev/null
[ "$(eval_losses log.jsonl)" = "$(eval_losses processes.jsonl)" ] || fail "processes have $(cat processes.jsonl), threads $(cat log.jsonl)"
