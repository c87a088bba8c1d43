#!/usr/bin/env bash
# Code for CPUs with AVX2 or AVX-512 is in objects without functions of other files:
# the linker keeps one copy of an inline function for all CPUs, and it may be
# theirs. Without optimization no function is inlined unless it must be.
. "$(dirname "$0")/../../exec/lib.sh"
case $(uname -m) in
x86_64 | amd64) ;;
*) skip "no AVX-512 on $(uname -m)" ;;
esac
for source in Blas/Packed512Kernel Blas/Packed512Bf16Kernel Attention/RowLoopsAvx2 Attention/RowLoops512; do
  name=${source#*/}
  "${CXX:-c++}" -std=c++17 -O0 -mavx512f -mavx512dq -mavx512bw -mavx512vl -mavx512bf16 -mfma \
    -I"$root" -I"$root/include" -c "$root/runtime/$source.cpp" -o $name.o
  shared=$(nm -C --defined-only $name.o | grep -E ' [WVu] ' || true)
  [ -z "$shared" ] || fail "$source.cpp has functions that other files may use: $shared"
done
