#!/usr/bin/env bash
# Whole programs for GPUs without a GPU: emulated kernels, run by the CUDA
# plugin on fake CUDA libraries (test/runtime/Device/Libraries), on ranks that
# share a GPU and on ranks with one each, which use NCCL. The losses equal the
# host's. The same for the programs' PTX, which the fake libraries interpret;
# MESHC_RANDOM_SEED draws half of the programs, and a third of these for their PTX.
. "$(dirname "$0")/lib.sh"
[ -d $fashion ] || skip "no $fashion"
images="--data images=$fashion/t10k-images-idx3-ubyte.gz --data labels=$fashion/t10k-labels-idx1-ubyte.gz"
text="--data /usr/share/common-licenses/GPL-3"
seed=${MESHC_EMULATION_SEED:-$RANDOM}
echo "MESHC_EMULATION_SEED=$seed"

losses() { # PROGRAM [OPTION...] -> one loss a line
  local program=$1
  shift
  rm -f log.jsonl
  ./$program train "$@" $data --steps 5 --seed 3 --threads 1 --ranks $ranks --quiet --log log.jsonl --log-every 1 </dev/null
  sed -n 's/.*"step":[0-9]*,"loss":\([-+0-9.e]*\).*/\1/p' log.jsonl
}
on_fakes() { # VARIABLE=VALUE COMMAND...
  local setting=$1
  shift
  (
    export LD_LIBRARY_PATH=$fakes MESHC_PLUGIN_PATH=$plugin FAKE_CUDA_SEED=$seed FAKE_CUDA_GPUS=$ranks MESHC_EMULATION_SEED=$seed
    export "$setting"
    "$@"
  )
}
compare() { # TOLERANCE: host.txt and device.txt have the same five losses
  paste host.txt device.txt | awk -v tolerance=$1 '
    NF != 2 { bad = 1 }
    { d = ($1 - $2) / $1; if (d > tolerance || d < -tolerance) { print "step " NR ": " $2 ", on the host " $1; bad = 1 } }
    END { exit bad || NR != 5 }'
}
check() { # KERNELS CHIP OPTION...: compiles and runs the program of the row
  "$meshc" "$root/$model.mesh" --mesh $mesh --layout "${layout:-}" --target=cuda "${@:3}" -o device
  for gpus in $(printf '%s\n' 1 $ranks | sort -u); do
    FAKE_CUDA_CHIP=$2 on_fakes FAKE_CUDA_GPUS=$gpus losses device >device.txt
    compare $tolerance || fail "$model --mesh $mesh on $gpus GPUs, $1"
    echo "ok $model --mesh $mesh on $gpus GPUs, $1"
  done
}
number=0
while read -r model kind ranks tolerance mesh layout; do
  number=$((number + 1))
  is_drawn $number 2 || continue
  data=$images
  [ $kind = images ] || data=$text
  "$meshc" "$root/$model.mesh" --mesh $mesh --layout "${layout:-}" -o host
  losses host >host.txt
  check emulated 90 --gpu-kernels=emulated
  is_drawn $((number / 2)) 3 || continue
  ! ptx_toolkit || check PTX 120 "${ptx_options[@]}"
done <<'PROGRAMS'
test/exec/models/mlp images 1 1e-4 one=1
test/exec/models/mlp images 4 1e-4 d=2,t=2 batch:d,h1:t
test/exec/models/half images 2 2e-3 d=2 batch:d
test/gpu/models/epilogues images 1 1e-4 one=1
test/gpu/models/epilogues images 4 1e-4 d=2,t=2 batch:d,second:t,fifth:t
python-free-examples/03_char_model/char text 2 1e-4 d=2 batch:d
test/gpu/models/transformer text 1 1e-2 one=1
test/gpu/models/transformer text 4 1e-2 t=2,s=2 heads:t,ffn:t,seq:s
test/exec/models/deep text 4 1e-4 d=4 batch:d,parameter.hidden:d,optimizer.hidden:d
test/exec/models/deep text 4 1e-4 d=2,t=2 batch:d,hidden:t,parameter.model:d
PROGRAMS

# Settings of the run are in the GPU's memory.
ranks=2 data=$images
"$meshc" "$root/test/exec/models/mlp.mesh" --mesh d=2 --layout batch:d -o host
"$meshc" "$root/test/exec/models/mlp.mesh" --mesh d=2 --layout batch:d --target=cuda --gpu-kernels=emulated -o device
losses host --set-setting lr=0.01 >host.txt
on_fakes FAKE_CUDA_GPUS=2 losses device --set-setting lr=0.01 >device.txt
compare 1e-4 || fail "another learning rate"
losses host >device.txt
compare 1e-4 >usual.txt && fail "the learning rate changes nothing"
echo "ok another learning rate"

# If cublasLt refuses all plain products, the plugin's kernels compute them, in
# graphs too.
ranks=2 data=$images
"$meshc" "$root/test/exec/models/mlp.mesh" --mesh d=2 --layout batch:d -o host
"$meshc" "$root/test/exec/models/mlp.mesh" --mesh d=2 --layout batch:d --target=cuda --gpu-kernels=emulated -o device
losses host >host.txt
on_fakes FAKE_CUBLAS_REFUSES=call losses device >device.txt
compare 1e-4 || fail "products that cublasLt refuses"
echo "ok products that cublasLt refuses"

# Summing 16-bit values between GPUs needs memory for blocks, and so do all_to_alls
# (batch:d); 'info' reports the amount that a run allocates. Ranks round their parts of a sum where the type comes from
# 'precision' alone.
sed 's/: bf16 ~/ ~/; s/: f16 ~/ ~/; s/, b\?f16)/, f32)/; s/adamw.*/& precision bf16/' "$root/test/exec/models/half.mesh" >rounded.mesh
for layout in batch:d h1:d; do
  "$meshc" rounded.mesh --mesh d=2 --layout $layout --target=cuda --gpu-kernels=emulated -o device
  planned=$(./device info | sed -n 's/^  blocks of collectives \([0-9]*\) bytes.*/\1/p')
  on_fakes FAKE_CUDA_GPUS=2 ./device train $images --steps 2 --ranks 2 --threads 1 --quiet --memory </dev/null >memory.txt
  grep -q "+ blocks of collectives ${planned:-none} +" memory.txt ||
    { cat memory.txt; fail "info says '$planned' bytes for blocks of collectives with $layout"; }
  echo "ok blocks of collectives take $planned bytes with $layout"
done
# The only collective of h1:d is a sum. NCCL's own sums need none; the fake NCCL refuses them unless the user asked for them.
on_fakes FAKE_NCCL_HALF_SUMS=1 ./device train $images --steps 2 --ranks 2 --threads 1 --quiet --memory --nccl-sums </dev/null >memory.txt
grep -q "+ blocks of collectives 0 +" memory.txt || { cat memory.txt; fail "--nccl-sums takes memory for blocks of collectives"; }
echo "ok --nccl-sums"

# With --nccl-memory, all that NCCL reads and writes is memory that its groups
# know, whether groups are made before it or after; the numbers stay the same.
for program in "half d=2 batch:d" "mlp d=2,t=2 batch:d,h1:t"; do
  read -r model mesh layout <<<"$program"
  ranks=2
  [ "$mesh" = d=2 ] || ranks=4
  "$meshc" "$root/test/exec/models/$model.mesh" --mesh "$mesh" --layout "$layout" --target=cuda --gpu-kernels=emulated -o device
  on_fakes FAKE_CUDA_GPUS=$ranks losses device >plain.txt
  [ -s plain.txt ] || fail "$model --mesh $mesh has no losses"
  on_fakes FAKE_NCCL_REGISTERED=1 losses device --nccl-memory >registered.txt
  diff plain.txt registered.txt || fail "$model --mesh $mesh --nccl-memory"
  on_fakes FAKE_NCCL_REGISTERED=1 losses device >refused.txt 2>&1 || true
  grep -q "memory that is not registered" refused.txt || { cat refused.txt; fail "the fake NCCL does not look at registrations"; }
done
echo "ok --nccl-memory"
