#!/usr/bin/env bash
# Training in 16 bits: losses near PyTorch's under autocast, step by step and under
# several layouts, of a transformer too; the character model's loss in f32 within 2 %; checkpoints in f32; a
# smaller arena.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/losses.sh"
text=/usr/share/common-licenses/GPL-3
# The output of models/optimizers.py.
cat >table.txt <<'END'
1.647714 1.011711 0.744115 0.470884 0.339922 0.194590 0.115135 0.075023 adamw(lr = 0.05) precision bf16
1.646905 1.012174 0.746295 0.473331 0.342898 0.195031 0.116303 0.075043 adamw(lr = 0.05) precision f16
END
while read -r a b c d e f g h training; do
  losses="$a $b $c $d $e $f $g $h"
  check_losses 0.02 "$losses" "$training"
  check_losses 0.02 "$losses" "$training" --gpu-kernels=emulated
  check_losses 0.02 "$losses" "$training" --mesh t=2 --layout hidden:t
  check_losses 0.02 "$losses" "$training accumulate 2" --mesh d=2,t=2 --layout batch:d,hidden:t,optimizer.class:d,optimizer.to:d
done <table.txt

# Attention too is in 16 bits, as under autocast: the tolerance, and the output of models/transformer.py.
cat >table.txt <<'END'
1e-5 1.520356 1.454012 1.397276 1.341175 1.281435 1.217850 1.153988 1.092334 sgd(lr = 0.1) precision f32
0.005 1.519256 1.454481 1.397620 1.341753 1.280915 1.216962 1.153972 1.092728 sgd(lr = 0.1) precision bf16
0.001 1.520328 1.453980 1.397185 1.341172 1.281420 1.217618 1.153949 1.092251 sgd(lr = 0.1) precision f16
END
while read -r tolerance a b c d e f g h training; do
  losses="$a $b $c $d $e $f $g $h"
  for options in "" "--gpu-kernels=emulated" "--mesh t=2 --layout heads:t,ffn:t" "--mesh d=2,t=2 --layout batch:d,group:t"; do
    network=transformer check_losses "$tolerance" "$losses" "$training" $options
  done
done <table.txt

train() { # PRECISION OPTIONS... -> the loss of an evaluation; program, checkpoint
  sed "s/^train .*/& precision $1/" "$root/python-free-examples/03_char_model/char.mesh" >char.mesh
  "$meshc" char.mesh "${@:2}" -o program
  ./program train --data $text --steps 200 --seed 3 --threads 1 --quiet --checkpoint checkpoint.safetensors --overwrite \
    </dev/null >/dev/null
  ./program eval --data $text --window-stride 16 --checkpoint checkpoint.safetensors | sed -n 's/^loss \([0-9.]*\).*/\1/p'
}
whole=$(train f32 --mesh data=1 --layout batch:data)
for options in "--mesh data=1 --layout batch:data" ""; do
  short=$(train bf16 $options)
  awk -v a="$whole" -v b="$short" 'BEGIN { d = (a - b) / a; exit !(a > 1 && a < 3 && d < 0.02 && d > -0.02) }' ||
    fail "the loss is $short in bf16 $options, $whole in f32"
  echo "loss $short in bf16 $options, $whole in f32"
  # Parameters and the optimizer's state, as they were saved.
  head -c 4000 checkpoint.safetensors | grep -aq '"dtype":"F32"' || fail "no tensor of the checkpoint is f32"
  ! head -c 4000 checkpoint.safetensors | grep -aq '"dtype":"BF16"' || fail "a tensor of the checkpoint is bf16"
done

cat >deep.mesh <<'END'
dim batch = 256, model = 64, ffn = 512, layers = 12
model m(x[batch, model]) {
  h = x
  for layers {
    param up[model, ffn] ~ he(model)
    param down[ffn, model] ~ lecun(ffn)
    h = h + dot(gelu(dot(h, up, model)), down, ffn)
  }
  loss = mean(square(h))
}
train m minimize loss with sgd(lr = 1e-2) precision f32
END
arena() { # PRECISION -> bytes
  sed "s/precision f32/precision $1/" deep.mesh >model.mesh
  "$meshc" model.mesh -o program
  ./program info | sed -n 's/^arena \([0-9]*\) bytes.*/\1/p'
}
whole=$(arena f32)
short=$(arena bf16)
[ $((short * 4)) -lt $((whole * 3)) ] || fail "an arena of $short bytes in bf16, $whole in f32"
echo "arena: $short bytes in bf16, $whole in f32"

# Scales of the loss in f16. Where gradients are infinite, the loss of one repeated batch stays; then it falls.
scales() { # OPTIONS OF TRAIN... -> loss and scale of each step, in log.txt
  ./program train --data x=x.idx --data y=y.idx --weights "$models/optimizers.safetensors" --no-shuffle --quiet \
    --log log.jsonl --log-every 1 "$@"
  sed -n 's/.*"loss":\([^,]*\),"loss_scale":\([0-9]*\).*/\1 \2/p' log.jsonl >log.txt
}
grep -v '^train ' "$models/optimizers.mesh" >model.mesh
echo "train m minimize loss with adamw(lr = 0.01) precision f16(scale = 2 ** 26, interval = 3)" >>model.mesh
while read -r options; do
  "$meshc" model.mesh $options -o program
  rm -f log.jsonl
  scales --steps 24 --checkpoint whole.safetensors --overwrite
  awk '
    NR == 1 && $2 != 2 ^ 26 { bad = "does not begin with 2^26" }
    NR > 1 && $2 < scale && ($2 != scale / 2 || $1 != loss) { bad = "step " NR - 1 " is not skipped" }
    NR > 1 && $2 == scale && $1 == loss { bad = "step " NR - 1 " is skipped" }
    NR > 1 && $2 > scale && ($2 != 2 * scale || good != 2) { bad = "the scale doubles before step " NR }
    NR > 1 { good = $2 == scale ? good + 1 : 0; halved += $2 < scale; doubled += $2 > scale }
    { loss = $1; scale = $2 }
    END { if (NR != 24 || !bad && !(halved >= 4 && doubled >= 1)) bad = NR " steps, " halved " halved, " doubled " doubled"
      if (bad) { print bad; exit 1 } }' log.txt || fail "scales $options: $(cat log.txt)"
  # A run in two parts has the same state.
  mv log.txt whole.txt
  rm log.jsonl
  scales --steps 5 --checkpoint part.safetensors --overwrite
  ./program train --data x=x.idx --data y=y.idx --no-shuffle --quiet --log log.jsonl --log-every 1 --steps 24 \
    --checkpoint part.safetensors --resume
  sed -n 's/.*"loss":\([^,]*\),"loss_scale":\([0-9]*\).*/\1 \2/p' log.jsonl | cmp - whole.txt || fail "resumed, $options"
  cmp whole.safetensors part.safetensors || fail "the checkpoint of a resumed run, $options"
  ./program eval --data x=x.idx --data y=y.idx --checkpoint part.safetensors >/dev/null || fail "eval, $options"
  "$meshc" model.mesh $options --verify >verified.txt 2>&1 || { cat verified.txt >&2; fail "--verify, $options"; }
  echo "ok scales $options: $(cut -d' ' -f2 whole.txt | uniq | tr '\n' ' ')"
done <<'OPTIONS'

--gpu-kernels=emulated
--mesh d=2,t=2 --layout batch:d,hidden:t,optimizer.class:d,optimizer.to:d
OPTIONS

# A skipped step is none for the optimizer: Adam's first update is as large behind 26 of them as behind none.
cat >skip.mesh <<'END'
dim batch = 2, n = 4, o = 4
model skip(x[batch, n]) {
  param w[n, o] ~ ones
  loss = mean(square(dot(x, w, n)))
}
train skip minimize loss with adam(lr = 0.1) precision f16(scale = 2 ** 40, interval = 1000000)
END
write_ones() { # FILE: 4 x 4 of f32, NPY
  printf '\x93NUMPY\x01\x00\x76\x00%-117s\n' "{'descr': '<f4', 'fortran_order': False, 'shape': (4, 4), }" >"$1"
  for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do printf '\x00\x00\x80\x3f' >>"$1"; done
}
write_ones ones.npy
after() { # SCALE STEPS -> losses of the last 6 steps
  sed "s/2 \*\* 40/$1/" skip.mesh >model.mesh
  "$meshc" model.mesh -o program
  rm -f log.jsonl
  ./program train --data x=ones.npy --steps "$2" --quiet --log log.jsonl --log-every 1 >skipped.txt 2>&1
  tail -n 6 log.jsonl | sed 's/.*"loss":\([^,]*\),.*/\1/' | tr '\n' ' '
}
[ "$(after '2 ** 40' 32)" = "$(after '2 ** 14' 6)" ] || fail "Adam's updates differ behind skipped steps"
grep -q '"step":6,' log.jsonl || fail "no six steps: $(cat log.jsonl)"
echo "ok skipped steps do not count for Adam"
