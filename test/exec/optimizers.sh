#!/usr/bin/env bash
# Each optimizer has the losses of PyTorch in double precision, step by step, on one
# device and under a layout that cuts parameters and their state. The table is the
# output of models/optimizers.py.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/losses.sh"
cat >table.txt <<'END'
1.646917 1.404630 1.234551 1.105588 1.004037 0.919747 0.845495 0.776614 sgd(lr = 0.1, weight_decay = 0.1)
1.646917 1.223604 0.884153 0.647650 0.445375 0.260412 0.134380 0.070876 momentum(lr = 0.1, nesterov = 1)
1.646917 1.125322 0.870164 0.653983 0.505416 0.382202 0.288497 0.216375 adam(lr = 0.05, weight_decay = 0.1)
1.646917 1.454522 1.144541 0.842798 0.632905 0.465850 0.383459 0.329176 adamw(lr = 0.05 * schedule(), weight_decay = 0.1)
1.646917 1.349990 1.099737 0.875839 0.694946 0.531930 0.410826 0.305901 lion(lr = 0.02, weight_decay = 0.1)
1.646917 1.253914 0.892491 0.670060 0.445140 0.253498 0.158392 0.129833 lars(lr = 0.5, trust = 0.1, weight_decay = 0.1)
1.646917 0.921430 0.637000 0.440527 0.167341 0.044259 0.029506 0.021456 lamb(lr = 0.1, weight_decay = 0.1)
1.646917 0.955182 1.119189 0.700167 0.496509 0.355890 0.160303 0.082019 adafactor(lr = minimum(0.1, rsqrt(cast(step() + 1, f32))), min_factored = 1)
1.646917 0.946725 0.625809 0.468560 0.328922 0.232556 0.168868 0.125398 adamw(lr = 0.05, weight_decay = 0.2) set *bias -> (weight_decay = 0, lr = 0.2)
1.646917 1.420204 1.222606 1.050251 0.899623 0.763029 0.633044 0.506825 sgd(lr = 0.5) clip 0.3 as norm
1.646917 1.012308 0.747214 0.467858 0.335658 0.189478 0.103605 0.061787 adamw(lr = 0.05) accumulate 2 clip 0.5
END
# From 1/4 to 1 over 4 steps, times half a period of a cosine over 10.
cat >functions.mesh <<'END'
fn schedule() {
  return minimum(cast(step() + 1, f32) / 4, 1) * (0.5 + 0.5 * cos(cast(step(), f32) * (3.14159265358979 / 10)))
}
END

while read -r a b c d e f g h training; do
  losses="$a $b $c $d $e $f $g $h"
  check_losses 2e-5 "$losses" "$training"
  check_losses 2e-5 "$losses" "$training" --mesh d=2,t=2 --layout batch:d,hidden:t,optimizer.class:d,optimizer.to:d
  case $training in
    lamb* | adafactor* | *clip* | *accumulate*)
      check_losses 2e-5 "$losses" "$training" --mesh t=2 --layout hidden:t --gpu-kernels=emulated ;;
  esac
done <table.txt

# The norm of the gradients is printed, also where it is not finite and the update is skipped.
cat >norm.mesh <<'END'
dim b = 2
model m(x[b]: i32) {
  param w[b] ~ ones
  loss = mean(square(w) / cast(x, f32))
}
train m minimize loss with sgd(lr = 0.1) clip 0.5 as norm
END
printf '\0\0\x08\x01\0\0\0\x06\x01\x02\x00\x02\x01\x02' >numbers.idx
"$meshc" norm.mesh -o program
./program train --data x=numbers.idx --no-shuffle --steps 3 --on-nonfinite skip --log log.jsonl --log-every 1 --quiet \
  2>warnings.txt >/dev/null
sed -n 's/.*"norm":\([^,]*\),"skipped":\([0-9]*\).*/\1 \2/p' log.jsonl | tr '\n' ' ' >got.txt
# The gradient is w / x: (1, 1/2) at first, and then that of w less 0.1 * 0.5 / 1.118 times it.
awk '{ exit !(NF == 6 && $1 > 1.11803 && $1 < 1.11804 && $2 == 0 && $3 == "null" && $4 == 1 &&
  $5 > 1.07308 && $5 < 1.07309 && $6 == 1) }' got.txt || fail "norms and skipped steps: $(cat got.txt)"
