//===- Statistic.cpp - totals over the batches of an evaluation -----------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/Ops/Pointwise.h"
#include "dialects/Nd/Ops/StatisticOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <cmath>

using namespace mlir;

#define GET_OP_CLASSES
#include "dialects/Nd/Ops/Statistic.cpp.inc"

namespace meshc::nd {

void NdDialect::registerStatistic() {
  addOperations<
#define GET_OP_LIST
#include "dialects/Nd/Ops/Statistic.cpp.inc"
      >();
}

LogicalResult RunningSumOp::inferReturnTypes(MLIRContext *,
                                             std::optional<Location> location,
                                             ValueRange operands,
                                             DictionaryAttr, OpaqueProperties,
                                             RegionRange,
                                             SmallVectorImpl<Type> &types) {
  TensorType high = getTensorType(operands[0]);
  for (Value operand : operands)
    if (TensorType type = getTensorType(operand);
        !high || !type || !haveSameGlobalType(type, high) ||
        !high.getElementType().isF32())
      return emitOptionalError(
          location, getShortName<RunningSumOp>(),
          ": the operands must be f32 with the same dims, got ",
          operands[0].getType(), " and ", operand.getType());
  types.push_back(high.getGlobal());
  return success();
}

SmallVector<HostTensor>
RunningSumOp::evaluate(ArrayRef<const HostTensor *> operands,
                       const EvaluationContext &context) {
  bool isRemainder = getRemainder();
  return evaluatePointwise(
      *this, operands, context, [&](ArrayRef<double> x) -> double {
        double sum = x[0] + x[1] + x[2];
        double nearest = context.round(sum, getType().getElementType());
        if (!isRemainder)
          return nearest;
        return std::isfinite(nearest) ? sum - nearest : 0;
      });
}

/// A total has no gradient: evaluations alone compute it.
LogicalResult RunningSumOp::buildGradient(OpBuilder &, ArrayRef<Value>,
                                          SmallVectorImpl<Value> &) {
  return success();
}

PartitionRule RunningSumOp::getPartitionRule() {
  return getPointwiseRule(*this, Linear::None);
}

OpCost RunningSumOp::getCost() { return getElementwiseCost(*this, 3); }

Value RunningSumOp::emitElement(ElementEmitter &emitter,
                                const ElementIndex &index) {
  auto x = getOperandElements(*this, emitter, index);
  if (x.empty())
    return {};
  ElementCode code{emitter};
  Type narrow = x[0].getType(), wide = emitter.builder.getF64Type();
  if (auto vector = dyn_cast<VectorType>(narrow))
    wide = VectorType::get(vector.getShape(), wide);
  for (Value &each : x)
    each = code.make<arith::ExtFOp>(wide, each);
  Value parts = code.make<arith::AddFOp>(x[0], x[1]);
  Value sum = code.make<arith::AddFOp>(parts, x[2]);
  Value nearest = code.make<arith::TruncFOp>(narrow, sum);
  if (!getRemainder())
    return nearest;
  Value rest = code.make<arith::TruncFOp>(
      narrow,
      code.make<arith::SubFOp>(sum, code.make<arith::ExtFOp>(wide, nearest)));
  // Infinite less infinite is no number.
  Value zero = code.constant(rest, 0);
  Value isFinite = code.make<arith::CmpFOp>(
      arith::CmpFPredicate::OLT, code.make<math::AbsFOp>(nearest),
      code.constant(nearest, std::numeric_limits<double>::infinity()));
  return code.make<arith::SelectOp>(isFinite, rest, zero);
}

bool RunningSumOp::supportsLanes(StringRef, int64_t, MeshAttr) { return true; }

OperandDim RunningSumOp::getOperandDim(unsigned operand, StringRef dim) {
  return getSameDim(getOperation()->getOperand(operand), dim);
}

} // namespace meshc::nd
