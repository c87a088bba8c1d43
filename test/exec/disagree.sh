#!/usr/bin/env bash
# Ranks that were started with different programs, options or files end before
# the first step, with code 10 and one line that names the ranks, the difference
# and both values.
. "$(dirname "$0")/lib.sh"
skip_without_mpi
export OMPI_MCA_btl_vader_single_copy_mechanism=none
cat >m.mesh <<'MESH'
dim batch = 4, seq = 8, vocab = 256
model m(tokens[batch, seq]: i32) {
  param e[vocab] ~ normal(0.5)
  loss = mean(square(gather(e, tokens, vocab)))
}
train m minimize loss with sgd(lr = 0.1)
MESH
"$meshc" m.mesh --mesh d=2 --layout batch:d -o a
sed 's/0\.1/0.2/' m.mesh | "$meshc" - --mesh d=2 --layout batch:d -o b
cp a copy # the same program by another name
seq 300 >one.txt
seq 301 >longer.txt
seq 300 | sed 's/7/8/' >other.txt # as long as one.txt
train="train --threads 1 --quiet --data"
./a $train one.txt --steps 4 --checkpoint four.safetensors
./a $train one.txt --steps 6 --checkpoint six.safetensors
./a $train one.txt --steps 6 --seed 1 --checkpoint seed1.safetensors

# differ WHAT ARGUMENTS-0 ARGUMENTS-1: the arguments of rank 0 and rank 1.
kinds=0
differ() {
  local what=$1
  rm -f written.safetensors log.txt
  expect 10 "^m: error: the ranks disagree: (.*; )?$what on rank 0 and .* on rank 1(;|$)" \
    mpirun -n 1 $2 : -n 1 $3
  [ "$(grep -c error: output.txt)" = 1 ] || { cat output.txt >&2; fail "$what is told more than once"; }
  [ ! -e written.safetensors ] && [ ! -s log.txt ] || fail "steps were done although $what"
  kinds=$((kinds + 1))
}
one="$train one.txt"
one_loud="train --threads 1 --data one.txt --steps 3"
steps="--steps 3 --log log.txt"
differ "the program is './a' \(model 'm', hash [0-9a-f]+\)" "./a $one $steps" "./b $one $steps"
differ "'--steps' is '3'" "./a $one --steps 3" "./a $one --steps 4"
differ "'--epochs' is '1'" "./a $one --epochs 1" "./a $one --epochs 2"
differ "'--seed' is '7'" "./a $one $steps --seed 7" "./a $one $steps --seed 8"
differ "'--seed' is not given" "./a $one $steps" "./a $one $steps --seed 8"
differ "the file of '--data' for input 'tokens' is 'one.txt' \([0-9]+ bytes, hash [0-9a-f]+\)" \
  "./a $one $steps" "./a $train longer.txt $steps"
differ "the file of '--data' for input 'tokens' is 'one.txt' .*" "./a $one $steps" "./a $train other.txt $steps"
eval="--eval-data one.txt"
differ "'--eval-data' is given" "./a $one $steps $eval" "./a $one $steps"
differ "the file of '--eval-data' for input 'tokens' is .*" "./a $one $steps $eval" "./a $one $steps --eval-data other.txt"
differ "'--eval-every' is '1'" "./a $one $steps $eval --eval-every 1" "./a $one $steps $eval --eval-every 2"
written="--checkpoint written.safetensors"
differ "'--checkpoint' is given" "./a $one $steps $written" "./a $one $steps"
differ "'--save-every' is '1'" "./a $one $steps $written --save-every 1" "./a $one $steps $written --save-every 2"
differ "'--resume' is given" "./a $one --steps 9 --resume four.safetensors" "./a $one --steps 9"
differ "'--keep' is '2'" "./a $one $steps $written --keep 2" "./a $one $steps $written --keep 3"
differ "'--window-stride' is '2'" "./a $one $steps --window-stride 2" "./a $one $steps --window-stride 3"
differ "'--no-shuffle' is given" "./a $one $steps --no-shuffle" "./a $one $steps"
differ "the checkpoint is 'four.safetensors' .*" \
  "./a $one $steps --weights four.safetensors" "./a $one $steps --weights six.safetensors"
differ "the resume point is step 4" "./a $one --steps 9 --resume four.safetensors" "./a $one --steps 9 --resume six.safetensors"
differ "the checkpoint is 'six.safetensors' .*" \
  "./a $one --steps 9 --resume six.safetensors" "./a $one --steps 9 --resume seed1.safetensors"
differ "'--threads' is 1" "./a $one $steps" "./a train --threads 2 --data one.txt --steps 3"
differ "'--trace' is given" "./a $one $steps --trace t.json" "./a $one $steps"
differ "'--trace-steps' is '1'" "./a $one $steps --trace t.json --trace-steps 1" "./a $one $steps --trace t.json --trace-steps 2"
differ "the command is 'train'" "./a $one $steps" "./a eval --threads 1 --data one.txt --checkpoint four.safetensors"
differ "MESHC_GEMM is 'reference'" "-x MESHC_GEMM=reference ./a $one $steps" "./a $one $steps"
differ "the instruction set of products is '[^']*oneDNN: [A-Z0-9_]+\)' \([^)]+.*\)" \
  "./a $one $steps" "-x DNNL_MAX_CPU_ISA=SSE41 ./a $one $steps"
grep -q "; set DNNL_MAX_CPU_ISA on all ranks to the least of them, 'DNNL_MAX_CPU_ISA=SSE41': other" output.txt || { cat output.txt >&2; fail "no remedy"; }
differ "the checkpoint is 'four.safetensors' .*" \
  "./a eval --threads 1 --data one.txt --checkpoint four.safetensors" \
  "./a eval --threads 1 --data one.txt --checkpoint six.safetensors"

# What may differ: the location of files, options that only rank 0 uses, and
# variables that have no effect.
expect 0 "^m: mesh d=2, 2 ranks" mpirun -n 1 -x DNNL_MAX_CPU_ISA=SSE41 ./a $one_loud : -n 1 -x DNNL_MAX_CPU_ISA=SSE41 ./a $one_loud
expect 0 "^m: mesh d=2, 2 ranks" mpirun -n 1 -x DNNL_MAX_CPU_ISA=ALL -x MESHC_GEMM= ./a $one_loud : -n 1 ./a $one_loud
cp one.txt elsewhere.txt
cp four.safetensors elsewhere.safetensors
expect 0 "^m: mesh d=2, 2 ranks" mpirun -n 1 ./a train --threads 1 --data one.txt --steps 9 --resume four.safetensors \
  --log log.txt --memory : -n 1 ./copy $train elsewhere.txt --steps 9 --resume elsewhere.safetensors
# Rank 0 alone writes the checkpoint, so it decides whether a run goes on with it.
for given in "four.safetensors elsewhere.safetensors" "elsewhere.safetensors four.safetensors"; do
  set -- $given
  cp elsewhere.safetensors four.safetensors
  for steps in 4 9; do
    expect 0 "^m: mesh d=2, 2 ranks" mpirun -n 1 ./a train --threads 1 --data one.txt --steps $steps --resume $1 \
      --checkpoint four.safetensors : -n 1 ./a $one --steps $steps --resume $2 --checkpoint four.safetensors
  done
done
echo "$kinds kinds of disagreement, each found before the first step"
