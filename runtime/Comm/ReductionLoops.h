//===- ReductionLoops.h - the loops of reductions ---------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Compiled once per instruction set: by Reduction.cpp for any x86-64 and by
/// ReductionAvx2.cpp for x86-64-v3. `Isa`, a type of the including file, keeps
/// the instances apart; nothing inline from the standard library is used here,
/// since the linker would keep one copy of it for both.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_COMM_REDUCTIONLOOPS_H
#define MESHC_RUNTIME_COMM_REDUCTIONLOOPS_H

#include "runtime/Comm/Reduction.h"

namespace meshc::runtime {

/// One reduction with its types fixed.
using ReductionLoop = void (*)(const void *const *sources, int sourceCount,
                               void *const *destinations, int destinationCount,
                               int64_t count);

/// Copies bytes between places that do not overlap.
using CopyLoop = void (*)(const char *from, char *to, size_t bytes);

/// The loops for x86-64-v3.
ReductionLoop findAvx2Loop(const ReductionKind &kind);
CopyLoop avx2CopyLoop();

template <class Isa> struct ReductionLoops {
  static float asFloat(uint32_t bits) {
    float value;
    __builtin_memcpy(&value, &bits, sizeof(value));
    return value;
  }
  static uint32_t asBits(float value) {
    uint32_t bits;
    __builtin_memcpy(&bits, &value, sizeof(bits));
    return bits;
  }

  // The storage type and the accumulation type of each element type.
  struct F32 {
    using Stored = float;
    using Sum = float;
    static float load(float x) { return x; }
    static float store(float x) { return x; }
  };
  struct BF16 {
    using Stored = uint16_t;
    using Sum = float;
    static float load(uint16_t x) { return asFloat(uint32_t(x) << 16); }
    static uint16_t store(float x) {
      uint32_t u = asBits(x);
      uint32_t rounded = (u + 0x7fff + (u >> 16 & 1)) >> 16;
      uint32_t quiet = u >> 16 | 0x40;
      return static_cast<uint16_t>(x != x ? quiet : rounded);
    }
  };
  struct F16 {
    using Stored = uint16_t;
    using Sum = float;
    /// A multiplication adjusts the exponent. It is exact, also for subnormals.
    static float load(uint16_t x) {
      uint32_t magnitude = uint32_t(x & 0x7fff) << 13;
      uint32_t scaled = asBits(asFloat(magnitude) * 0x1p112f);
      uint32_t special = magnitude | 0x7f800000;
      uint32_t bits = magnitude >= 0x0f800000 ? special : scaled;
      return asFloat(bits | uint32_t(x & 0x8000) << 16);
    }
    /// Rounds subnormals by adding a number whose last place equals theirs.
    static uint16_t store(float x) {
      uint32_t u = asBits(x) & 0x7fffffff;
      uint32_t normal = (u - 0x38000000 + 0xfff + (u >> 13 & 1)) >> 13;
      uint32_t subnormal = asBits(asFloat(u) + 0.5f) - 0x3f000000;
      uint32_t special = u > 0x7f800000 ? 0x7e00u : 0x7c00u;
      uint32_t h = u < 0x38800000 ? subnormal : normal;
      h = u >= 0x47800000 ? special : h;
      return static_cast<uint16_t>(h | (asBits(x) >> 16 & 0x8000));
    }
  };
  struct I32 {
    using Stored = int32_t;
    using Sum = int32_t;
    static int32_t load(int32_t x) { return x; }
    static int32_t store(int32_t x) { return x; }
  };
  struct I1 {
    using Stored = uint8_t;
    using Sum = uint8_t;
    static uint8_t load(uint8_t x) { return x; }
    static uint8_t store(uint8_t x) { return x; }
  };

  // Sum, Max, Min and Prod, of two numbers in T.
#define MESHC_REDUCTION(CONSTANT, Kind, name, number, identity, combined)      \
  struct Kind {                                                                \
    template <class T> static T of(T a, T b) { return combined; }              \
  };
#include "meshc/Reductions.def"

  /// As Reductions.def says.
  template <class Op> static float combine(float a, float b) {
    return Op::of(a, b);
  }
  template <class Op> static int32_t combine(int32_t a, int32_t b) {
    return static_cast<int32_t>(
        static_cast<uint32_t>(Op::of(int64_t(a), int64_t(b))));
  }
  template <class Op> static uint8_t combine(uint8_t a, uint8_t b) {
    return Op::of(int(a), int(b)) != 0;
  }

  /// A block of sums stays in the L1 cache while the sources pass.
  template <class Op, class From, class To>
  static void run(const void *const *sources, int sourceCount,
                  void *const *destinations, int destinationCount,
                  int64_t count) {
    constexpr int64_t block = 1024;
    typename From::Sum sums[block];
    for (int64_t begin = 0; begin < count; begin += block) {
      int64_t n = count - begin < block ? count - begin : block;
      const typename From::Stored *first = source<From>(sources[0], begin);
      if (sourceCount == 1) {
        for (int64_t i = 0; i < n; ++i)
          sums[i] = From::load(first[i]);
      } else {
        const typename From::Stored *second = source<From>(sources[1], begin);
        for (int64_t i = 0; i < n; ++i)
          sums[i] = combine<Op>(From::load(first[i]), From::load(second[i]));
      }
      for (int s = 2; s < sourceCount; ++s) {
        const typename From::Stored *next = source<From>(sources[s], begin);
        for (int64_t i = 0; i < n; ++i)
          sums[i] = combine<Op>(sums[i], From::load(next[i]));
      }
      for (int d = 0; d < destinationCount; ++d) {
        typename To::Stored *out =
            static_cast<typename To::Stored *>(destinations[d]) + begin;
        for (int64_t i = 0; i < n; ++i)
          out[i] = To::store(sums[i]);
      }
    }
  }

  /// 128 bytes at a time.
  static void copy(const char *from, char *to, size_t bytes) {
    using Vector [[gnu::vector_size(32), gnu::aligned(1), gnu::may_alias]] =
        char;
    size_t i = 0;
    for (; i + 128 <= bytes; i += 128) {
      Vector a = *reinterpret_cast<const Vector *>(from + i);
      Vector b = *reinterpret_cast<const Vector *>(from + i + 32);
      Vector c = *reinterpret_cast<const Vector *>(from + i + 64);
      Vector d = *reinterpret_cast<const Vector *>(from + i + 96);
      *reinterpret_cast<Vector *>(to + i) = a;
      *reinterpret_cast<Vector *>(to + i + 32) = b;
      *reinterpret_cast<Vector *>(to + i + 64) = c;
      *reinterpret_cast<Vector *>(to + i + 96) = d;
    }
    for (; i < bytes; ++i)
      to[i] = from[i];
  }

  template <class From>
  static const typename From::Stored *source(const void *base, int64_t begin) {
    return static_cast<const typename From::Stored *>(base) + begin;
  }

  template <class From, class To>
  static ReductionLoop findOperation(MeshcReduction reduction) {
    switch (reduction) {
#define MESHC_REDUCTION(CONSTANT, Kind, name, number, identity, combined)      \
  case MESHC_##CONSTANT:                                                       \
    return run<Kind, From, To>;
#include "meshc/Reductions.def"
    }
    return nullptr;
  }

  template <class Half>
  static ReductionLoop findHalf(const ReductionKind &kind) {
    if (kind.from == kind.to)
      return findOperation<Half, Half>(kind.reduction);
    if (kind.from == MESHC_F32)
      return findOperation<F32, Half>(kind.reduction);
    if (kind.to == MESHC_F32)
      return findOperation<Half, F32>(kind.reduction);
    return nullptr;
  }

  /// Null for unsupported combinations of types.
  static ReductionLoop find(const ReductionKind &kind) {
    if (kind.from == MESHC_BF16 || kind.to == MESHC_BF16)
      return findHalf<BF16>(kind);
    if (kind.from == MESHC_F16 || kind.to == MESHC_F16)
      return findHalf<F16>(kind);
    if (kind.from != kind.to)
      return nullptr;
    switch (kind.from) {
    case MESHC_F32:
      return findOperation<F32, F32>(kind.reduction);
    case MESHC_I32:
      return findOperation<I32, I32>(kind.reduction);
    case MESHC_I1:
      return findOperation<I1, I1>(kind.reduction);
    default:
      return nullptr;
    }
  }
};

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_COMM_REDUCTIONLOOPS_H
