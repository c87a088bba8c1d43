//===- RoundingNoise.cpp - what rounding may do to a program's results ----===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Reference/RoundingNoise.h"
#include "dialects/Nd/Ops/IndexingOps.h"
#include "dialects/Nd/Ops/LoopOps.h"
#include "dialects/Nd/Ops/NormalizationOps.h"
#include "dialects/Nd/Ops/PointwiseOps.h"
#include "dialects/Nd/Ops/ReductionOps.h"
#include <cmath>

using namespace mlir;
using meshc::nd::HostTensor;

namespace meshc::reference {

/// Whether the op adds or multiplies several entries, in an order of the
/// compiler's choice.
static bool isSummation(nd::NamedOpInterface op) {
  return llvm::any_of(op.getPartitionRule().factors, [](const nd::Factor &f) {
    return f.effect == nd::FactorEffect::Reduce && f.size > 1 &&
           (f.reduction == nd::ReductionKind::Sum ||
            f.reduction == nd::ReductionKind::Prod);
  });
}

/// Whether the op may be computed in parts, each rounded to its type: a product
/// of many operands pair by pair, or an operand summed alone over dims that the
/// others do not have.
static bool isComputedInParts(nd::NamedOpInterface op) {
  return op->getNumOperands() > 2 ||
         llvm::any_of(op.getPartitionRule().factors, [](const nd::Factor &f) {
           return f.effect == nd::FactorEffect::Reduce && f.size > 1 &&
                  llvm::is_contained(f.operandDims, StringAttr());
         });
}

/// Whether the op rounds f32 to 16 bits, and all that reads the result is a sum
/// or a cast back to f32. The compiled program may sum first and round the sum.
/// Attention's bias by the distance of two positions is such a case: its
/// gradient is rounded once for each distance, not once for each pair.
static bool mayRoundAfterSum(nd::NamedOpInterface op) {
  auto getType = [](Value value) {
    return nd::getTensorType(value).getElementType();
  };
  auto cast = dyn_cast<nd::CastOp>(*op);
  return cast && getType(cast->getOperand(0)).isF32() &&
         (getType(cast.getResult()).isF16() ||
          getType(cast.getResult()).isBF16()) &&
         llvm::all_of(cast->getUsers(), [&](Operation *user) {
           return isa<nd::ScatterAddOp, nd::ReduceSumOp>(user) ||
                  (isa<nd::CastOp>(user) &&
                   getType(user->getResult(0)).isF32());
         });
}

/// Whether all entries are whole numbers that f32 can add without rounding.
static bool isWhole(const HostTensor &tensor) {
  return llvm::all_of(tensor.data, [](double x) {
    return x == std::floor(x) && std::abs(x) < (1 << 20);
  });
}

// SplitMix64 (Steele, Lea and Flood, 2014).
double RoundingNoise::draw() {
  uint64_t x = state += 0x9e3779b97f4a7c15u;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  x ^= x >> 31;
  return static_cast<double>(x >> 11) * 0x1p-52 - 1;
}

double RoundingNoise::getRelativeError(Type elementType) const {
  auto type = cast<FloatType>(elementType);
  if (!rounds16Bit || type.getWidth() != 16)
    return factor * unitCount * unitF32;
  return factor * std::ldexp(2, -static_cast<int>(type.getFPMantissaWidth()));
}

double RoundingNoise::disturb(double value, Type elementType) {
  value *= 1 + getRelativeError(elementType) * draw();
  // Small numbers of f16 have fewer bits.
  if (rounds16Bit && elementType.isF16())
    value += factor * 0x1p-24 * draw();
  return value;
}

bool RoundingNoise::isComputedExactly(double value, Type elementType) const {
  if (rounds16Bit)
    return nd::roundToElementType(value, elementType) == value;
  return static_cast<float>(value) == value;
}

SmallVector<HostTensor>
RoundingNoise::evaluate(nd::NamedOpInterface op,
                        ArrayRef<const HostTensor *> operands,
                        const nd::EvaluationContext &context) {
  nd::EvaluationContext exact = context;
  exact.roundToType = false;
  SmallVector<HostTensor> results = op.evaluate(operands, exact);
  bool sums = isSummation(op);
  rounds16Bit = alwaysRounds16Bit || (sums && isComputedInParts(op)) ||
                mayRoundAfterSum(op);
  bool isExact = llvm::all_of(results, [&](const HostTensor &result) {
    Type type = result.type.getElementType();
    return !result.type.isFloat() ||
           llvm::all_of(result.data, [&](double value) {
             return isComputedExactly(value, type);
           });
  });
  // The compiled program rounds between the terms of a sum and the parts of a
  // composite, also where the result needs no rounding.
  bool hasParts =
      sums || isa<nd::CompositeOpInterface, nd::FallbackOpInterface>(*op);
  if (hasParts && isExact)
    isExact = llvm::all_of(
        operands, [](const HostTensor *operand) { return isWhole(*operand); });
  bool approximates = hasParts || op.getCost().transcendentals > 0;
  if (isExact || (operands.empty() && !approximates)) {
    exact.roundToType = true;
    return op.evaluate(operands, exact);
  }
  SmallVector<HostTensor> disturbed;
  if (approximates) {
    // A sum that cancels has errors of the size of its terms.
    std::vector<HostTensor> inputs;
    SmallVector<const HostTensor *> pointers;
    for (const HostTensor *operand : operands)
      inputs.push_back(*operand);
    for (HostTensor &input : inputs) {
      if (input.type.isFloat())
        for (double &value : input.data)
          value = disturb(value, input.type.getElementType());
      pointers.push_back(&input);
    }
    disturbed = op.evaluate(pointers, exact);
  }
  for (auto [i, result] : llvm::enumerate(results)) {
    if (!result.type.isFloat())
      continue;
    Type type = result.type.getElementType();
    // The errors of a function of an index, such as a normal random number, are
    // relative to its largest values, also for results close to 0. A logarithm
    // of a sum of at least 1 has those of the sum.
    double scale = isa<nd::LogSoftmaxOp, nd::CrossEntropyOp>(*op) ? 1 : 0;
    if (operands.empty())
      for (double value : result.data)
        scale = std::max({scale, 1.0, std::abs(value)});
    for (auto [j, value] : llvm::enumerate(result.data)) {
      if (hasParts || !isComputedExactly(value, type))
        value = disturb(approximates ? disturbed[i].data[j] : value, type) +
                scale * getRelativeError(type) * draw();
      value = context.round(value, type);
    }
  }
  return results;
}

void widenSpread(MutableArrayRef<double> spreads, const HostTensor &expected,
                 const HostTensor &changed, double factor) {
  for (auto [spread, base, value] :
       llvm::zip(spreads, expected.data, changed.data)) {
    double change = std::abs(value - base) / factor;
    if (change <= spread || (factor != 1 && !std::isfinite(change)))
      continue;
    spread = std::isnan(change) ? HUGE_VAL : change;
  }
}

SmallVector<unsigned> getRunCounts(func::FuncOp function) {
  // A few seconds of the interpreter's time.
  constexpr double most = 50e6;
  double work = 1;
  function.walk([&](nd::NamedOpInterface op) {
    double elements = op.getCost().flops;
    for (Type type : op->getResultTypes())
      elements += cast<nd::TensorType>(type).getElementCount();
    work += elements * static_cast<double>(nd::countRuns(op));
  });
  SmallVector<unsigned> counts = {3, 10, 40};
  for (unsigned more : {200, 1000})
    if (more * work <= most)
      counts.push_back(more);
  return counts;
}

} // namespace meshc::reference
