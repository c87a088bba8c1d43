#!/usr/bin/env bash
# The best checkpoint and the early end of a training: a run in parts keeps and decides what a run in one piece does, on
# one rank and on several; NaN is never best; mistakes are named.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/losses.sh"
cat >model.mesh <<'END'
dim batch = 2, pixel = 6, class = 4
model m(x[batch, pixel]: i32, y[batch]: i32) {
  param w[pixel, class] ~ normal(0.5)
  logits = dot(cast(x, f32) / 4, w, pixel)
  loss = mean(cross_entropy(logits, y, class))
  metric accuracy = mean(argmax(logits, class) == y)
}
train m minimize loss with sgd(lr = 0.05) clip 1 as norm average 0.5
END
# Two of the four labels differ, so that the loss of the evaluation grows again after some steps.
{ printf '\0\0\x08\x01\0\0\0\x04'
  printf '\x02\x00\x01\x03'; } >other.idx
data=(--data x=x.idx --data y=y.idx --eval-data x=x.idx --eval-data y=other.idx)
train() { # CHECKPOINT OPTIONS... -> output.txt
  ./program train "${data[@]}" --no-shuffle --seed 3 --checkpoint "$1" --keep-best loss --eval-every 2 --log "$1.jsonl" "${@:2}" \
    >output.txt
}
best_of() { # CHECKPOINT -> step and value of its best evaluation
  ./program info --checkpoint "$1" | sed -n 's/^  best loss \([0-9.]*\) after step \([0-9]*\), \([0-9]*\) evaluations* since an improvement$/\2 \1 \3/p'
}
losses_of() { sed -n 's/{"step":\([0-9]*\),"eval_loss":\([^,]*\),.*/\1 \2/p' "$1.jsonl"; }
for options in "" "--mesh d=2 --layout batch:d" "--mesh d=2,t=2 --layout batch:d,class:t"; do
  "$meshc" model.mesh $options -o program
  rm -f a* b*
  train a --steps 60 --stop-after 3
  read -r step value since <<<"$(best_of a.best)"
  # The lowest one of the log, which is the third last of those that were made.
  [ "$(losses_of a | sort -k2,2g -k1,1n | head -1 | cut -d' ' -f1)" = "$step" ] || fail "best is $step $value: $(losses_of a)"
  [ "$(losses_of a | tail -4 | head -1 | cut -d' ' -f1)" = "$step" ] || fail "the end is not 3 evaluations after step $step: $(losses_of a)"
  last=$((step + 6))
  [ "$since" = 0 ] && [ "$last" -lt 60 ] || fail "best: $step $value $since"
  grep -q "^ended after step $last: 3 evaluations in a row were no improvement; best loss $value after step $step, in 'a.best'$" output.txt ||
    fail "the end of $options: $(cat output.txt)"
  ./program eval --data x=x.idx --data y=other.idx --checkpoint a.best >evaluated.txt
  grep -q "^loss $value " evaluated.txt || fail "the best checkpoint evaluates to $(cat evaluated.txt), not $value"
  # A run that ended stays as it is.
  train a --steps 60 --stop-after 3 --resume
  grep -q "^ended after step $last:" output.txt || fail "resumed after its end: $(cat output.txt)"
  # The same in parts, which end after the first evaluation, after the best one, and after one that is no improvement.
  # The evaluation at the end of a part comes after its checkpoint; the next part repeats it.
  train b --steps 2 --stop-after 3
  train b --steps "$step" --stop-after 3 --resume
  train b --steps $((step + 4)) --stop-after 3 --resume
  train b --steps 60 --stop-after 3 --resume=auto
  grep -q "^ended after step $last:" output.txt || fail "in parts $options: $(cat output.txt)"
  cmp a.best b.best || fail "the best checkpoint of a run in parts $options"
  cmp a b || fail "the last checkpoint of a run in parts $options"
  echo "ok $options: best after step $step"
done
[ "$(losses_of a)" = "$(losses_of b | uniq)" ] || fail "evaluations of a run in parts: $(losses_of b), of one in a piece: $(losses_of a)"

# Small improvements do not count, but are kept.
train c --steps 60 --stop-after 2 --least-improvement 100
grep -q "^ended after step 6: 2 evaluations in a row were no improvement; best loss" output.txt || fail "$(cat output.txt)"
[ "$(best_of c.best | cut -d' ' -f1)" = 6 ] || fail "after step 6 the best is $(best_of c.best)"
# The largest value of a metric.
./program train "${data[@]}" --no-shuffle --seed 3 --checkpoint d --keep-best accuracy:max --eval-every 1 --steps 12 --quiet >/dev/null --log d.jsonl
wanted=$(sed -n 's/{"step":\([0-9]*\),.*"eval_accuracy":\([^,}]*\).*/\1 \2/p' d.jsonl | sort -k2,2gr -k1,1n | head -1 | cut -d' ' -f1)
./program info --checkpoint d.best | grep -q "^  best accuracy [0-9.]* after step $wanted, 0 evaluations" ||
  fail "the best accuracy is that of step $wanted: $(./program info --checkpoint d.best | tail -2)"
# It is not replaced by the best one of another metric, which may be worse.
cp d.best kept
expect 2 "'d.best' is the best checkpoint by 'accuracy:max', and this run would replace it by the best one by 'loss:min'" \
  ./program train "${data[@]}" --no-shuffle --seed 3 --checkpoint d --keep-best loss --eval-every 1 --steps 14 --resume
cmp d.best kept || fail "a refused resume changes the best checkpoint"
expect 0 "step 14/14" ./program train "${data[@]}" --no-shuffle --seed 3 --checkpoint d --keep-best loss --eval-every 1 --steps 14 --resume --overwrite
expect 2 "are the same file" ./program train "${data[@]}" --checkpoint e --steps 1 --log e.meshc-tmp

expect 2 "'--keep-best' names 'los'; evaluations have the metrics 'loss', 'accuracy'$" \
  ./program train "${data[@]}" --checkpoint e --keep-best los
expect 2 "'--keep-best' is 'loss:low'; expected a metric" ./program train "${data[@]}" --checkpoint e --keep-best loss:low
expect 2 "'--keep-best' requires '--eval-data'" ./program train "${data[@]:0:4}" --checkpoint e --keep-best loss
expect 2 "'--keep-best' requires '--checkpoint'" ./program train "${data[@]}" --keep-best loss
expect 2 "'--stop-after' requires '--keep-best'" ./program train "${data[@]}" --stop-after 3
# A damaged file is named, with what to do about it; then the run goes on.
resume=(./program train "${data[@]}" --no-shuffle --checkpoint b --keep-best loss --eval-every 2 --steps 62 --resume)
printf x | dd of=b.best bs=1 seek=12 conv=notrunc 2>dd.txt
expect 4 "'b.best'.*; it is the best checkpoint that the run has kept so far: remove or rename 'b.best' to go on without it" "${resume[@]}"
mv b.best damaged
expect 0 "step 62/62" "${resume[@]}"
expect 2 "'a.best' exists, and this run would replace it" ./program train "${data[@]}" --checkpoint a --keep-best loss --steps 60
