#!/usr/bin/env bash
# The number of updates is state: a step whose update is dropped is none for Adam, whether `--on-nonfinite skip` drops
# it, the step itself in f16, or one of them in a run with both. [L7.9]
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/tensors.sh"

# The gradient of w is x / n. Adam's first update is lr times its sign, whatever its size.
cat >model.mesh <<'END'
dim batch = 1, n = 2
model m(x[batch, n], y[batch]) {
  param w[n] ~ ones
  loss = mean(x * w) + mean(y)
}
train m minimize loss with adam(lr = 1)
END
write_f32 x.npy "(3, 2)" '\x00\x00\x80\x7f' '\x00\x00\x80\x3f' '\x00\x00\x80\x3f' '\x00\x00\x80\x3f' '\x00\x00\x80\x3f' '\x00\x00\x80\x3f'
write_f32 y.npy "(3,)" '\x00\x00\x00\x00' '\x00\x00\x80\x7f' '\x00\x00\x00\x00' # step 2: the loss alone is infinite
train() { # OPTIONS...
  rm -f log.jsonl
  ./program train --data x=x.npy --data y=y.npy --no-shuffle --on-nonfinite skip --quiet --log log.jsonl --log-every 1 \
    "$@" >said.txt 2>&1 || fail "train $*: $(cat said.txt)"
}
check() { # WHAT: after three steps, of which the third one alone updates: w = 1 - 1
  tensor all.safetensors w f4 | awk -v what="$1" '
    { n++; bad = bad || $1 > 1e-6 || $1 < -1e-6 }
    END { if (n != 2 || bad) exit 1 }' || fail "$1: w is $(tensor all.safetensors w f4 | tr '\n' ' '), expected 0"
  [ "$(tensor all.safetensors @updates d4 | tr -d ' \n')" = 1 ] || fail "$1: @updates is not 1"
  grep -q '"step":3.*"skipped":2' log.jsonl || fail "$1: $(cat log.jsonl)"
}
while read -r options; do
  "$meshc" model.mesh $options -o program
  train --steps 3 --checkpoint all.safetensors --overwrite
  check "options '$options'"
  # In two runs the same, bit by bit.
  train --steps 2 --checkpoint part.safetensors --overwrite
  train --steps 3 --checkpoint part.safetensors --resume
  cmp all.safetensors part.safetensors || fail "resumed, options '$options'"
  echo "ok '$options'"
done <<'OPTIONS'

--mesh d=2 --layout n:d
--mesh d=2,t=2 --layout n:d,optimizer.n:t
--gpu-kernels=emulated
OPTIONS

# A run whose bad batches are dropped has the state of a run without them (whose Adam is PyTorch's: optimizers.sh).
good=('\x00\x00\x80\x3f' '\x00\x00\x00\x40' '\x00\x00\x40\xc0' '\x00\x00\x00\x3f') # (1, 2), (-3, 0.5)
bad=('\x00\x00\x80\x7f' '\x00\x00\x80\x3f')
zero='\x00\x00\x00\x00'
for optimizer in "adam(lr = 0.1)" "adamw(lr = 0.1)" "lamb(lr = 0.1)" "adafactor(lr = 0.1)"; do
  sed -i "s/with .*/with $optimizer/" model.mesh
  "$meshc" model.mesh -o program
  write_f32 x.npy "(3, 2)" "${good[@]:0:2}" "${bad[@]}" "${good[@]:2}"
  write_f32 y.npy "(3,)" $zero $zero $zero
  train --steps 3 --checkpoint all.safetensors --overwrite
  write_f32 x.npy "(2, 2)" "${good[@]}"
  write_f32 y.npy "(2,)" $zero $zero
  train --steps 2 --checkpoint good.safetensors --overwrite
  for name in w @updates $([[ $optimizer == adaf* ]] && echo w.v || echo w.m w.v); do
    [ "$(tensor all.safetensors $name x4)" = "$(tensor good.safetensors $name x4)" ] ||
      fail "$optimizer: $name is $(tensor all.safetensors $name x4), not $(tensor good.safetensors $name x4)"
  done
  echo "ok $optimizer"
done

# In f16, step 1 drops its own update and halves the scale, and the guard keeps that. The gradients of step 2 are finite.
sed -i 's/with .*/with adam(lr = 1) precision f16(scale = 1024, interval = 1000)/' model.mesh
write_f32 x.npy "(3, 2)" "${bad[@]}" '\x00\x00\x80\x3f' '\x00\x00\x80\x3f' '\x00\x00\x80\x3f' '\x00\x00\x80\x3f'
write_f32 y.npy "(3,)" $zero '\x00\x00\x80\x7f' $zero
for options in "" "--mesh d=2 --layout n:d"; do
  "$meshc" model.mesh $options -o program
  train --steps 3 --checkpoint all.safetensors --overwrite
  check "f16, options '$options'"
  [ "$(tensor all.safetensors @loss_scale f4 | tr -d ' \n')" = 512 ] || fail "f16: the scale is not halved once"
  train --steps 2 --checkpoint part.safetensors --overwrite
  train --steps 3 --checkpoint part.safetensors --resume
  cmp all.safetensors part.safetensors || fail "f16, resumed, options '$options'"
  echo "ok f16 '$options'"
done

# A schedule goes on with step(): the rate of step 3 is 3, of the first update.
sed -i 's/with .*/with adam(lr = cast(step() + 1, f32))/' model.mesh
"$meshc" model.mesh -o program
train --steps 3 --checkpoint all.safetensors --overwrite
tensor all.safetensors w f4 | awk '{ if ($1 > -1.99999 || $1 < -2.00001) exit 1 }' || fail "the schedule does not go on"
"$meshc" --verify model.mesh || fail "--verify"
