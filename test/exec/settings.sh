#!/usr/bin/env bash
# train --set-setting: a run with another value is that of a program whose text has this value, bit for bit, on one
# device, under a layout and as emulated GPU code. Checkpoints record the changes. What a run cannot change is refused.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/losses.sh"
compile() { # PROGRAM TRAINING OPTIONS...
  local program=$1 training=$2
  shift 2
  { grep -v '^train ' "$models/optimizers.mesh"
    echo "train m minimize loss with $training"; } >"$program.mesh"
  "$meshc" "$program.mesh" "$@" -o "$program"
}
train() { # PROGRAM OPTIONS...
  ./"$1" train --data x=x.idx --data y=y.idx --no-shuffle --quiet "${@:2}"
}
# state CHECKPOINT: its tensors, without the metadata.
state() {
  local length
  length=$(od -An -tu8 -N8 "$1" | tr -d ' ')
  tail -c +$((length + 9)) "$1"
}
same() { # CHECKPOINT CHECKPOINT WHAT
  cmp <(state "$1") <(state "$2") || fail "$3: the states differ"
}
begin=(--weights "$models/optimizers.safetensors" --overwrite)

while IFS='|' read -r text settings other; do
  for options in "" "--mesh d=2,t=2 --layout batch:d,hidden:t,optimizer.class:d,optimizer.to:d" "--gpu-kernels=emulated"; do
    compile one "$text" $options
    compile two "$other" $options
    train one "${begin[@]}" --steps 5 --checkpoint unchanged
    train one "${begin[@]}" --steps 5 --checkpoint one.ckpt --set-setting "$settings"
    train two "${begin[@]}" --steps 5 --checkpoint two.ckpt
    same one.ckpt two.ckpt "$text, $settings, $options"
    ! cmp -s <(state unchanged) <(state one.ckpt) || fail "$settings changes nothing: $text $options"
  done
done <<'END2'
sgd(lr = 0.5)|lr=0.1|sgd(lr = 0.1)
momentum(0.1, momentum = 0.9, weight_decay = 0) clip 0.5|lr=0.05,momentum=0.5,weight_decay=0.1,clip=0.25|momentum(0.05, momentum = 0.5, weight_decay = 0.1) clip 0.25
adamw(lr = 0.05, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weight_decay = 0.2) average 0.9|beta1=0,beta2=0.99,epsilon=1e-3,average=0.5|adamw(lr = 0.05, beta1 = 0, beta2 = 0.99, epsilon = 1e-3, weight_decay = 0.2) average 0.5
lamb(lr = 0.1, beta1 = 0.9) set *bias -> (lr = 0.2), *u -> (lr = 0.3)|*bias.lr=0.1,*u.lr=0.2,beta1=0.5|lamb(lr = 0.1, beta1 = 0.5) set *bias -> (lr = 0.1), *u -> (lr = 0.2)
adafactor(lr = 0.1, decay_rate = 0.8, clip_threshold = 1, min_factored = 1)|decay_rate=0.5,clip_threshold=0.25|adafactor(lr = 0.1, decay_rate = 0.5, clip_threshold = 0.25, min_factored = 1)
END2

# The runtime's 1 - beta and -ln beta are those of the reference semantics, in all digits.
compile one "adamw(lr = 0.05, beta1 = 0.8, beta2 = 0.9999, weight_decay = 0.2) average 0.999"
for options in "" "--mesh d=2 --layout batch:d" "--target=cuda"; do
  "$meshc" one.mesh $options --verify >verified.txt || { cat verified.txt; fail "settings $options"; }
done

# A resumed run goes on with what its checkpoint records, until it is given another value or the program's.
compile one "sgd(lr = 0.5) accumulate 2"
compile two "sgd(lr = 0.1) accumulate 2"
train one "${begin[@]}" --steps 8 --checkpoint whole --set-setting lr=0.1
train one "${begin[@]}" --steps 4 --checkpoint part --set-setting lr=0.1
cp part again
expect 0 '^setting lr = 0.1; the program.s value is 0.5$' ./one train --data x=x.idx --data y=y.idx --no-shuffle \
  --steps 8 --resume part --checkpoint part
same part whole "a resumed run"
expect 0 "^  setting lr = 0.1, by '--set-setting'$" ./one info --checkpoint part
cp again default
train one --steps 8 --resume default --checkpoint default --set-setting lr=default
cp again other
train two --steps 4 --resume other --checkpoint other --overwrite
train two "${begin[@]}" --steps 4 --checkpoint other
train one --steps 8 --resume other --checkpoint other
same default other "the program's value"
./one info --checkpoint default | grep -q "by '--set-setting'" && fail "the setting is still recorded"

# A program whose text computes the setting does not take the recorded one, and says so.
compile computed "sgd(lr = 0.5 * rsqrt(cast(step() + 1, f32))) accumulate 2"
expect 0 "^m: warning: the checkpoint's 'lr' = 0.1 is not used: 'lr' is computed in each step \(computed.mesh:[0-9:]*\)" \
  ./computed train --data x=x.idx --data y=y.idx --steps 5 --resume again

# What is refused.
compile one "adamw(lr = 0.5, beta2 = 0.99) set *bias -> (weight_decay = 0) clip 1 average 0.9"
refuses() { # PATTERN OPTIONS...
  expect 2 "$1" ./"$2" train --data x=x.idx --data y=y.idx --steps 1 "${@:3}"
}
refuses "names 'rl', which is no setting of this program; a run can change 'lr', 'beta2', '\*bias.weight_decay', 'clip' and 'average'" \
  one --set-setting rl=1
refuses "unknown option '--lr' \(write '--set-setting lr=0.1'\)" one --lr 0.1
refuses "unknown option '--lr=0.2' \(write '--set-setting lr=0.2'\)" one --lr=0.2
refuses "unknown option '--beta2' \(write '--set-setting beta2=VALUE'\)" one --beta2
refuses "names 'beta3', which is no setting of this program; did you mean 'beta2'\?" one --set-setting beta3=1
refuses "'beta1' is a fixed part of the program, 0.9; .* write it in 'train' \(one.mesh:[0-9:]*\)" one --set-setting beta1=0.5
refuses "'lr' is computed in each step \(computed.mesh:[0-9:]*\)" computed --set-setting lr=0.5
refuses "gives 'lr' the value '-1'; expected a number of f32 that is not negative" one --set-setting lr=-1
refuses "gives 'lr' the value '1e39'; expected a number of f32" one --set-setting lr=1e39
refuses "gives 'beta2' the value '1'; expected a number below 1" one --set-setting beta2=1
refuses "gives 'beta2' the value '0.99999999999'; expected a number below 1" one --set-setting beta2=0.99999999999
refuses "gives 'clip' the value '0'; expected a number above 0" one --set-setting clip=0
refuses "gives 'lr' the value 'nan'; expected" one --set-setting lr=nan
refuses "gives 'lr' the value '1x'; expected a number, or 'default'" one --set-setting lr=1x
refuses "is 'lr'; expected NAME=VALUE" one --set-setting lr
refuses "gives 'lr' twice" one --set-setting lr=1,lr=2
expect 0 '^  \*bias.weight_decay = 0, one.mesh:' ./one info
./one --complete train --set-setting "" | cut -f1 | grep -qx 'clip=' || fail "Tab does not offer 'clip='"

if has_mpi; then
  compile one "sgd(lr = 0.5)" --mesh d=2 --layout batch:d
  expect 10 "'--set-setting'" mpirun -n 1 ./one train --data x=x.idx --data y=y.idx --steps 2 --set-setting lr=1 : \
    -n 1 ./one train --data x=x.idx --data y=y.idx --steps 2 --set-setting lr=2
fi
skip_without_mpi
