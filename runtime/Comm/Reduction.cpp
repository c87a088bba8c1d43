//===- Reduction.cpp - several ranks' values become one -------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Comm/Reduction.h"

#include "runtime/Base/Failure.h"
#include "runtime/Base/ProcessorFeatures.h"
#include "runtime/Comm/ReductionLoops.h"

#include <cstring>
#include <string>

using namespace meshc::runtime;

namespace {
struct AnyProcessor {};

/// Whether what ReductionAvx2.cpp is compiled for, x86-64-v3, is here.
bool hasAvx2() {
  static const bool has =
      findMissingFeature("avx2,bmi,bmi2,f16c,fma,lzcnt,movbe").empty();
  return has;
}
} // namespace

MeshcType meshc::runtime::partialType(MeshcType type) {
  return type == MESHC_BF16 || type == MESHC_F16 ? MESHC_F32 : type;
}

void meshc::runtime::copyBytes(void *to, const void *from, size_t bytes) {
  static const CopyLoop loop =
      hasAvx2() ? avx2CopyLoop() : ReductionLoops<AnyProcessor>::copy;
  constexpr size_t fewBytes = 512;
  if (bytes < fewBytes)
    std::memcpy(to, from, bytes);
  else
    loop(static_cast<const char *>(from), static_cast<char *>(to), bytes);
}

void meshc::runtime::reduce(const ReductionKind &kind,
                            const void *const *sources, int sourceCount,
                            void *const *destinations, int destinationCount,
                            int64_t count) {
  ReductionLoop loop =
      hasAvx2() ? findAvx2Loop(kind) : ReductionLoops<AnyProcessor>::find(kind);
  if (!loop)
    throw Failure(
        ExitCode::Internal,
        "a collective has reduction " + std::to_string(kind.reduction) +
            " of type " + std::to_string(kind.from) + " to " +
            std::to_string(kind.to) + ", which the runtime does not know");
  loop(sources, sourceCount, destinations, destinationCount, count);
}
