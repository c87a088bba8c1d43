#!/usr/bin/env bash
# foreign-names.sh LIST PARSE: what messages propose in place of names of PyTorch, NumPy and JAX, as LIST prints it, compiles.
# The proposals' code, between grave accents, is put into a model in which names have the meaning that they suggest. Proposals
# that assign to names have a model each.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0
parse=$2
# compile NAME: the statements in NAME.body, each followed by its proposal, make a valid model.
compile() {
  {
    cat <<'MESH'
import nn
let low = -1, high = 1, n = 2, p = 0.5, rate = 0.5, steps = 10, start = 1, count = 2, value = 2, weight = 0.5
dim batch = 4, d = 6, a = 2, b = 3, back = d, copy = 2, three = 3, wave = 3, in = 4, out = 3, row = 2, col = 2, line = 4, tap = 3
dim block = 2, member = 3, model = 4, ffn = 8, heads = 2, key = 2, position = 6, query = position, memory = position, slot = 5
dim edge = 3, vocab = 10, k = 2, other = 2
model m(x[batch, d, position, model, in, row, col], y[batch, d], a[batch, d], b[batch, d], source[batch, memory, model],
  q[batch, position, key], k[batch, memory, key], v[batch, memory, key], logits[batch, d], targets[batch]: i32,
  tokens[batch]: i32, mask[batch, memory]: i1, indices[position]: i32, values[position], edges[edge],
  condition[batch, d]: i1, left[batch]: i1, right[batch]: i1) {
MESH
    cat "$work/$1.body"
    echo "  param used[] ~ ones"
    echo "  loss = mean(x * used)"
    echo "}"
    echo "train m minimize loss with sgd(lr = 0.1)"
  } >"$work/$1.mesh"
  "$parse" "$work/$1.mesh" >"$work/out" 2>&1 && return
  echo "these proposals do not compile:"
  grep -A1 error "$work/out"
  status=1
}
"$1" proposals >"$work/proposals"
count=0
: >"$work/all.body"
while read -r proposal; do
  code=$(grep -oE '`[^`]*`' <<<"$proposal" | tr -d '`' || true)
  [ -n "$code" ] || continue
  count=$((count + 1)) part=0
  body=all
  if grep -qE ' = |^param' <<<"$code"; then
    body=$count
    : >"$work/$body.body"
  fi
  while read -r line; do
    part=$((part + 1))
    case $line in
      "dim back = d") continue ;; # declared above
      param\ * | *[a-z]\ =\ *) ;;
      *) line="result_${count}_$part = $line" ;;
    esac
    echo "  $line // $proposal" | sed -E 's/, …//; s/\bdim\b/d/g' >>"$work/$body.body"
  done <<<"$code"
  [ $body = all ] || compile $body
done <"$work/proposals"
compile all
[ $count -gt 100 ]
exit $status
