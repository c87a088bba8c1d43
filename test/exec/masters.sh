#!/usr/bin/env bash
# Parameters of 16 bits have their value in f32 as optimizer state: updates below their last bit add up. [L7.3]
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/tensors.sh"

# The gradient of w is -x = -1: 1,000 updates by 5e-4, each less than half of the last bit of 1 in bf16 (2^-7) and f16.
model() { # TYPE TRAINING
  cat >model.mesh <<END
dim batch = 2, n = 4
model m(x[batch, n]) {
  param w[n]: $1 ~ ones
  loss = sum(mean(0 - x * cast(w, f32), batch))
}
train m minimize loss with $2
END
}
one='\x00\x00\x80\x3f'
write_f32 x.npy "(2, 4)" $one $one $one $one $one $one $one $one
train() { ./program train --data x=x.npy --quiet "$@" >said.txt 2>&1 || fail "train $*: $(cat said.txt)"; }
all() { # FILE NAME TYPE: the elements, which must be equal
  tensor "$@" | tr -d ' ' | sort -u
}
bits() { case $1 in bf16) echo "$2" ;; *) echo "$3" ;; esac; } # TYPE IN_BF16 IN_F16

for type in bf16 f16; do
  model $type "sgd(lr = 5e-4)"
  while read -r options; do
    "$meshc" model.mesh $options -o program
    train --steps 1000 --checkpoint whole.safetensors --overwrite
    [ "$(all whole.safetensors w x2)" = "$(bits $type 3fc0 3e00)" ] || # 1.5; without the master 1
      fail "$type '$options': w is $(all whole.safetensors w x2) after 1,000 updates"
    all whole.safetensors w.master f4 | awk 'END { exit !(NR == 1 && $1 > 1.4999 && $1 < 1.5001) }' ||
      fail "$type '$options': the master is $(all whole.safetensors w.master f4)"
    [ -e first.$type ] || cp whole.safetensors first.$type
    cmp whole.safetensors first.$type || fail "$type '$options': another checkpoint than on one rank"
    train --steps 500 --checkpoint part.safetensors --overwrite
    train --steps 1000 --checkpoint part.safetensors --resume
    cmp whole.safetensors part.safetensors || fail "$type '$options': the checkpoint of a resumed run"
    echo "ok $type '$options'"
  done <<'OPTIONS'

--mesh d=2 --layout batch:d
--mesh d=2 --layout batch:d,optimizer.n:d
--mesh d=2,t=2 --layout batch:d,n:t,optimizer.n:t+d
--gpu-kernels=emulated
OPTIONS
done

# --weights gives the master what the file has, and the parameter that value rounded: 1.0009765625 is 1 in bf16.
model f32 "sgd(lr = 5e-4)"
sed -i 's/~ ones/~ constant(1.0009765625)/' model.mesh
"$meshc" model.mesh -o program
train --steps 0 --checkpoint f32.safetensors
model bf16 "adamw(lr = 1e-3)"
"$meshc" model.mesh --mesh d=2 --layout batch:d,optimizer.n:d -o program
train --steps 0 --weights f32.safetensors --checkpoint begun.safetensors
[ "$(all begun.safetensors w x2)" = 3f80 ] && [ "$(all begun.safetensors w.master f4)" = 1.0009766 ] ||
  fail "--weights: $(all begun.safetensors w x2), $(all begun.safetensors w.master f4)"

# The averages are those of the masters.
model bf16 "sgd(lr = 5e-4) average 0.5"
"$meshc" model.mesh -o program
train --steps 10 --checkpoint average.safetensors
all average.safetensors w.average f4 | awk '{ exit !($1 > 1.0044 && $1 < 1.0046) }' ||
  fail "the average of the masters is $(all average.safetensors w.average f4)" # 1.005 - 5e-4 * (1 - 2^-10)

# The report counts four bytes more for each element, on each rank a half of them where a rule cuts the state.
model bf16 "sgd(lr = 5e-4)"
expect 0 "optimizer state 16 B," "$meshc" model.mesh --report
expect 0 "optimizer state 8 B," "$meshc" model.mesh --mesh d=2 --layout batch:d,optimizer.n:d --report
for options in "" "--mesh d=2,t=2 --layout batch:d,optimizer.n:t"; do
  "$meshc" model.mesh $options --verify >said.txt 2>&1 || fail "--verify '$options': $(cat said.txt)"
done
