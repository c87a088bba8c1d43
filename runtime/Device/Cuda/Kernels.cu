//===- Kernels.cu - copies, reductions, the last resort -------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The plugin's own kernels: reductions of collectives, the order of blocks,
/// and matrix products that cuBLAS does not support. nvcc compiles this file to
/// machine code, which the plugin holds as data.
///
//===----------------------------------------------------------------------===//
#include "runtime/Device/CudaPlugin.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace {

__device__ int64_t firstIndex() {
  return int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ int64_t indexStep() { return int64_t(gridDim.x) * blockDim.x; }

// How each type is stored and in what it is accumulated.
struct F32 {
  using Stored = float;
  using Value = float;
  static __device__ float load(float x) { return x; }
  static __device__ float store(float x) { return x; }
};
struct BF16 {
  using Stored = __nv_bfloat16;
  using Value = float;
  static __device__ float load(Stored x) { return __bfloat162float(x); }
  static __device__ Stored store(float x) { return __float2bfloat16_rn(x); }
};
struct F16 {
  using Stored = __half;
  using Value = float;
  static __device__ float load(Stored x) { return __half2float(x); }
  static __device__ Stored store(float x) { return __float2half_rn(x); }
};
struct I32 {
  using Stored = int32_t;
  using Value = int32_t;
  static __device__ int32_t load(int32_t x) { return x; }
  static __device__ int32_t store(int32_t x) { return x; }
};
struct I1 {
  using Stored = uint8_t;
  using Value = uint8_t;
  static __device__ uint8_t load(uint8_t x) { return x; }
  static __device__ uint8_t store(uint8_t x) { return x; }
};

// Sum, Max, Min and Prod, of two numbers in T.
#define MESHC_REDUCTION(CONSTANT, Kind, name, number, identity, combined)      \
  struct Kind {                                                                \
    template <class T> static __device__ T of(T a, T b) { return combined; }   \
  };
#include "meshc/Reductions.def"

// As Reductions.def says.
template <class Op> __device__ float combineTwo(float a, float b) {
  return Op::of(a, b);
}
template <class Op> __device__ int32_t combineTwo(int32_t a, int32_t b) {
  return int32_t(uint32_t(Op::of(int64_t(a), int64_t(b))));
}
template <class Op> __device__ uint8_t combineTwo(uint8_t a, uint8_t b) {
  return Op::of(int(a), int(b)) != 0;
}

template <class Stored>
__device__ Stored *find(const MeshcCudaRuns &runs, int64_t element) {
  auto *base = static_cast<Stored *>(runs.base);
  if (runs.stride == 0)
    return base + element;
  return base + element / runs.runLength * runs.stride +
         element % runs.runLength;
}

/// `count` elements, aligned to what one access moves.
template <class Stored, int count>
constexpr size_t vectorAlignment =
    sizeof(Stored) * count < 16 ? sizeof(Stored) * count : 16;
template <class Stored, int count>
struct alignas(vectorAlignment<Stored, count>) Vector {
  Stored values[count];
};

/// `count` elements of type From from `element` on, which every array has in
/// one run; their reduction has type To.
template <class From, class To, class Op, int count>
__device__ void combineAt(const MeshcCudaCombine &order, int64_t element) {
  using Source = Vector<typename From::Stored, count>;
  using Result = Vector<typename To::Stored, count>;
  auto sourceAt = [&](uint32_t s) {
    return *reinterpret_cast<const Source *>(
        find<typename From::Stored>(order.sources[s], element));
  };
  typename From::Value values[count];
  Source source = sourceAt(0);
#pragma unroll
  for (int i = 0; i < count; ++i)
    values[i] = From::load(source.values[i]);
  for (uint32_t s = 1; s < order.sourceCount; ++s) {
    source = sourceAt(s);
#pragma unroll
    for (int i = 0; i < count; ++i)
      values[i] = combineTwo<Op>(values[i], From::load(source.values[i]));
  }
  Result result;
#pragma unroll
  for (int i = 0; i < count; ++i)
    result.values[i] = To::store(values[i]);
  for (uint32_t d = 0; d < order.destinationCount; ++d)
    *reinterpret_cast<Result *>(
        find<typename To::Stored>(order.destinations[d], element)) = result;
}

/// A single source of the destinations' type, to the bit: not every NaN
/// survives f32.
template <class Type, int count>
__device__ void copyAt(const MeshcCudaCombine &order, int64_t element) {
  using Stored = typename Type::Stored;
  auto at = [&](const MeshcCudaRuns &runs) {
    return reinterpret_cast<Vector<Stored, count> *>(
        find<Stored>(runs, element));
  };
  Vector<Stored, count> vector = *at(order.sources[0]);
  for (uint32_t d = 0; d < order.destinationCount; ++d)
    *at(order.destinations[d]) = vector;
}

template <class From, class To, class Op, int count>
__device__ void combineAll(const MeshcCudaCombine &order) {
  constexpr bool isOneType =
      sizeof(typename From::Stored) == sizeof(typename To::Stored);
  int64_t whole = order.count / count;
  int64_t rest = whole * count + firstIndex();
  bool hasRest = rest < order.count && firstIndex() < count;
  if (isOneType && order.sourceCount == 1) {
    for (int64_t i = firstIndex(); i < whole; i += indexStep())
      copyAt<From, count>(order, i * count);
    if (hasRest)
      copyAt<From, 1>(order, rest);
    return;
  }
  for (int64_t i = firstIndex(); i < whole; i += indexStep())
    combineAt<From, To, Op, count>(order, i * count);
  if (hasRest)
    combineAt<From, To, Op, 1>(order, rest);
}

template <class Index, class Unit>
__device__ void transposeWith(Unit *to, const Unit *from, Index rows,
                              Index columns, Index units) {
  Index all = rows * columns * units;
  for (int64_t at = firstIndex(); at < all; at += indexStep()) {
    auto i = static_cast<Index>(at);
    Index block = i / units, within = i - block * units;
    Index column = block / rows, row = block - column * rows;
    to[i] = from[(row * columns + column) * units + within];
  }
}

/// Divisions of 32 bits take a fraction of the time of those of 64.
template <class Unit>
__device__ void transposeBlocks(Unit *to, const Unit *from, int64_t rows,
                                int64_t columns, int64_t units) {
  if (rows * columns * units <= INT32_MAX)
    transposeWith<uint32_t>(to, from, rows, columns, units);
  else
    transposeWith<int64_t>(to, from, rows, columns, units);
}

__device__ float loadAny(uint8_t type, const void *base, int64_t i) {
  if (type == MESHC_BF16)
    return BF16::load(static_cast<const __nv_bfloat16 *>(base)[i]);
  if (type == MESHC_F16)
    return F16::load(static_cast<const __half *>(base)[i]);
  return static_cast<const float *>(base)[i];
}

__device__ void storeAny(uint8_t type, void *base, int64_t i, float value) {
  if (type == MESHC_BF16)
    static_cast<__nv_bfloat16 *>(base)[i] = BF16::store(value);
  else if (type == MESHC_F16)
    static_cast<__half *>(base)[i] = F16::store(value);
  else
    static_cast<float *>(base)[i] = value;
}

} // namespace

#define COMBINE(name, From, To, Op, count)                                     \
  extern "C" __global__ void combine_##name(                                   \
      const __grid_constant__ MeshcCudaCombine order) {                        \
    combineAll<From, To, Op, 1>(order);                                        \
  }                                                                            \
  extern "C" __global__ void combine_##name##_vector(                          \
      const __grid_constant__ MeshcCudaCombine order) {                        \
    combineAll<From, To, Op, count>(order);                                    \
  }
#define MESHC_REDUCTION(CONSTANT, Kind, name, number, identity, combined)      \
  COMBINE(f32_##name, F32, F32, Kind, 4)                                       \
  COMBINE(bf16_##name, BF16, BF16, Kind, 8)                                    \
  COMBINE(f16_##name, F16, F16, Kind, 8)                                       \
  COMBINE(i32_##name, I32, I32, Kind, 4)                                       \
  COMBINE(i1_##name, I1, I1, Kind, 16)                                         \
  COMBINE(bf16_##name##_to_f32, BF16, F32, Kind, 8)                            \
  COMBINE(f16_##name##_to_f32, F16, F32, Kind, 8)                              \
  COMBINE(bf16_##name##_of_f32, F32, BF16, Kind, 8)                            \
  COMBINE(f16_##name##_of_f32, F32, F16, Kind, 8)
#include "meshc/Reductions.def"

#define TRANSPOSE(bytes, Unit)                                                 \
  extern "C" __global__ void transpose_##bytes(Unit *to, const Unit *from,     \
                                               int64_t rows, int64_t columns,  \
                                               int64_t units) {                \
    transposeBlocks(to, from, rows, columns, units);                           \
  }
TRANSPOSE(1, uint8_t)
TRANSPOSE(2, uint16_t)
TRANSPOSE(4, uint32_t)
TRANSPOSE(8, uint2)
TRANSPOSE(16, uint4)

extern "C" __global__ void mark(volatile uint32_t *place, uint32_t value) {
  if (firstIndex() == 0) {
    *place = value;
    __threadfence_system();
  }
}

/// One thread computes an element of C.
extern "C" __global__ void multiply(const MeshcGemm gemm, const void *a,
                                    const void *b, void *c) {
  int64_t all = gemm.batch * gemm.m * gemm.n;
  for (int64_t i = firstIndex(); i < all; i += indexStep()) {
    int64_t column = i % gemm.n, row = i / gemm.n % gemm.m;
    int64_t entry = i / gemm.n / gemm.m;
    float sum = 0;
    for (int64_t k = 0; k < gemm.k; ++k) {
      int64_t atA = gemm.transA ? k * gemm.lda + row : row * gemm.lda + k;
      int64_t atB = gemm.transB ? column * gemm.ldb + k : k * gemm.ldb + column;
      sum += loadAny(gemm.type, a, entry * gemm.strideA + atA) *
             loadAny(gemm.type, b, entry * gemm.strideB + atB);
    }
    int64_t atC = entry * gemm.strideC + row * gemm.ldc + column;
    if (gemm.accumulate)
      sum += loadAny(gemm.typeC, c, atC);
    storeAny(gemm.typeC, c, atC, sum);
  }
}
