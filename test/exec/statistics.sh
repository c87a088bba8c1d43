#!/usr/bin/env bash
# Metrics are functions of sums and extrema over all examples of an evaluation, and losses with `accumulate`
# those of the whole batch, under every layout: figures worked out by hand.
. "$(dirname "$0")/lib.sh"

write_byte() { printf "\\$(printf %03o "$1")"; }
# write_idx FILE "DIMS" VALUES...: an IDX file of numbers from -128 to 127.
write_idx() {
  local file=$1 dims=$2 dim value
  shift 2
  {
    printf '\0\0\011'
    write_byte "$(wc -w <<<"$dims")"
    for dim in $dims; do
      printf '\0\0\0'
      write_byte "$dim"
    done
    for value in "$@"; do write_byte $((value & 255)); done
  } >"$file"
}
# evaluate NAME DATA...: the value of a metric in an evaluation by ./program.
evaluate() {
  local name=$1
  shift
  rm -f eval.log
  ./program eval "$@" --log eval.log --threads 1 >out.txt 2>&1 </dev/null || { cat out.txt >&2; return 1; }
  sed -n "s/.*\"$name\":\([^,}]*\).*/\1/p" eval.log
}
# near WHAT GOT EXPECTED: within 1e-5 of it.
near() {
  awk -v got="$2" -v expected="$3" 'BEGIN { d = got - expected; exit !(got != "" && d < 1e-5 && d > -1e-5) }' ||
    fail "$1 is '$2', expected $3"
}
layouts="
--mesh d=2 --layout batch:d
--mesh d=3 --layout batch:d
--mesh d=2,s=2 --layout batch:d,seq:s
--gpu-kernels=emulated --mesh d=2 --layout batch:d"

cat >ratio.mesh <<'END'
dim batch = 4, seq = 12
model ratio(hit[batch, seq], mask[batch, seq]) {
  metric accuracy = sum(mask * hit) / sum(mask)
  metric most = max(sum(mask, seq))
  metric spread = exp(mean(hit)) * min(sum(mask, seq))
}
END
none="0 0 0 0 0 0 0 0 0 0 0 0" all="1 1 1 1 1 1 1 1 1 1 1 1" one="1 0 0 0 0 0 0 0 0 0 0 0"
write_idx first.idx "2 12" $one $none
write_idx second.idx "2 12" $none $all
write_idx mask.idx "2 12" $one $all
write_idx hit5.idx "5 12" $one $none $one $all $all
write_idx mask5.idx "5 12" $one $all $one $all $none
while read -r options; do
  "$meshc" ratio.mesh $options -o program
  near "the first example hits $options: accuracy" "$(evaluate accuracy --data hit=first.idx --data mask=mask.idx)" 0.076923077
  near "the second example hits $options: accuracy" "$(evaluate accuracy --data hit=second.idx --data mask=mask.idx)" 0.923076923
  near "most $options" "$(evaluate most --data hit=second.idx --data mask=mask.idx)" 12
  # The last example, of the second batch, counts nothing.
  near "5 examples $options: accuracy" "$(evaluate accuracy --data hit=hit5.idx --data mask=mask5.idx)" 0.538461538
  near "spread $options" "$(evaluate spread --data hit=hit5.idx --data mask=mask5.idx)" 0
  near "spread of two $options" "$(evaluate spread --data hit=second.idx --data mask=mask.idx)" 1.648721271
done <<<"$layouts"

# Statistics of a batch, over the examples that it has: a variance, distances of pairs, an order.
cat >batch.mesh <<'END'
dim batch = 6
model batches(x[batch], y[batch]) {
  centered = x - mean(x, batch)
  metric variance = mean(square(centered))
  other = rename(x, batch -> second)
  metric pairs = mean(abs(x - other))
  metric choice = mean(cross_entropy(x * other, iota(batch), second))
  ranks = argsort(argsort(x, batch), batch)
  metric rank = mean(cast(ranks, f32) * y)
  metric before = sum(cumsum(x, batch) * y)
}
END
write_idx x.idx 4 3 1 -2 2
write_idx y.idx 4 1 0 1 2
for options in "" "--mesh d=2 --layout batch:d" "--mesh d=4 --layout batch:d" "--gpu-kernels=emulated --mesh d=2 --layout batch:d"; do
  "$meshc" batch.mesh $options -o program
  values="--data x=x.idx --data y=y.idx"
  near "variance $options" "$(evaluate variance $values)" 3.5       # of 3, 1, -2, 2
  near "pairs $options" "$(evaluate pairs $values)" 2               # 2 * (2 + 5 + 1 + 3 + 1 + 4) / 16
  near "rank $options" "$(evaluate rank $values)" 1.75              # (3 * 1 + 0 * 1 + 2 * 2) / 4
  near "before $options" "$(evaluate before $values)" 13            # 3 * 1 + 2 * 1 + 4 * 2
  near "choice $options" "$(evaluate choice $values)" "$(awk 'BEGIN {
    split("3 1 -2 2", x, " ")
    for (i = 1; i <= 4; ++i) { s = 0; for (j = 1; j <= 4; ++j) s += exp(x[i] * x[j]); c += (log(s) - x[i] * x[i]) / 4 }
    printf "%.9f", c }')"
done

# What mixes examples otherwise needs complete batches.
sed 's/^  metric variance.*/&\n  metric first = mean(slice(x, batch, 0, 2))/' batch.mesh >slice.mesh
"$meshc" slice.mesh -o program
expect 3 "the last of its batches of 6 has 4; .* \(slice.mesh:[0-9]+:[0-9]+: 'slice'\): leave 4 out" \
  ./program eval --data x=x.idx --data y=y.idx
write_idx x6.idx 6 3 1 -2 2 0 0
write_idx y6.idx 6 1 0 1 2 0 0
near "first" "$(evaluate first --data x=x6.idx --data y=y6.idx)" 2

# One example by its number may be missing, and examples are counted in 32 bits.
sed 's/^  metric variance.*/&\n  metric third = sum(x at batch = 2)/' batch.mesh >third.mesh
"$meshc" third.mesh -o program
expect 3 "the last of its batches of 6 has 4; .* \(third.mesh:[0-9]+:[0-9]+: 'entry'\): leave 4 out" \
  ./program eval --data x=x.idx --data y=y.idx
printf 'dim batch = 4\nmodel many(x[batch]) {\n  metric a = mean(x)\n}\n' >many.mesh
"$meshc" many.mesh -o program
printf '\0\0\010\001\200\0\0\0' >many.idx # 2^31 bytes, which the file system does not store
truncate -s 2147483656 many.idx
expect 3 "the data has 2147483648 examples, and an evaluation counts at most 2147483647: evaluate parts of the data" \
  ./program eval --data x=many.idx

# A million times 1 + 1/128, 100 at a time: f32 would stop at 2^24 / 100 batches, and lose digits long before.
cat >long.mesh <<'END'
dim batch = 100, entry = 1000
model long(x[batch]) {
  metric total = sum(x * broadcast(1, entry)) / 128
}
END
"$meshc" long.mesh -o program
{ printf '\0\0\010\001\0\03\015\100'; head -c 200000 /dev/zero | tr '\0' '\201'; } >long.idx # 200,000 times 129
near "total" "$(evaluate total --data x=long.idx)" 201562496 # the nearest f32

# Losses of micro-batches: statistics that depend on no parameter are those of the whole batch.
cat >loss.mesh <<'END'
import nn
let parts = 1
dim batch = 8, seq = 3, class = 4
model m(x[batch, seq], targets[batch, seq]: i32) {
  param w[class] ~ normal(1)
  param v[class] ~ normal(1)
  logits = x * w + v
  each = cross_entropy(logits, targets, class, ignore = -100)
  counted = targets != -100
  loss = sum(each) / sum(counted) + 0.5 * nn.masked_mean(square(logits), counted)
  metric hits = sum((argmax(logits, class) == targets) and counted) / sum(counted)
  metric largest = max(each)
}
train m minimize loss with sgd(lr = 0.1) accumulate parts
END
write_idx x.idx "8 3" 1 2 -1 0 1 1 -2 3 1 1 0 0 2 -1 2 1 1 -1 0 2 2 -3 1 0
write_idx targets.idx "8 3" 0 -100 -100 1 2 3 -100 -100 -100 0 1 -100 3 3 3 2 -100 1 0 0 -100 -100 -100 2
losses() { # OPTIONS... -> loss, hits, largest of 3 steps, and of an evaluation of all but one example
  "$meshc" loss.mesh "$@" -o program 2>warnings.txt || { cat warnings.txt >&2; return 1; }
  [ ! -s warnings.txt ] || fail "unexpected: $(cat warnings.txt)"
  rm -f train.log
  ./program train --data x=x.idx --data targets=targets.idx --eval-data x=x.idx --eval-data targets=targets.idx --steps 3 \
    --seed 5 --threads 1 --no-shuffle --quiet --log train.log --log-every 1 --checkpoint c.safetensors --overwrite \
    </dev/null >out.txt 2>&1 || { cat out.txt >&2; return 1; }
  sed -n 's/.*loss":\([^,]*\),"[a-z_]*hits":\([^,]*\),"[a-z_]*largest":\([^,}]*\).*/\1 \2 \3/p' train.log
}
losses >whole.txt
[ "$(wc -l <whole.txt)" = 4 ] || fail "the log has $(cat train.log)"
while read -r options; do
  losses $options >parts.txt
  paste -d ' ' whole.txt parts.txt | awk '
    NF != 6 { bad = 1 }
    { for (i = 1; i <= 3; ++i) { d = $i - $(i + 3); if (d > 2e-6 || d < -2e-6) bad = 1 } }
    END { exit bad || NR != 4 }' || fail "$options: $(cat parts.txt), the whole batch: $(cat whole.txt)"
  echo "ok $options"
done <<'OPTIONS'
--set parts=2
--set parts=4
--set parts=8
--set parts=4 --mesh d=2 --layout batch:d
--set parts=2 --mesh d=4 --layout batch:d,gradient.class:d,optimizer.class:d
--gpu-kernels=emulated --set parts=2 --mesh d=2 --layout batch:d
OPTIONS

# What is not exact is said, at its place.
sed 's/^  loss = .*/  loss = mean(each) * mean(square(logits))/' loss.mesh >product.mesh
expect 0 "product.mesh:[0-9]+:[0-9]+: warning: with 'accumulate', this value is the mean of the micro-batches' values" \
  "$meshc" product.mesh --set parts=2 -o program
