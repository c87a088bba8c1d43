#!/usr/bin/env bash
# Whole programs on their own PTX, without a GPU: the CUDA plugin runs on fake CUDA libraries
# (test/runtime/Device/Libraries), which interpret the PTX (test/gpu/ptx). Losses, parameters and the state of the
# optimizer equal those of emulated kernels to the bit, and so do generated texts. Where a model has sin, cos or pow, which
# normal numbers have too (near), losses are close: a GPU takes these from libdevice, the emulation from the host. One program per family of
# ops, on 1 and 4 ranks. MESHC_RANDOM_SEED draws a quarter of the rows.
. "$(dirname "$0")/lib.sh"
[ -d $fashion ] || skip "no $fashion"
ptx_toolkit || skip "no libdevice.10.bc of the CUDA toolkit"
images="--data images=$fashion/t10k-images-idx3-ubyte.gz --data labels=$fashion/t10k-labels-idx1-ubyte.gz"
text="--data /usr/share/common-licenses/GPL-3"
seed=${MESHC_EMULATION_SEED:-$RANDOM}
echo "MESHC_EMULATION_SEED=$seed"

compile() { # OUTPUT OPTION...
  local output=$1
  shift
  "$meshc" $path --mesh $mesh --layout "${layout:-}" --target=cuda "$@" -o $output
}
on_fakes() { # CHIP COMMAND...
  local chip=$1
  shift
  FAKE_CUDA_CHIP=$chip LD_LIBRARY_PATH=$fakes MESHC_PLUGIN_PATH=$plugin FAKE_CUDA_SEED=$seed FAKE_CUDA_GPUS=$ranks \
    MESHC_EMULATION_SEED=$seed "$@" </dev/null
}
train() { # PROGRAM CHIP STEPS OPTION...
  on_fakes $2 ./$1 train $data --steps $3 --seed 3 --threads 1 --ranks $ranks --quiet --checkpoint $1.safetensors \
    --log $1.jsonl --log-every 1 --overwrite "${@:4}"
  sed -n 's/.*"step":[0-9]*,"loss":\([-+0-9.e]*\).*/\1/p' $1.jsonl >$1.txt
}
compare() { # NAME WAY: losses of three steps, and checkpoints
  paste emulated.txt ptx.txt | awk -v way=$2 '
    NF != 2 { bad = 1 }
    { d = ($1 - $2) / $1; if (way == "same" ? $1 != $2 : d > 1e-5 || d < -1e-5) { print "step " NR ": " $2 ", emulated " $1; bad = 1 } }
    END { exit bad || NR != 3 }' || fail "$1: other losses on PTX"
  [ $2 = near ] || cmp emulated.safetensors ptx.safetensors || fail "$1: other parameters on PTX"
}
number=0
while read -r model kind way ranks mesh layout; do
  number=$((number + 1))
  is_drawn $number 4 || continue
  data=$images path=$root/$model.mesh
  [ $kind = images ] || data=$text
  compile ptx "${ptx_options[@]}"
  compile emulated --gpu-kernels=emulated
  # Initial values are normal numbers, which take sin and cos: both begin with those of one.
  train emulated 90 1
  mv emulated.safetensors start.safetensors
  train emulated 90 3 --weights start.safetensors
  train ptx 120 3 --weights start.safetensors
  compare "$model --mesh $mesh" $way
  if grep -q ^generate $path; then
    for program in "emulated 90" "ptx 120"; do
      on_fakes ${program#* } ./${program% *} generate --weights emulated.safetensors --prompt "the" --greedy --quiet \
        --threads 1 --ranks $ranks >${program% *}-written.txt
    done
    [ -s ptx-written.txt ] || fail "$model --mesh $mesh wrote nothing"
    cmp emulated-written.txt ptx-written.txt || fail "$model --mesh $mesh: another text on PTX"
  fi
  echo "ok $model --mesh $mesh"
done <<'PROGRAMS'
test/exec/models/mlp images same 1 one=1
test/gpu/models/transformer text same 1 one=1
test/exec/models/moe text same 1 one=1
test/exec/models/mlp images same 4 d=2,t=2 batch:d,h1:t
test/gpu/models/transformer text same 4 t=2,s=2 heads:t,ffn:t,seq:s
test/exec/models/moe text same 4 d=2,e=2 batch:d,experts:e
test/gpu/models/pointwise images near 1 one=1
test/gpu/models/reductions images same 1 one=1
test/exec/models/recurrent text same 4 d=2,t=2 batch:d,hidden:t
test/gpu/models/reductions images same 4 u=2,d=2 unit:u,batch:d
test/gpu/models/shapes images near 1 one=1
test/gpu/models/attention text same 4 d=2,s=2 batch:d,seq:s
test/exec/models/half images same 1 one=1
test/gpu/models/epilogues images same 4 d=2,t=2 batch:d,second:t,fifth:t
test/exec/models/deep text same 4 d=4 batch:d,parameter.hidden:d,optimizer.hidden:d
PROGRAMS

# What the interpreter finds ends the program: here a barrier is a comment in the PTX that the program holds.
mesh=one=1 layout= ranks=1 data=$images path=$root/test/exec/models/mlp.mesh
compile ptx "${ptx_options[@]}"
LC_ALL=C sed 's|bar\.sync|//r.sync|' ptx >broken
chmod +x broken
if on_fakes 120 ./broken train $data --steps 2 --threads 1 --ranks 1 --quiet >output.txt 2>&1; then
  fail "a program without barriers trains"
fi
grep -q "^fake CUDA: PTX line [0-9]*: '.*' has a race" output.txt || { cat output.txt; fail "the race of a missing barrier is not reported"; }
echo "ok a missing barrier ends the program"
