# Sourced by the tests in this folder: paths, and how a test ends.
set -eu
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=${MESHC_BUILD:-$root/build}
meshc=$build/bin/meshc
models=$root/test/exec/models
fashion=/usr/share/datasets/fashion-mnist
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1

fail() {
  echo "FAILED: $*" >&2
  exit 1
}
# Exits with CTest's SKIP_RETURN_CODE.
skip() {
  echo "SKIPPED: $*"
  exit 77
}
# Whether ranks can be processes: mpirun exists, and meshc was built with MPI.
# Otherwise a test runs its other parts and ends with skip_without_mpi.
has_mpi() {
  [ -n "$(command -v mpirun)" ] && [ -e "$build/lib/libmeshc_mpi.so" ]
}
skip_without_mpi() {
  has_mpi || skip "no mpirun, or no libmeshc_mpi.so (meshc was built without MPI); ranks as threads passed"
}
# The fake CUDA libraries, and the plugin that was compiled for them or for CUDA's.
fakes=$build/test/runtime/Device/Libraries
plugin=$fakes/Plugin # made where there is no toolkit
[ -e $plugin ] || plugin=$build/lib
# Sets ptx_options, with which meshc compiles a program of which the fake CUDA runtime can run the PTX alone: its machine
# code is a stub, so that no ptxas is needed. Fails without NVIDIA's libdevice, which sin and cos are linked from.
ptx_toolkit() {
  local place stub=$work/stub
  for place in "${CUDA_HOME:-}" /usr/local/cuda "$(dirname "$(command -v ptxas || echo /none/none)")/.."; do
    [ -e "$place/nvvm/libdevice/libdevice.10.bc" ] || continue
    mkdir -p $stub/bin $stub/nvvm
    ln -sfn "$place/nvvm/libdevice" $stub/nvvm/libdevice
    printf '#!/bin/sh\nfor output; do :; done\necho none >"$output"\n' >$stub/bin/ptxas
    chmod +x $stub/bin/ptxas
    ptx_options=(--cuda-path $stub)
    return 0
  done
  return 1
}
# is_drawn NUMBER PARTS: whether a test that is a sample runs its row NUMBER. MESHC_RANDOM_SEED draws one row of PARTS; without
# it, all run.
is_drawn() {
  [ -z "${MESHC_RANDOM_SEED:-}" ] || [ $((($1 + MESHC_RANDOM_SEED) % $2)) = 0 ]
}
# expect CODE PATTERN COMMAND...: the command exits with CODE and prints a line
# that matches PATTERN (an extended regular expression).
expect() {
  local code=$1 pattern=$2 got=0
  shift 2
  timeout 120 "$@" >output.txt 2>&1 </dev/null || got=$?
  [ "$got" = "$code" ] || { cat output.txt >&2; fail "'$*' exited with $got, wanted $code"; }
  grep -Eq -- "$pattern" output.txt || { cat output.txt >&2; fail "'$*' does not say '$pattern'"; }
}
