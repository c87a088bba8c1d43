//===- OwnKernels.cpp - the plugin's kernels, for the host ----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Kernels.cu as C++ of the host, whose threads run one after the other: they
/// share nothing. Compiled so that an access of an address that is not aligned
/// ends the process.
///
//===----------------------------------------------------------------------===//
#include "OwnKernels.h"

#include "runtime/Device/Cuda/Kernels.cu"

#include <algorithm>
#include <map>
#include <tuple>

namespace meshc::fake {

[[noreturn]] void violate(const std::string &rule);
void *resolve(const void *address, uint64_t bytes, int gpu);
void *resolveDevice(const void *address, uint64_t bytes, int gpu);

namespace {

/// All arguments of one launch, with host addresses.
template <class Kernel, class... Values>
void runGrid(Kernel kernel, unsigned blocks, unsigned threads,
             Values... values) {
  gridDim.x = blocks;
  blockDim.x = threads;
  for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x)
    for (threadIdx.x = 0; threadIdx.x < threads; ++threadIdx.x)
      kernel(values...);
}

template <class Value> Value valueOf(void *parameter) {
  return *static_cast<Value *>(parameter);
}

using Launch = std::function<Bound(void **, unsigned, unsigned)>;

uint64_t bytesOf(uint8_t type) {
  return type == MESHC_I1 ? 1 : type == MESHC_F32 || type == MESHC_I32 ? 4 : 2;
}

MeshcCudaRuns resolveRuns(const MeshcCudaRuns &runs, int64_t count,
                          uint8_t type, int gpu) {
  int64_t last = count - 1;
  if (runs.stride)
    last = last / runs.runLength * runs.stride + last % runs.runLength;
  auto bytes = static_cast<uint64_t>(std::max<int64_t>(last + 1, 0));
  MeshcCudaRuns found = runs;
  found.base = resolveDevice(runs.base, bytes * bytesOf(type), gpu);
  return found;
}

Launch combineBy(void (*kernel)(const MeshcCudaCombine)) {
  return [=](void **parameters, unsigned blocks, unsigned threads) -> Bound {
    auto order = valueOf<MeshcCudaCombine>(parameters[0]);
    for (uint32_t count : {order.sourceCount, order.destinationCount})
      if (count < 1 || count > MESHC_CUDA_MAX_ARRAYS)
        violate("a reduction of too few or too many arrays");
    return [=](int gpu) {
      MeshcCudaCombine known = order;
      auto resolveAll = [&](MeshcCudaRuns *runs, uint32_t count,
                            MeshcCudaPartials partials) {
        uint8_t type = known.partials == partials ? MESHC_F32 : known.type;
        for (uint32_t i = 0; i < count; ++i)
          runs[i] = resolveRuns(runs[i], known.count, type, gpu);
      };
      resolveAll(known.sources, known.sourceCount, MESHC_CUDA_READS_PARTIALS);
      resolveAll(known.destinations, known.destinationCount,
                 MESHC_CUDA_WRITES_PARTIALS);
      runGrid(kernel, blocks, threads, known);
    };
  };
}

template <class Unit>
Launch transposeBy(void (*kernel)(Unit *, const Unit *, int64_t, int64_t,
                                  int64_t)) {
  return [=](void **parameters, unsigned blocks, unsigned threads) -> Bound {
    auto to = valueOf<void *>(parameters[0]);
    auto from = valueOf<const void *>(parameters[1]);
    auto rows = valueOf<int64_t>(parameters[2]),
         columns = valueOf<int64_t>(parameters[3]),
         units = valueOf<int64_t>(parameters[4]);
    return [=](int gpu) {
      uint64_t bytes =
          static_cast<uint64_t>(rows * columns * units) * sizeof(Unit);
      auto *target = static_cast<Unit *>(resolveDevice(to, bytes, gpu));
      auto *source = static_cast<Unit *>(resolveDevice(from, bytes, gpu));
      if (target < source + bytes / sizeof(Unit) &&
          source < target + bytes / sizeof(Unit))
        violate("blocks are put in order over themselves");
      runGrid(kernel, blocks, threads, target, source, rows, columns, units);
    };
  };
}

Bound bindMark(void **parameters, unsigned blocks, unsigned threads) {
  auto place = valueOf<uint32_t *>(parameters[0]);
  auto value = valueOf<uint32_t>(parameters[1]);
  return [=](int gpu) {
    auto *found =
        static_cast<volatile uint32_t *>(resolve(place, sizeof(uint32_t), gpu));
    runGrid(mark, blocks, threads, found, value);
  };
}

Bound bindMultiply(void **parameters, unsigned blocks, unsigned threads) {
  auto gemm = valueOf<MeshcGemm>(parameters[0]);
  auto a = valueOf<const void *>(parameters[1]),
       b = valueOf<const void *>(parameters[2]);
  auto c = valueOf<void *>(parameters[3]);
  return [=](int gpu) {
    auto span = [&](int64_t rows, int64_t columns, int64_t stride,
                    int64_t batch, uint8_t type) {
      int64_t count =
          gemm.k == 0 && batch != gemm.strideC
              ? 0
              : (rows - 1) * stride + columns + (gemm.batch - 1) * batch;
      return static_cast<uint64_t>(std::max<int64_t>(count, 0)) * bytesOf(type);
    };
    uint64_t bytesA =
        gemm.transA ? span(gemm.k, gemm.m, gemm.lda, gemm.strideA, gemm.type)
                    : span(gemm.m, gemm.k, gemm.lda, gemm.strideA, gemm.type);
    uint64_t bytesB =
        gemm.transB ? span(gemm.n, gemm.k, gemm.ldb, gemm.strideB, gemm.type)
                    : span(gemm.k, gemm.n, gemm.ldb, gemm.strideB, gemm.type);
    uint64_t bytesC = span(gemm.m, gemm.n, gemm.ldc, gemm.strideC, gemm.typeC);
    if (gemm.k == 0)
      bytesA = bytesB = 0;
    runGrid(multiply, blocks, threads, gemm,
            static_cast<const void *>(resolveDevice(a, bytesA, gpu)),
            static_cast<const void *>(resolveDevice(b, bytesB, gpu)),
            resolveDevice(c, bytesC, gpu));
  };
}

std::map<std::string, Launch> makeAll() {
  std::map<std::string, Launch> all;
  // By the macros' names, which the plugin looks up.
#define ADD_COMBINE(type, op)                                                  \
  all["combine_" #type "_" #op] = combineBy(combine_##type##_##op);            \
  all["combine_" #type "_" #op "_vector"] =                                    \
      combineBy(combine_##type##_##op##_vector);
#define ADD_PARTIALS(type, op)                                                 \
  ADD_COMBINE(type, op##_to_f32)                                               \
  ADD_COMBINE(type, op##_of_f32)
#define MESHC_REDUCTION(CONSTANT, Kind, name, number, identity, combined)      \
  ADD_COMBINE(f32, name)                                                       \
  ADD_COMBINE(bf16, name)                                                      \
  ADD_COMBINE(f16, name)                                                       \
  ADD_COMBINE(i32, name)                                                       \
  ADD_COMBINE(i1, name)                                                        \
  ADD_PARTIALS(bf16, name)                                                     \
  ADD_PARTIALS(f16, name)
#include "meshc/Reductions.def"
  all["transpose_1"] = transposeBy(transpose_1);
  all["transpose_2"] = transposeBy(transpose_2);
  all["transpose_4"] = transposeBy(transpose_4);
  all["transpose_8"] = transposeBy(transpose_8);
  all["transpose_16"] = transposeBy(transpose_16);
  all["mark"] = bindMark;
  all["multiply"] = bindMultiply;
  return all;
}

} // namespace

Launch findOwnKernel(const std::string &name) {
  static const std::map<std::string, Launch> all = makeAll();
  auto found = all.find(name);
  return found == all.end() ? Launch() : found->second;
}

} // namespace meshc::fake
