#!/usr/bin/env bash
# Kernels for CPUs with AVX-512 are in objects without functions of other files:
# the linker keeps one copy of an inline function for all CPUs, and it may be
# theirs. Without optimization no function is inlined unless it must be.
. "$(dirname "$0")/../../exec/lib.sh"
case $(uname -m) in
x86_64 | amd64) ;;
*) skip "no AVX-512 on $(uname -m)" ;;
esac
for name in Packed512Kernel Packed512Bf16Kernel; do
  "${CXX:-c++}" -std=c++17 -O0 -mavx512f -mavx512dq -mavx512bw -mavx512vl -mavx512bf16 -mfma \
    -I"$root" -I"$root/include" -c "$root/runtime/Blas/$name.cpp" -o $name.o
  shared=$(nm -C --defined-only $name.o | grep -E ' [WVu] ' || true)
  [ -z "$shared" ] || fail "$name.cpp has functions that other files may use: $shared"
done
