//===- Attention.cpp - attention as a call of the runtime -----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// nd.attention and its gradient become calls of the same form: the launch of a
// kernel that is the op alone. On the host its code is the runtime's, for GPUs
// it is generated (lib/Codegen/Gpu/GpuAttention.h).
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/ArenaAttributes.h"
#include "dialects/Exec/AttentionCall.h"
#include "dialects/Exec/AttentionTiles.h"
#include "dialects/Exec/Holder.h"
#include "dialects/Exec/Library.h"
#include "dialects/Exec/Order.h"
#include "dialects/Nd/Ops/AttentionOps.h"

using namespace mlir;

namespace meshc::exec {

static Operation *getHeld(Operation *op) {
  return getHeldOp(cast<LibraryOpInterface>(op));
}

static LogicalResult verifyHolder(Operation *op) {
  Block &block = op->getRegion(0).front();
  auto yield = dyn_cast<YieldOp>(block.getTerminator());
  Operation *held = getHeld(op);
  if (!yield || !held || block.getOperations().size() != 2 ||
      !llvm::equal(held->getOperands(), block.getArguments()) ||
      !llvm::equal(yield.getValues(), held->getResults()))
    return op->emitOpError("must hold '")
           << cast<LibraryOpInterface>(op).getHeldName()
           << "' of its inputs, and yield its results";
  if (block.getArgumentTypes() != op->getOperandTypes() ||
      held->getResultTypes() != op->getResultTypes())
    return op->emitOpError("must have the types of the op that it holds");
  return success();
}

//===----------------------------------------------------------------------===//
// Memory orders
//===----------------------------------------------------------------------===//

namespace {
/// Along which dim the elements of each operand and result lie in sequence;
/// null where they may lie as they like.
struct InnerDims {
  SmallVector<StringAttr> operands, results;

  explicit InnerDims(Operation *held);
};
} // namespace

InnerDims::InnerDims(Operation *held) {
  auto scores = nd::AttentionScores::of(held);
  AttentionLoops loops = *AttentionLoops::of(held);
  operands = {loops.key, loops.key, loops.value};
  operands.append(scores.mask ? 1 : 0, StringAttr());
  operands.append(scores.bias ? 1 : 0, scores.distance);
  operands.append(scores.predicate ? 2 : 0, StringAttr());
  results = {loops.value, StringAttr()};
  if (isa<nd::AttentionGradientOp>(held)) {
    operands.append({loops.value, StringAttr(), loops.value});
    results = {loops.key, loops.key, loops.value};
    results.append(held->getNumResults() - 3, scores.distance);
  }
}

static Order moveLast(Order order, StringAttr dim) {
  llvm::erase(order, dim);
  order.push_back(dim);
  return order;
}

static bool liesAlong(ArrayRef<StringAttr> order, StringAttr dim) {
  return !dim || (!order.empty() && order.back() == dim);
}

/// The rows in the order of the query, then the dim of the values.
static Order getOutputOrder(Operation *held, Order query, StringAttr value) {
  AttentionLoops loops = *AttentionLoops::of(held);
  llvm::erase(query, loops.key);
  query.push_back(value);
  return query;
}

/// The rows in the order of the query, then the distances.
static Order getBiasGradientOrder(Operation *held, Order query) {
  auto scores = nd::AttentionScores::of(held);
  llvm::erase(query, scores.key);
  llvm::erase(query, scores.position);
  query.push_back(scores.distance);
  return query;
}

static void chooseOrdersOf(Operation *op, OrderChooser &orders) {
  Operation *held = getHeld(op);
  InnerDims inner(held);
  for (auto [use, dim] : llvm::zip(op->getOpOperands(), inner.operands)) {
    Order order = orders.getOrder(use.get());
    orders.require(use, liesAlong(order, dim) ? order : moveLast(order, dim));
  }
  auto orderOf = [&](unsigned operand) {
    return orders.getOrder(op->getOperand(operand));
  };
  auto set = [&](unsigned result, const Order &order) {
    orders.setOrder(op->getResult(result), order);
  };
  if (isa<nd::AttentionGradientOp>(held)) {
    // The gradient of the output lies like the output.
    unsigned last = op->getNumOperands() - 1;
    orders.require(op->getOpOperand(last), orderOf(last - 2));
    for (unsigned result = 0; result < 3; ++result)
      set(result, orderOf(result));
    if (op->getNumResults() > 3)
      set(3, getBiasGradientOrder(held, orderOf(0)));
    return;
  }
  StringAttr value = inner.results[0];
  Order output = getOutputOrder(held, orderOf(0), value);
  Order sums(output);
  sums.pop_back();
  std::optional<Order> wanted = orders.getPreferredOrder(op->getResult(0));
  set(0, wanted && liesAlong(*wanted, value) ? *wanted : output);
  set(1, sums);
}

static Order getExpectedOrderOf(Operation *op, unsigned result,
                                DimPrecedence isBefore) {
  Order order;
  for (nd::DimAttr dim : nd::getTensorType(op->getResult(result)).getDims())
    order.push_back(dim.getName());
  llvm::sort(order, isBefore);
  StringAttr last = InnerDims(getHeld(op)).results[result];
  return last ? moveLast(order, last) : order;
}

static LogicalResult verifyCallOf(Operation *op) {
  Operation *held = getHeld(op);
  if (!isComputedByLibrary(held))
    return op->emitOpError("is not one that the target computes in one call");
  InnerDims inner(held);
  auto check = [&](Value value, StringAttr dim) {
    std::optional<Order> order = getOrder(value);
    return order && liesAlong(*order, dim);
  };
  for (auto [value, dim] : llvm::zip(op->getOperands(), inner.operands))
    if (!check(value, dim))
      return op->emitOpError("needs its tensors in memory along '")
             << (dim ? dim.getValue() : "") << "', got " << value.getType();
  for (auto [value, dim] : llvm::zip(op->getResults(), inner.results))
    if (!check(value, dim))
      return op->emitOpError("gives tensors in memory along '")
             << (dim ? dim.getValue() : "") << "', got " << value.getType();
  if (!isa<nd::AttentionGradientOp>(held))
    return success();
  unsigned last = op->getNumOperands() - 1;
  bool liesAlike =
      getOrder(op->getOperand(last)) == getOrder(op->getOperand(last - 2));
  for (unsigned i = 0; i < 3; ++i)
    liesAlike &= getOrder(op->getResult(i)) == getOrder(op->getOperand(i));
  if (!liesAlike)
    return op->emitOpError("needs each gradient in the memory order of its "
                           "tensor");
  return success();
}

//===----------------------------------------------------------------------===//
// The call
//===----------------------------------------------------------------------===//

static bool computesAttention(Operation *held, Library library) {
  return library == Library::Cuda ? AttentionTiles::of(held).has_value()
                                  : AttentionLoops::of(held).has_value();
}

/// The kernel of a GPU has its memory in itself, also where it is emulated.
static SmallVector<LibraryImplementation> listImplementations(Operation *op) {
  if (isForGpus(op->getParentOfType<ModuleOp>()))
    return {{"tiles", true, 0}};
  return {{"blocks", true, describeAttentionSizes(getHeld(op)).scratchBytes}};
}

static void buildLaunch(Operation *op, OpBuilder &builder,
                        const ScheduledCall &call) {
  // A fusion of the op alone, for its kernel.
  MLIRContext *context = op->getContext();
  OpBuilder inPlace(op);
  auto plan = PlanAttr::get(context, {}, {}, StringAttr::get(context, ""), {});
  auto fusion = FusionOp::create(inPlace, op->getLoc(), op->getResultTypes(),
                                 op->getOperands(), plan);
  fusion->setAttr(ordersAttrName, op->getAttr(ordersAttrName));
  Location location = getHeld(op)->getLoc();
  fusion.getBody().takeBody(op->getRegion(0));
  FlatSymbolRefAttr kernel = call.getKernel(fusion, call.inputs, call.results);
  fusion.erase();
  LaunchOp::create(builder, location, kernel, call.inputs, call.results,
                   call.scratch);
}

//===----------------------------------------------------------------------===//
// The ops
//===----------------------------------------------------------------------===//

#define MESHC_ATTENTION_HOLDER(OP, HELD)                                       \
  LogicalResult OP::verify() { return verifyHolder(*this); }                   \
  SmallVector<nd::HostTensor> OP::evaluate(                                    \
      ArrayRef<const nd::HostTensor *> operands,                               \
      const nd::EvaluationContext &context) {                                  \
    return exec::evaluate(getBody().front(), operands, context);               \
  }                                                                            \
  LogicalResult OP::buildGradient(OpBuilder &, ArrayRef<Value>,                \
                                  SmallVectorImpl<Value> &) {                  \
    return reportHolderGradient(*this);                                        \
  }                                                                            \
  nd::PartitionRule OP::getPartitionRule() { return getHolderRule(*this); }    \
  nd::OpCost OP::getCost() { return getHolderCost(*this); }                    \
  StringRef OP::getHeldName() { return nd::HELD::getOperationName(); }         \
  bool OP::computes(Operation *held, Library library) {                        \
    return computesAttention(held, library);                                   \
  }                                                                            \
  SmallVector<LibraryImplementation> OP::getImplementations(Library) {         \
    return listImplementations(*this);                                         \
  }                                                                            \
  Order OP::getExpectedOrder(unsigned result, DimPrecedence isBefore) {        \
    return getExpectedOrderOf(*this, result, isBefore);                        \
  }                                                                            \
  void OP::chooseOrders(OrderChooser &orders) {                                \
    chooseOrdersOf(*this, orders);                                             \
  }                                                                            \
  LogicalResult OP::verifyCall() { return verifyCallOf(*this); }               \
  LogicalResult OP::verifyReady() {                                            \
    return verifyHeldOps(cast<LibraryOpInterface>(getOperation()));            \
  }                                                                            \
  bool OP::mayOverwrite(unsigned, unsigned) { return false; }                  \
  void OP::buildCall(OpBuilder &builder, const ScheduledCall &call) {          \
    buildLaunch(*this, builder, call);                                         \
  }

MESHC_ATTENTION_HOLDER(AttentionOp, AttentionOp)
MESHC_ATTENTION_HOLDER(AttentionGradientOp, AttentionGradientOp)

#undef MESHC_ATTENTION_HOLDER

} // namespace meshc::exec
