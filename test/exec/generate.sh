#!/usr/bin/env bash
# generate: a transformer and an LSTM go on with a text as their whole forward function would, and with the same text
# under every layout. Published weights give the published text.
. "$(dirname "$0")/lib.sh"
for ((i = 0; i < 100; ++i)); do
  echo "the cat sat on the mat and the dog ate the hat. "
done >text.txt
cat >gpt.mesh <<'END'
import nn
dim batch = 2, seq = 16, memory = 16, model = 16, heads = 4, key = 4, ffn = 32, vocab = 256, layers = 2
fn block(x) {
  x = x + nn.attention(nn.rms_norm(x, model), model, heads, key, seq, memory, nn.window(seq, memory, 9), positions = nn.rotary)
  return x + nn.feed_forward(nn.rms_norm(x, model), model, ffn)
}
model gpt(tokens[batch, seq]: i32, targets[batch, seq]: i32) {
  x, table = nn.tied_embedding(tokens, vocab, model, deviation = 0.3)
  x = dropout(nn.learned_positions(x, seq, model), 0.1)
  for layers { x = block(x) }
  logits = nn.tied_output(nn.rms_norm(x, model), table, model)
  loss = mean(cross_entropy(logits, targets, vocab))
  metric follows = mean(where(iota(seq) < 6, mean(logits) == mean(logits), argmax(logits, vocab) == targets))
}
train gpt minimize loss with adamw(lr = 1e-2)
generate gpt from tokens with logits over vocab along seq
END

cp "$models/moe.mesh" .
cp "$models/recurrent.mesh" lstm.mesh
# The seventh token and all after it are the most probable ones after those before: an evaluation of the text says so.
follows() { # PROMPT of 7 bytes
  ./program generate --weights trained.safetensors --prompt "$1" --greedy --quiet </dev/null >greedy.txt
  head -c 17 greedy.txt >window.txt
  [ "$(wc -c <greedy.txt)" = 18 ] || fail "'$1' gave $(wc -c <greedy.txt) bytes"
  ./program eval --weights trained.safetensors --data window.txt --quiet </dev/null >eval.txt
  grep -q '^follows 1.0000' eval.txt || fail "'$(cat greedy.txt)' has tokens that are not the most probable: $(cat eval.txt)"
}
# A prompt that is computed in a block goes on as its text did after single steps: greedily, and with the same draws.
goes_on() { # TEXT OPTIONS...
  for length in 8 9 13 16; do
    prompt=$(head -c $length "$1" && echo .)
    ./program generate --weights trained.safetensors --quiet --prompt "${prompt%.}" "${@:2}" </dev/null | cmp - "$1" ||
      fail "after $length bytes of '$(cat "$1")', another text"
  done
}
check() { # MODEL, and layouts from stdin
  "$meshc" $1.mesh --report=json -o program >report.json
  # What --report says of the arena adds up, caches included.
  awk '
    /"arenaBytes"/ { arena = $2 + 0 }
    /"peak": \{/ { inside = 1 }
    /"lines": \[/ { inside = 0 }
    inside && /": [0-9]+,$/ { sum += $2; if ($1 == "\"cache\":") caches = $2 + 0 }
    END { exit !(arena > 0 && sum == arena && caches > 0) }' report.json || fail "$1: the parts of the arena do not add up"
  # A step writes the entries of its position alone: no kernel writes as much as a layer's keys have, 2 KiB.
  awk '
    /^   "name": .*(initialize|step)"/ { step = /generate_step/ }
    /^ "kernels"/ { step = 0; all = 1 }
    /"name": "kernel_/ { kernel = $2; sub(",", "", kernel); if (step) used[kernel] = 1 }
    all && /"written"/ && kernel in used { ++count; if ($2 + 0 >= 2048) large = 1 }
    END { exit large || !count }' report.json || [ $1 != gpt ] || fail "$1: a kernel of a step writes all of a cache"
  ./program train --data text.txt --steps 60 --seed 1 --threads 1 --quiet --checkpoint trained.safetensors --overwrite </dev/null >/dev/null
  follows "the cat"
  follows " dog at"
  goes_on greedy.txt --greedy
  goes_on greedy.txt --beams 1
  choice="--temperature 0.8 --top-k 20 --top-p 0.95 --seed 5"
  sample="--weights trained.safetensors --quiet $choice"
  ./program generate $sample --prompt "the" </dev/null >drawn.txt
  goes_on drawn.txt $choice
  long="--weights trained.safetensors --greedy --quiet --threads 1 --prompt the_cat_sat_on --prompt the_dog_ate"
  ./program generate $long </dev/null >long.txt
  ./program generate $sample --prompt "the" --prompt "hat. th" </dev/null >sampled.txt
  [ "$(head -c 3 sampled.txt)" = the ] || fail "the text does not begin with its prompt: $(cat sampled.txt)"
  beams="--weights trained.safetensors --beams 2 --length-penalty 1 --quiet"
  ./program generate $beams --prompt "the cat" </dev/null >searched.txt
  [ "$(wc -c <searched.txt)" = 18 ] || fail "$1: the search gave '$(cat searched.txt)'"
  ./program generate --weights trained.safetensors --quiet --beams 1 --prompt "hat. th" </dev/null >single.txt
  ./program generate --weights trained.safetensors --quiet --greedy --prompt "hat. th" </dev/null | cmp - single.txt ||
    fail "$1: one beam is not the greedy text: '$(cat single.txt)'"
  # The search adds up what an evaluation of its text says: caches followed their beams. The mean over 16 positions
  # begins with those of the prompt, which all texts share.
  for n in 1 2; do
    ./program generate --weights trained.safetensors --quiet --beams $n --length-penalty 0 --prompt "tha" --log found$n.jsonl </dev/null |
      head -c 17 >window.txt
    ./program eval --weights trained.safetensors --data window.txt --quiet </dev/null | sed -n 's/^loss \([-0-9.e]*\).*/\1/p' >loss$n.txt
    sed -n 's/.*"score":\([-0-9.e]*\).*/\1/p' found$n.jsonl >score$n.txt
  done
  paste score1.txt score2.txt loss1.txt loss2.txt | awk '
    { d = ($2 - $1) - 16 * ($3 - $4) } END { exit !(NR == 1 && $2 > $1 && d < 0.005 && d > -0.005) }' ||
    fail "$1: the scores are $(cat score1.txt score2.txt | xargs), the losses $(cat loss1.txt loss2.txt | xargs)"
  while read -r options; do
    "$meshc" $1.mesh $options -o cut
    ./cut generate $beams --prompt "the cat" --threads 1 </dev/null | cmp - searched.txt ||
      fail "$1 with '$options' searched another text than '$(cat searched.txt)'"
    ./cut generate $sample --prompt "the" --prompt "hat. th" --threads 1 </dev/null >cut.txt
    cmp cut.txt sampled.txt || fail "$1 with '$options' wrote '$(cat cut.txt)', not '$(cat sampled.txt)'"
    ./cut generate $long </dev/null | cmp - long.txt || fail "$1 with '$options' goes on with long prompts otherwise"
    echo "ok $1 $options"
  done
}
check lstm <<'OPTIONS'
--unroll
--gpu-kernels=emulated
--mesh d=2 --layout batch:d
--mesh t=2 --layout cell:t,vocab:t
--mesh d=2,t=2 --layout batch:d,cell:t
OPTIONS
check moe <<'OPTIONS'
--unroll
--gpu-kernels=emulated
--mesh d=2 --layout batch:d,experts:d
--mesh t=2 --layout experts:t,heads:t
--mesh d=2,t=2 --layout batch:d,experts:d,ffn:t,vocab:t
OPTIONS
check gpt <<'OPTIONS'
--unroll
--gpu-kernels=emulated
--mesh d=2 --layout batch:d
--mesh t=2 --layout heads:t,ffn:t,vocab:t
--mesh t=4 --layout heads:t
--mesh p=2 --layout memory:p
--mesh t=2,p=2 --layout heads:t,memory:p
--mesh d=2,t=2 --layout batch:d,heads:t,ffn:t,vocab:t
--mesh d=2 --layout batch:d,parameter.model:d
OPTIONS

# Of the last program, a transformer on one rank: what users may do wrong, and what is printed.
run="./program generate --weights trained.safetensors"
expect 0 "^gpt: 4 tokens in [0-9.]* s: [0-9.]* tokens/s; the first one [0-9.]* s after the prompt of 3$" $run --prompt "the" --tokens 4 --log log.jsonl
grep -q '"tokens":4.*"prompt_tokens":3,"time_to_first_token":[0-9]' log.jsonl || fail "the log has $(cat log.jsonl)"
expect 0 "^gpt: 1 token in " $run --prompt "the" --tokens 1
expect 0 "stopped at the last of the model's 16 positions" $run --prompt "the"
expect 0 "stopped at the last of the model's 16 positions" $run --prompt "the" --tokens 15
expect 2 "the prompt is empty, and the tokenizer 'bytes' has no token for the start" $run
expect 2 "the prompt has 17 tokens, and the model has 16 positions" $run --prompt "the cat sat on th"
expect 2 "there are 3 prompts, and the program generates 2 texts at once; give at most 2 and the others in another run, or compile it with '--set batch=3' or more$" $run --prompt a --prompt b --prompt c
expect 2 "'--top-p' is '1.5'; expected a number above 0, at most 1" $run --prompt a --top-p 1.5
for zero in 0 0.0 0e3; do
  expect 2 "'--temperature' is '$zero'; expected a number above 0, at most 1e6; for the most probable token of each step, give '--greedy' instead" $run --prompt a --temperature $zero
done
expect 2 "'--temperature' is '-1'; expected a number above 0, at most 1e6; see" $run --prompt a --temperature -1
expect 2 "'--temperature' is '1e30'; expected a number above 0, at most 1e6" $run --prompt a --temperature 1e30
expect 2 "'--beams' is 3, and the program generates 2 texts at once; compile it with '--set batch=3' or more$" $run --prompt a --beams 3
expect 2 "there are 2 prompts, and '--beams' goes on with one; give the others in other runs$" $run --prompt a --prompt b --beams 2
expect 2 "'--greedy' excludes '--beams'" $run --prompt a --beams 2 --greedy
for choice in "--temperature 0.5" "--top-k 3" "--top-p 0.5" "--seed 1"; do
  expect 2 "'${choice% *}' excludes '--greedy'|'--greedy' excludes '${choice% *}'" $run --prompt a --greedy $choice
  expect 2 "'${choice% *}' excludes '--beams'|'--beams' excludes '${choice% *}'" $run --prompt a --beams 2 $choice
done
expect 2 "--length-penalty.*--beams" $run --prompt a --length-penalty 1
expect 2 "'--length-penalty' is '-1'; expected a number from 0 to 100" $run --prompt a --beams 2 --length-penalty -1
expect 2 "'words' is not a tokenizer" $run --prompt a --tokenizer words
echo '{"characters": ["a", "b"]}' >ab.json
expect 3 "." $run --prompt c --tokenizer characters:ab.json
expect 4 "no.safetensors" ./program generate --weights no.safetensors --prompt a
"$meshc" gpt.mesh --set vocab=100 -o small
expect 3 "tokenizer 'bytes' has 256 tokens, and the model's vocabulary has 100" ./small generate --weights trained.safetensors --prompt a
# Tokens that the tokenizer does not have are not chosen, however probable they are.
"$meshc" gpt.mesh --set vocab=4000 -o padded
./padded train --data text.txt --steps 0 --threads 1 --quiet --checkpoint padded.safetensors </dev/null
much="'bytes' has 256 tokens, and the model's vocabulary has 4000; tokens from 256 on are never chosen"
for choice in --greedy "--temperature 1000" "--beams 2"; do
  expect 0 "^gpt: warning: tokenizer $much; give the '--tokenizer' of the training data, unless this is it$" \
    ./padded generate --weights padded.safetensors --prompt "the" $choice
  [ "$(./padded generate --weights padded.safetensors --prompt "the" $choice --quiet </dev/null 2>quiet.txt | wc -c)" = 18 ] ||
    fail "a vocabulary larger than the tokenizer's gave other than 17 bytes"
  [ ! -s quiet.txt ] || fail "--quiet prints $(cat quiet.txt)"
done
# A vocabulary that is only padded needs no warning.
"$meshc" gpt.mesh --set vocab=320 -o padded
./padded train --data text.txt --steps 0 --threads 1 --quiet --checkpoint padded.safetensors --overwrite </dev/null
./padded generate --weights padded.safetensors --prompt "the" </dev/null 2>quiet.txt >text.out
! grep -q warning quiet.txt || fail "a padded vocabulary gives $(cat quiet.txt)"
grep -v '^generate' gpt.mesh >silent.mesh
"$meshc" silent.mesh -o silent
expect 2 "model 'gpt' has no 'generate' statement" ./silent generate --weights trained.safetensors --prompt a
./program info | grep -q '^  cache.layers.keys .*\[layers = 2, batch = 2, heads = 4, memory = 16, key = 4\]' ||
  fail "info does not print the caches: $(./program info)"

# Prompts are computed in blocks, but one by one where a loop runs over the positions.
./program info | grep -q '^prompts of generate, up to 16 tokens: computed 16 positions at once$' || fail "$(./program info)"
"$meshc" lstm.mesh -o recurrent
./recurrent info | grep -q '^prompts of generate, up to 16 tokens: computed one position after the other$' || fail "$(./recurrent info)"

stories=${MESHC_DATA:-$root/../shared/data}/models/stories260K
[ -d "$stories" ] || skip "the published model is not at $stories (MESHC_DATA); all else passed"
while read -r options; do
  "$meshc" "$models/stories260K.mesh" $options -o stories
  ./stories generate --weights "$stories/stories260K.bin" --weights-map "$root/library/weights/llama2c.map" \
    --tokenizer "sentencepiece:$stories/tok512.bin" --tokens 200 --greedy --threads 1 --quiet </dev/null >told.txt
  { cat "$stories/expected_200tok.txt" && echo; } | cmp - told.txt || fail "stories260K with '$options': $(cat told.txt)"
  # The same text from prompts of several blocks, which end with a word. The last block ends behind the last of 100
  # positions.
  for set in "seq=512 182 340" "seq=100 182 227"; do
    read -r set lengths <<<"$set"
    "$meshc" "$models/stories260K.mesh" $options --set $set,memory=${set#seq=} -o stories
    for length in $lengths; do
      ./stories generate --weights "$stories/stories260K.bin" --weights-map "$root/library/weights/llama2c.map" \
        --tokenizer "sentencepiece:$stories/tok512.bin" --prompt "$(head -c $length told.txt)" --greedy --threads 1 --quiet \
        --tokens 12 </dev/null >more.txt
      size=$(($(wc -c <more.txt) - 1))
      [ $size -gt $((length + 1)) ] && cmp -n $size more.txt told.txt ||
        fail "stories260K with '$options' and $length bytes of the text ($set): $(cat more.txt)"
    done
  done
  echo "ok stories260K $options"
done <<'OPTIONS'

--mesh t=2 --layout groups:t,ffn:t,vocab:t
--mesh t=4 --layout groups:t,ffn:t,vocab:t
OPTIONS
echo passed
