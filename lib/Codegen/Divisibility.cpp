//===- Divisibility.cpp - what an index is a multiple of ------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Codegen/Divisibility.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace meshc::codegen {

/// Deeper expressions are not followed: a value may be used many times over.
static constexpr int maxDepth = 12;

static int64_t getDivisor(Value index, int depth) {
  if (depth == 0)
    return 1;
  auto of = [&](Value value) { return getDivisor(value, depth - 1); };
  if (auto argument = dyn_cast<BlockArgument>(index)) {
    auto loop =
        dyn_cast_if_present<scf::ForOp>(argument.getOwner()->getParentOp());
    if (!loop || loop.getInductionVar() != argument)
      return 1;
    return std::min(of(loop.getLowerBound()), of(loop.getStep()));
  }
  // Among powers of two, the smaller divides the larger.
  return llvm::TypeSwitch<Operation *, int64_t>(index.getDefiningOp())
      .Case([](arith::ConstantIndexOp op) {
        uint64_t value = static_cast<uint64_t>(op.value()) | divisorLimit;
        return static_cast<int64_t>(value & -value);
      })
      .Case([&](arith::MulIOp op) {
        return std::min(of(op.getLhs()) * of(op.getRhs()), divisorLimit);
      })
      .Case<arith::AddIOp, arith::SubIOp, arith::RemUIOp, arith::MinSIOp,
            arith::MaxSIOp, arith::MinUIOp>(
          [&](auto op) { return std::min(of(op.getLhs()), of(op.getRhs())); })
      .Case([&](arith::SelectOp op) {
        return std::min(of(op.getTrueValue()), of(op.getFalseValue()));
      })
      .Default([](Operation *) { return int64_t(1); });
}

int64_t getKnownDivisor(Value index) { return getDivisor(index, maxDepth); }

} // namespace meshc::codegen
