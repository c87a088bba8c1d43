# Sourced after lib.sh: the data of models/optimizers.mesh and models/transformer.mesh, and a comparison of their losses with PyTorch's.
{ printf '\0\0\x08\x02\0\0\0\x04\0\0\0\x06'
  printf '\x00\x05\x01\x06\x02\x07\x03\x00\x06\x03\x00\x06\x06\x04\x02\x00\x07\x05\x00\x08\x07\x06\x05\x04'; } >x.idx
{ printf '\0\0\x08\x01\0\0\0\x04'
  printf '\x02\x00\x03\x01'; } >y.idx
# agree TOLERANCE LOSSES WHAT: got.txt has eight losses, each within TOLERANCE of that in LOSSES.
agree() {
  echo "$2" | paste -d ' ' - got.txt | awk -v most="$1" '
    { for (i = 1; i <= 8; ++i) { d = $i - $(i + 8); if (d < -most || d > most) exit 1 } exit NF != 16 }' ||
    fail "$3: losses $(cat got.txt), PyTorch has $2"
}
# check_losses TOLERANCE LOSSES TRAINING OPTIONS...: under `minimize loss with TRAINING`, compiled with OPTIONS, each of
# eight steps has a loss within TOLERANCE of that in LOSSES. The text may use definitions in functions.mesh. $network: the
# model, optimizers if it is not set.
check_losses() {
  local tolerance=$1 wanted=$2 training=$3
  shift 3
  grep -v '^train ' "$models/${network:-optimizers}.mesh" >model.mesh
  [ ! -e functions.mesh ] || cat functions.mesh >>model.mesh
  echo "train m minimize loss with $training" >>model.mesh
  "$meshc" model.mesh "$@" -o program
  ./program train --data x=x.idx --data y=y.idx --weights "$models/${network:-optimizers}.safetensors" \
    --no-shuffle --steps 8 --quiet --log log.jsonl --log-every 1
  sed -n 's/.*"loss":\([-+0-9.e]*\).*/\1/p' log.jsonl | tr '\n' ' ' >got.txt
  rm log.jsonl
  agree "$tolerance" "$wanted" "$training $*"
}
