//===- ReductionKinds.cpp - what each kind of reduction computes ----------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/Interfaces/ReductionKinds.h"
#include "meshc/RuntimeAbi.h"
#include <limits>

using namespace mlir;

namespace meshc::nd {

// NdTypes.td repeats the list, since TableGen cannot read it.
#define MESHC_REDUCTION(CONSTANT, Kind, name, number, identity, combined)      \
  static_assert(int(ReductionKind::Kind) == MESHC_##CONSTANT);
#include "meshc/Reductions.def"
#define MESHC_REDUCTION(CONSTANT, Kind, name, number, identity, combined) +1
static_assert(getMaxEnumValForReductionKind() + 1 == 0
#include "meshc/Reductions.def"
);

namespace {
/// Float: no conversion. I32 and I1: as Reductions.def says.
enum class Values { Float, I32, I1 };

Values getValues(Type elementType) {
  if (isa<FloatType>(elementType))
    return Values::Float;
  return elementType.isInteger(1) ? Values::I1 : Values::I32;
}

#define MESHC_REDUCTION(CONSTANT, Kind, name, number, identity, combined)      \
  template <Values values> double combine##Kind(double x, double y) {          \
    if constexpr (values == Values::Float) {                                   \
      double a = x, b = y;                                                     \
      return combined;                                                         \
    } else {                                                                   \
      auto a = static_cast<int64_t>(x), b = static_cast<int64_t>(y);           \
      int64_t exact = combined;                                                \
      if constexpr (values == Values::I1)                                      \
        return exact != 0;                                                     \
      return static_cast<int32_t>(static_cast<uint32_t>(exact));               \
    }                                                                          \
  }
#include "meshc/Reductions.def"

template <Values values> Combination getCombination(ReductionKind kind) {
  switch (kind) {
#define MESHC_REDUCTION(CONSTANT, Kind, name, number, identity, combined)      \
  case ReductionKind::Kind:                                                    \
    return combine##Kind<values>;
#include "meshc/Reductions.def"
  }
  llvm_unreachable("all kinds are listed");
}
} // namespace

Combination getCombination(ReductionKind kind, Type elementType) {
  switch (getValues(elementType)) {
  case Values::Float:
    return getCombination<Values::Float>(kind);
  case Values::I32:
    return getCombination<Values::I32>(kind);
  case Values::I1:
    return getCombination<Values::I1>(kind);
  }
  llvm_unreachable("all cases are listed");
}

double getIdentity(ReductionKind kind, Type elementType) {
  double lowest = 0, highest = 1;
  switch (getValues(elementType)) {
  case Values::Float:
    highest = std::numeric_limits<double>::infinity();
    lowest = -highest;
    break;
  case Values::I32:
    lowest = std::numeric_limits<int32_t>::min();
    highest = std::numeric_limits<int32_t>::max();
    break;
  case Values::I1:
    break;
  }
  switch (kind) {
#define MESHC_REDUCTION(CONSTANT, Kind, name, number, identity, combined)      \
  case ReductionKind::Kind:                                                    \
    return identity;
#include "meshc/Reductions.def"
  }
  llvm_unreachable("all kinds are listed");
}

} // namespace meshc::nd
