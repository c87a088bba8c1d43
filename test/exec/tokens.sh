#!/usr/bin/env bash
# From texts to a trained model by token files: documents, masks, strides, resumed
# runs, the same losses under every layout, and what is refused.
. "$(dirname "$0")/lib.sh"
licenses=/usr/share/common-licenses
tokens=$build/bin/meshc-tokens

# Four documents, one of them gzipped and one empty.
mkdir -p texts/more
head -c 3000 $licenses/GPL-3 >texts/a
head -c 700 $licenses/Apache-2.0 | gzip >texts/b.gz
: >texts/empty
head -c 41 $licenses/GPL-2 >texts/more/c
{ cat texts/a; gzip -dc texts/b.gz; cat texts/more/c; } >all.txt
"$tokens" characters -o vocabulary.json texts
characters=$(sed 's/","/\n/g' vocabulary.json | wc -l)
expect 0 "corpus: 3741 tokens \(u16\) of 3 documents, 3741 bytes; vocabulary $characters \(characters:" \
  "$tokens" encode --tokenizer characters:vocabulary.json -o corpus texts
expect 0 "3741 tokens \(u16\) of 3 documents; vocabulary $characters .*; intact" "$tokens" info corpus
"$tokens" decode --tokenizer characters:vocabulary.json corpus | cmp - all.txt
"$tokens" decode --tokenizer characters:vocabulary.json --first 5 --count 7 corpus | cmp - <(head -c 12 all.txt | tail -c 7)
expect 3 "written with tokenizer 'characters:.*', and '--tokenizer' is 'bytes'" "$tokens" decode --tokenizer bytes corpus
"$tokens" encode --tokenizer bytes --type i32 -o bytes.tokens texts

inputs="segments=@segments positions=@positions mask=@mask"
data() { for spec in "$@" $inputs; do echo "--data $spec"; done; }

# The same losses under every layout, and the same state after a resumed run.
rm -f first.txt
while read -r options; do
  "$meshc" "$models/packed.mesh" $options -o program
  for stride in 1 7; do
    flags="--window-stride $stride --seed 3 --threads 1 --quiet"
    ./program train $(data corpus) $flags --steps 30 --overwrite --checkpoint whole.$stride --log log.$stride --log-every 1
    ./program train $(data corpus) $flags --steps 11 --checkpoint part --overwrite
    ./program train $(data corpus) $flags --steps 30 --checkpoint part --resume
    cmp whole.$stride part || fail "a run resumed with stride $stride and '$options' ends elsewhere"
  done
  ! cmp -s whole.1 whole.7 || fail "the stride changes nothing"
  cat log.1 log.7 | sed -n 's/.*"loss":\([-+0-9.e]*\).*/\1/p' >losses.txt
  rm log.1 log.7
  [ -e first.txt ] || cp losses.txt first.txt
  paste losses.txt first.txt | awk '
    NF != 2 { bad = 1 }
    { d = $1 / $2 - 1; if (d > 1e-5 || d < -1e-5) { print "line " NR ": " $1 ", on one rank " $2; bad = 1 } }
    END { exit bad || NR != 60 }' || fail "other losses with '$options'"
done <<'OPTIONS'

--mesh d=2,t=2 --layout batch:d,hidden:t
--mesh d=2 --layout seq:d
OPTIONS

# An evaluation sees each token once, but for those at the end that fill no window:
# 3741 = 233 windows of 16, 12 tokens, and the target of the last one.
"$meshc" "$models/packed.mesh" -o program
evaluate() { ./program eval --checkpoint whole.1 --threads 1 "$@" </dev/null; }
evaluate $(data corpus) >eval.txt
grep -qx -- "--data: 3741 tokens in 233 windows of 16, one every 16; the last 12 fill no window and are left out" eval.txt ||
  fail "wrong windows: $(cat eval.txt)"
grep -q "^loss .* (233 examples)$" eval.txt || fail "wrong number of examples"
evaluate $(data corpus) --window-stride 1 | grep -q "^loss .* (3725 examples)$" || fail "--window-stride 1 has no effect"

"$tokens" decode --tokenizer characters:vocabulary.json corpus >one.txt
"$tokens" encode --tokenizer characters:vocabulary.json -o one.tokens one.txt

# Windows within documents of 3000, 700 and 41 tokens: 187, 43 and 2 of 16, and 7, 11 and 8 tokens that no window has as
# targets. None has another segment, so the mask is 1.
evaluate $(data corpus) --within-documents >within.txt
grep -qx -- "--data: 3741 tokens in 232 windows of 16, one every 16 in each of 3 documents; 26 fill no window and are left out" within.txt ||
  fail "wrong windows within documents: $(cat within.txt)"
grep -q "^loss .* (232 examples)$" within.txt || fail "wrong number of examples within documents"
# A window of 64 and its target do not fit into the document of 41, of which no token is read.
"$meshc" "$models/packed.mesh" --set seq=64 -o long
./long train $(data corpus) --within-documents --steps 0 --threads 1 </dev/null >long.txt
grep -qx -- "--data: 3741 tokens in 3572 windows of 64, one every 1 in each of 3 documents; 41 fill no window and are left out" long.txt ||
  fail "wrong count of tokens in short documents: $(cat long.txt)"
evaluate $(data one.tokens) --within-documents | sed 1,2d >within.txt
evaluate $(data one.tokens) | sed 1,2d | cmp - within.txt || fail "one document alone has other windows"

# Tokens without a header, as other tools write them; all is one document.
tail -c +129 corpus | head -c $((2 * 3741)) >plain.bin
evaluate $(data plain.bin) --token-type u16 | sed 1,2d >plain.txt
evaluate $(data one.tokens) | sed 1,2d | cmp - plain.txt || fail "tokens without a header are others"
# A file of llm.c: magic number, version and 3741 tokens in a header of 256 numbers, whatever --token-type says.
{ printf '\x88\xd8\x34\x01\x01\0\0\0\x9d\x0e\0\0'; head -c 1012 /dev/zero; cat plain.bin; } >llmc.bin
for type in "" "--token-type u16" "--token-type i32"; do
  evaluate $(data llmc.bin) $type | sed 1,2d | cmp - plain.txt || fail "the tokens of llm.c are others with '$type'"
done
# i32, whose tokens are bytes, is the text itself.
./program train $(data bytes.tokens) --steps 1 --threads 1 --quiet --checkpoint of.bytes </dev/null
of_bytes() { ./program eval --checkpoint of.bytes --threads 1 --window-stride 5 "$@" </dev/null; }
of_bytes $(data bytes.tokens) | sed 1,2d >i32.txt
"$tokens" encode --tokenizer bytes -o u16.tokens texts
grep -q "^loss" i32.txt || fail "the i32 tokens were not evaluated"
of_bytes $(data u16.tokens) | sed 1,2d | cmp - i32.txt || fail "i32 and u16 differ"

# Tokens of another tokenizer are other texts, wherever they are given.
other="data file 'u16.tokens' has tokens of 'bytes', and the model was trained on tokens of 'characters:[0-9a-f]*': give a file"
expect 3 "$other" ./program eval --checkpoint whole.1 $(data u16.tokens)
expect 3 "$other" ./program train $(data u16.tokens) --checkpoint whole.1 --resume --steps 40
expect 3 "$other" ./program train $(data corpus) --eval-data u16.tokens --eval-data segments=@segments \
  --eval-data positions=@positions --eval-data mask=@mask --steps 1
expect 3 "data file 'corpus' has tokens of 'characters:[0-9a-f]*', and the model was trained on tokens of 'bytes': give" \
  ./program eval --checkpoint of.bytes $(data corpus)

# A training run evaluates in the same way, and may have another stride for it.
./program train $(data corpus) --eval-data corpus --eval-data segments=@segments --eval-data positions=@positions \
  --eval-data mask=@mask --eval-window-stride 8 --steps 2 --threads 1 </dev/null >train.txt
grep -q -- "^--data: 3741 tokens in 3725 windows of 16, one every 1$" train.txt || fail "$(cat train.txt)"
grep -q -- "^--eval-data: 3741 tokens in 466 windows of 16, one every 8; the last 4 fill" train.txt || fail "$(cat train.txt)"

expect 0 "^  tokens  .* per rank, numbers below 128$" ./program info

# A file without text is no document, whatever ends the documents.
{ printf '\006\000\000\000'
  for piece in '<unk>' '<s>' '</s>' $(printf '<0x%02X> ' {0..255}) ' ' a b; do
    printf '\000\000\000\000'"\\$(printf %03o ${#piece})"'\000\000\000%s' "$piece"
  done; } >pieces.bin
mkdir ended; printf 'ab a' >ended/a.txt; : >ended/e.txt; : | gzip >ended/f.gz
expect 0 "ended.tokens: 6 tokens \(u16\) of 1 document, 4 bytes; vocabulary 262 \(sentencepiece:" \
  "$tokens" encode --tokenizer sentencepiece:pieces.bin --end-of-text -o ended.tokens ended
expect 3 "the inputs have no text" "$tokens" encode --tokenizer sentencepiece:pieces.bin --end-of-text -o y ended/e.txt ended/f.gz

# What is refused.
"$meshc" "$models/packed.mesh" --set vocab=40 -o small
expect 3 "token file 'corpus' holds token $((characters - 1)), and input 'tokens' of 'packed' takes tokens below 40; compile" \
  ./small train $(data corpus) --steps 1
expect 3 "data file 'all.txt': example .* has token [0-9]+ for input 'tokens', its element .*; expected 0 to 39" \
  ./small train $(data all.txt) --steps 1
cp corpus damaged
printf x | dd of=damaged bs=1 seek=30 conv=notrunc 2>dd.txt
expect 3 "token file 'damaged' has a damaged header" ./program train $(data damaged) --steps 1
cp corpus damaged
printf '\377' | dd of=damaged bs=1 seek=200 conv=notrunc 2>dd.txt
expect 3 "token file 'damaged' has damaged tokens: their checksum is" "$tokens" info damaged
printf N | dd of=damaged bs=1 seek=0 conv=notrunc 2>dd.txt
expect 3 "token file 'damaged' has a damaged header: it begins with other bytes than 'meshctok'; write it again" \
  ./program train $(data damaged) --steps 1
expect 3 "data file 'all.txt' is no token file, and would be read as bytes; the model was trained on tokens of 'characters:[0-9a-f]*': give" \
  ./program eval --checkpoint whole.1 $(data all.txt)
expect 0 "^loss" ./program eval --checkpoint whole.1 $(data all.txt) --token-type u8
expect 3 "data file 'all.txt' is no token file, and would be read as bytes" \
  ./program train $(data all.txt) --checkpoint whole.1 --resume --steps 40
expect 3 "data file 'all.txt' is no token file, and would be read as bytes" \
  ./program train $(data all.txt) --weights whole.1 --steps 1
expect 3 "data file 'all.txt' is no token file, and would be read as bytes" \
  ./program train $(data corpus) --eval-data all.txt $(for spec in $inputs; do echo "--eval-data $spec"; done) --steps 1
cp all.txt text.tokens
expect 3 "data file 'text.tokens' is no token file: it does not begin with 'meshctok'; write it again" ./program train $(data text.tokens) --steps 1
: >empty.txt
expect 3 "data file 'empty.txt' is empty" ./program train $(data empty.txt) --steps 1
expect 2 "'--window-stride' is '0'; expected a whole number from 1" ./program train $(data corpus) --window-stride 0
for i in 1 2 3; do head -c 16 one.txt >short.$i; done
"$tokens" encode --tokenizer characters:vocabulary.json -o short.tokens short.1 short.2 short.3
expect 3 "no document of data file 'short.tokens' has the 17 tokens of a window of 16 and the token after it; compile" \
  ./program eval --checkpoint whole.1 --within-documents $(data short.tokens)
expect 2 "'--token-type' is 'u64'" ./program train $(data corpus) --token-type u64
expect 2 "no data for input 'mask'; give '--eval-data mask=FILE'" \
  ./program train $(data corpus) --eval-data corpus --eval-data segments=@segments --eval-data positions=@positions --steps 1
expect 2 "input 'mask' describes the windows of a corpus, and no corpus is given; give '--eval-data FILE'" \
  ./program train $(data corpus) --eval-data mask=@mask --steps 1
expect 2 "'@maks' is not known of a corpus" ./program train --data corpus --data mask=@maks
expect 2 "'--output' and 'an input' are the same file" "$tokens" encode --tokenizer bytes -o texts/a texts
expect 2 "'x' is not a tokenizer; expected 'bytes'" "$tokens" encode --tokenizer x -o y texts
for command in "encode --tokenizer bytes" characters; do
  expect 2 "'--output' is '-'; expected the name of a file: the output is written as a whole" "$tokens" $command -o - texts
  [ ! -e ./- ] || fail "there is a file called '-'"
done
"$tokens" decode --tokenizer characters:vocabulary.json --first 3740 corpus | cmp - <(tail -c 1 all.txt)
expect 2 "'--first' is 3741, and token file 'corpus' has 3741 tokens; expected 0 to 3740" \
  "$tokens" decode --tokenizer characters:vocabulary.json --first 3741 corpus
expect 2 "'--first' is '-1'; expected a whole number from 0 to 9223372036854775807; see" "$tokens" decode --tokenizer bytes --first -1 corpus
expect 2 "'--type' is 'u8'; expected 'u16' or 'i32'; see" "$tokens" encode --tokenizer bytes --type u8 -o y texts
expect 2 "there is more than one token file; expected one; see" "$tokens" info corpus y
expect 2 "there is no token file; expected one that 'encode' wrote; see" "$tokens" decode --tokenizer bytes
expect 2 "there is no input; expected files or folders of texts; see" "$tokens" characters -o y
head -c 20 vocabulary.json >broken.json
expect 3 "vocabulary 'broken.json' ends early: its JSON text is not complete; expected \{\"characters\"" \
  "$tokens" encode --tokenizer characters:broken.json -o y texts
expect 2 "'enc' is not a command; expected 'encode', 'decode', 'characters' or 'info'" "$tokens" enc
expect 3 "'texts/b.gz': character U\+.* is not in vocabulary" sh -c "
  '$tokens' characters -o few.json texts/more/c && '$tokens' encode --tokenizer characters:few.json -o y texts/b.gz"
expect 3 "folder 'none' contains no files" sh -c "mkdir none; '$tokens' encode --tokenizer bytes -o y none"
expect 3 "the inputs have no text" "$tokens" encode --tokenizer bytes -o y texts/empty
expect 4 "cannot create token file 'no/y'" "$tokens" encode --tokenizer bytes -o no/y texts
[ ! -e y ] && [ ! -e y.meshc-tmp ] || fail "an output was left behind"
echo passed
