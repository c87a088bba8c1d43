#!/usr/bin/env bash
# Letter by letter, an LSTM learns Shakespeare and a GRU learns names, as well as
# PyTorch's cells do, and with the same losses whether the batch is cut or the cells.
# models/text.py made the bounds: each is the worst of five runs in this setting, on
# the last 4,000 bytes of the text, which no run trains on.
. "$(dirname "$0")/lib.sh"
text=${MESHC_DATA:-$root/../shared/data}/text
[ -d "$text" ] || skip "the texts are not at $text (MESHC_DATA)"

check() { # CELL TEXT BOUND
  sed 's/normal(0.5)/normal(0.2)/; s/sgd(lr = 1)/adamw(lr = 0.01, weight_decay = 0)/' "$models/$1.mesh" >$1.mesh
  head -c -4000 "$text/$2.txt" >train.txt
  tail -c 4000 "$text/$2.txt" >held_out.txt
  rm -f first.txt
  while read -r options; do
    "$meshc" $1.mesh --set batch=32 --set seq=24 --set vocab=128 --set model=24 --set hidden=64 $options -o program
    ./program train --data train.txt --steps 300 --seed 1 --threads 1 --quiet --log log.jsonl --log-every 1 \
      --checkpoint trained.safetensors --overwrite </dev/null
    sed -n 's/.*"loss":\([-+0-9.e]*\).*/\1/p' log.jsonl >losses.txt
    rm log.jsonl
    [ -e first.txt ] || cp losses.txt first.txt
    paste losses.txt first.txt | awk '
      NF != 2 { bad = 1 }
      { d = $1 / $2 - 1; if (d > 1e-5 || d < -1e-5) { print "step " NR ": " $1 ", on one rank " $2; bad = 1 } }
      END { exit bad || NR != 300 }' || fail "$1 with '$options': other losses"
    ./program eval --data held_out.txt --window-stride 1 --checkpoint trained.safetensors </dev/null | tee eval.txt
    awk -v bound="$3" '$1 == "loss" { ok = $2 <= bound } END { exit !ok }' eval.txt || fail "$1 with '$options': loss above $3"
  done <<'OPTIONS'

--mesh d=2 --layout batch:d
--mesh t=2 --layout cell:t
--mesh d=2,t=2 --layout batch:d,cell:t,out.vocab:t
OPTIONS
}
check lstm tinyshakespeare 2.2198
check gru names 2.4327
echo passed
