//===- ExchangeBuilder.cpp - an op on blocks that lack entries ------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Partition/ExchangeBuilder.h"
#include "dialects/Nd/Ops/PointwiseOps.h"
#include "dialects/Nd/TensorAttributes.h"
#include "dialects/Spmd/SpmdOps.h"
#include "lib/Partition/CauseName.h"

using namespace mlir;

namespace meshc::partition {

using nd::Factor;
using nd::TensorType;
using reshard::BlockExchange;
using reshard::ExchangePlan;
using spmd::WindowSegments;

namespace {
/// Builds one op as a plan says.
class ExchangeBuilder {
public:
  ExchangeBuilder(Operation &op, const nd::PartitionRule &rule,
                  const ExchangePlan &plan, OpBuilder &builder,
                  nd::MeshAttr mesh)
      : op(op), rule(rule), plan(plan), builder(builder), mesh(mesh) {}

  Operation *build(ValueRange blocks);

private:
  Operation *buildWindow(ValueRange from, TensorType to, StringAttr dim,
                         const WindowSegments &segments, double fill = 0);
  Operation *buildSegments(ValueRange blocks, const Factor &factor);
  void reindex(const BlockExchange &exchange, bool isOperand);
  void widen(const BlockExchange &exchange);
  Operation *buildLocal();
  Operation *narrow(Operation *local);

  Operation &op;
  const nd::PartitionRule &rule;
  const ExchangePlan &plan;
  OpBuilder &builder;
  nd::MeshAttr mesh;
  llvm::SmallVector<Value> operands; ///< of the op on widened blocks
};
} // namespace

Operation *ExchangeBuilder::buildWindow(ValueRange from, TensorType to,
                                        StringAttr dim,
                                        const WindowSegments &segments,
                                        double fill) {
  llvm::SmallVector<int64_t> numbers;
  for (const nd::Segment &segment : segments.list)
    numbers.append({segment.operand, segment.at, segment.from, segment.size});
  DenseI64ArrayAttr repeat;
  if (segments.repeat)
    repeat = builder.getDenseI64ArrayAttr(
        {segments.repeat->at, segments.repeat->from});
  return spmd::WindowOp::create(builder, op.getLoc(), to, dim,
                                builder.getDenseI64ArrayAttr(numbers), repeat,
                                builder.getF64FloatAttr(fill), from);
}

/// The op, which only moves entries along the factor, as one window.
Operation *ExchangeBuilder::buildSegments(ValueRange blocks,
                                          const Factor &factor) {
  Operation *window =
      buildWindow(blocks, plan.resultTypes[0], factor.resultDims[0],
                  {factor.segments}, factor.fill);
  window->setDiscardableAttrs(op.getDiscardableAttrDictionary());
  nd::removeShardings(window);
  setCause(window, op.getResult(0));
  return window;
}

/// Makes indices those of the widened blocks of a value.
void ExchangeBuilder::reindex(const BlockExchange &exchange, bool isOperand) {
  const Factor &factor = rule.factors[exchange.factor];
  nd::Access access = isOperand ? factor.getOperandAccess(exchange.value)
                                : factor.getResultAccess(exchange.value);
  if (!factor.indices || !access.isWindows())
    return;
  TensorType whole = isOperand ? exchange.from : exchange.to;
  Value &indices = operands[*factor.indices];
  indices = spmd::ReindexOp::create(
      builder, op.getLoc(), indices.getType(),
      factor.operandDims[*factor.indices],
      builder.getI64IntegerAttr(access.stride),
      builder.getI64IntegerAttr(access.low),
      builder.getI64IntegerAttr(whole.getSize(exchange.dim.getValue())),
      builder.getI64IntegerAttr(exchange.getBlock(isOperand, mesh)), indices);
}

void ExchangeBuilder::widen(const BlockExchange &exchange) {
  Value &block = operands[exchange.value];
  Operation *window =
      buildWindow(block, exchange.to, exchange.dim, exchange.windows.front());
  setCause(window, op.getOperand(exchange.value));
  block = window->getResult(0);
}

/// The op on the widened blocks.
Operation *ExchangeBuilder::buildLocal() {
  Operation *local = builder.clone(op);
  local->setOperands(operands);
  nd::removeShardings(local);
  for (auto [result, type] : llvm::zip(local->getResults(), plan.resultTypes))
    result.setType(type);
  llvm::SmallVector<unsigned> factors;
  for (const BlockExchange &exchange :
       llvm::concat<const BlockExchange>(plan.operands, plan.results))
    if (!llvm::is_contained(factors, exchange.factor))
      factors.push_back(exchange.factor);
  if (auto resized = dyn_cast<nd::ExchangeOpInterface>(local))
    for (unsigned factor : factors)
      resized.resizeBlock(rule.factors[factor], plan.resultTypes);
  return local;
}

/// The op that adds up the parts of the widened blocks of the only result that
/// belong to a rank's own block.
Operation *ExchangeBuilder::narrow(Operation *local) {
  Operation *last = local;
  for (const BlockExchange &exchange : plan.results) {
    Value widened = last->getResult(0);
    Operation *sum = nullptr;
    for (const WindowSegments &part : exchange.windows) {
      Operation *window = buildWindow(widened, exchange.to, exchange.dim, part);
      setCause(window, op.getResult(0));
      sum = sum ? nd::AddOp::create(builder, op.getLoc(), exchange.to,
                                    sum->getResult(0), window->getResult(0))
                : window;
    }
    last = sum;
  }
  moveAttributes(local, last);
  if (isa<spmd::WindowOp>(last))
    setCause(last, op.getResult(0));
  return last;
}

Operation *ExchangeBuilder::build(ValueRange blocks) {
  if (plan.inSegments)
    return buildSegments(blocks, rule.factors[*plan.inSegments]);
  operands.assign(blocks.begin(), blocks.end());
  for (const BlockExchange &exchange : plan.operands)
    reindex(exchange, /*isOperand=*/true);
  for (const BlockExchange &exchange : plan.results)
    reindex(exchange, /*isOperand=*/false);
  for (const BlockExchange &exchange : plan.operands)
    widen(exchange);
  Operation *local = buildLocal();
  return plan.results.empty() ? local : narrow(local);
}

/// Whether the types are shardings of the values' types; element types may
/// differ, since parts of sums of 16 bits are f32.
static bool areShardings(ArrayRef<TensorType> types, ValueRange values) {
  return types.size() == values.size() &&
         llvm::all_of(llvm::zip(types, values), [](auto pair) {
           auto [type, value] = pair;
           TensorType whole = nd::getTensorType(value);
           return type && whole &&
                  type.withElementType(whole.getElementType()).getGlobal() ==
                      whole.getGlobal();
         });
}

Operation *buildExchange(Operation &op, const nd::PartitionRule &rule,
                         const FactorChoice &choice, ValueRange blocks,
                         OpBuilder &builder, nd::MeshAttr mesh) {
  auto haveTypes = [&](ArrayRef<TensorType> types) {
    return llvm::equal(types, blocks, [](TensorType type, Value block) {
      return block && block.getType() == type;
    });
  };
  if (!areShardings(choice.operandTypes, op.getOperands()) ||
      !areShardings(choice.resultTypes, op.getResults()) ||
      !haveTypes(choice.operandTypes))
    return nullptr;
  auto plan = reshard::planExchange(
      rule, choice.axesOfFactor, choice.operandTypes, choice.resultTypes, mesh);
  if (!plan || (!plan->results.empty() && op.getNumResults() != 1))
    return nullptr;
  return ExchangeBuilder(op, rule, *plan, builder, mesh).build(blocks);
}

} // namespace meshc::partition
