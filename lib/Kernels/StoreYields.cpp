//===- StoreYields.cpp - stacked entries written by the body's kernels ----===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/Alignment.h"
#include "dialects/Exec/Order.h"
#include "dialects/Nd/Ops/LoopOps.h"
#include "lib/Kernels/FusionMerger.h"
#include "lib/Kernels/Passes.h"

using namespace mlir;

namespace meshc::kernels {

#define GEN_PASS_DEF_STOREYIELDS
#include "lib/Kernels/Passes.h.inc"

/// Whether the fusion may have one more result with these dims: it stores such
/// results already, or its loops are these dims.
static bool mayStore(exec::FusionOp fusion, ArrayRef<StringAttr> dims) {
  if (fusion.getNumResults() >= mostResults)
    return false;
  // The kernel of any other op stores its result alone.
  Block &body = fusion.getBody().front();
  if (!llvm::all_of(
          body.without_terminator(),
          llvm::IsaPred<nd::ElementOpInterface, nd::ReduceOpInterface>))
    return false;
  return exec::unite(fusion.getPlan().getParallel(), {}) ==
             exec::unite(dims, {}) ||
         llvm::any_of(fusion.getResults(), [&](Value result) {
           return exec::getDims(result) == dims;
         });
}

/// A fusion that reads the argument at the points of its loops, and may store
/// it; null if there is none.
static exec::FusionOp findReader(BlockArgument argument) {
  exec::DimSet dims = exec::getDims(argument);
  nd::MeshAttr mesh = nd::MeshAttr::of(argument.getOwner()->getParentOp());
  for (OpOperand &use : argument.getUses()) {
    auto fusion = dyn_cast<exec::FusionOp>(use.getOwner());
    if (!fusion || !mayStore(fusion, dims))
      continue;
    Block &body = fusion.getBody().front();
    Value inside = body.getArgument(use.getOperandNumber());
    if (exec::getAlignment(body, mesh).lookup(inside) == dims)
      return fusion;
  }
  return {};
}

/// Replaces the fusion by one with `inside`, a value of its body, as one more
/// result, in the memory order `order`. Returns that result.
static Value addResult(exec::FusionOp fusion, Value inside,
                       const exec::Order &order) {
  SmallVector<Type> types(fusion.getResultTypes());
  types.push_back(inside.getType());
  OpBuilder builder(fusion);
  auto extended = exec::FusionOp::create(builder, fusion.getLoc(), types,
                                         fusion.getInputs(), fusion.getPlan());
  extended->setDiscardableAttrs(fusion->getDiscardableAttrDictionary());
  SmallVector<exec::Order> orders;
  for (Value result : fusion.getResults())
    orders.push_back(exec::getOrder(result).value_or(exec::Order()));
  orders.push_back(order);
  exec::setOrders(extended, orders);
  extended.getBody().takeBody(fusion.getBody());
  cast<exec::YieldOp>(extended.getBody().front().getTerminator())
      .getValuesMutable()
      .append(inside);
  fusion.replaceAllUsesWith(extended.getResults().drop_back());
  fusion.erase();
  return extended.getResults().back();
}

/// The result of a fusion in the body that stores the value, which `yield` has
/// as operand `index`, once more; null if no fusion can.
static Value storeAgain(nd::YieldOp yield, unsigned index) {
  Value value = yield->getOperand(index);
  std::optional<exec::Order> order = exec::getOrder(value);
  if (!order)
    return {};
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    exec::FusionOp fusion = findReader(argument);
    if (!fusion)
      return {};
    auto place =
        llvm::find(fusion.getInputs(), value) - fusion.getInputs().begin();
    return addResult(fusion, fusion.getBody().front().getArgument(place),
                     *order);
  }
  auto fusion = value.getDefiningOp<exec::FusionOp>();
  bool isFirst =
      !llvm::is_contained(yield->getOperands().take_front(index), value);
  if (!fusion || isFirst || !mayStore(fusion, exec::getDims(value)))
    return {};
  Operation *inner = fusion.getBody().front().getTerminator();
  unsigned result = cast<OpResult>(value).getResultNumber();
  return addResult(fusion, inner->getOperand(result), *order);
}

namespace {
struct StoreYields : impl::StoreYieldsBase<StoreYields> {
  void runOnOperation() override {
    getOperation().walk([](nd::ScanOp scan) {
      nd::YieldOp yield = scan.getYield();
      for (unsigned index = scan.getCarriedCount();
           index < yield->getNumOperands(); ++index)
        if (Value stored = storeAgain(yield, index))
          yield->setOperand(index, stored);
    });
  }
};
} // namespace

} // namespace meshc::kernels
