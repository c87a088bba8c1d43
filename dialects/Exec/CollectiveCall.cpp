//===- CollectiveCall.cpp - the calls that collectives become -------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/CollectiveCall.h"
#include "dialects/Exec/Exec.h"
#include "dialects/Exec/Order.h"

using namespace mlir;

namespace meshc::exec {

namespace {
/// A tensor as outer × entries × inner elements; the entries are cut.
struct Blocks {
  int64_t outer = 1, entries = 1, inner = 1;
};
} // namespace

/// Blocks of `whole` along the dim that has more axes in `part`; one block of
/// one entry if there is no such dim.
static Blocks getBlocks(Value whole, Value part, nd::MeshAttr mesh) {
  nd::TensorType type = nd::getTensorType(whole);
  nd::TensorType partType = nd::getTensorType(part);
  Blocks blocks;
  bool isInside = false;
  for (StringAttr dim : getOrder(whole).value_or(Order())) {
    StringRef name = dim.getValue();
    int64_t size = type.getLocalSize(type.getDimIndex(name), mesh);
    if (partType.getDim(name).getAxes().size() >
        type.getDim(name).getAxes().size()) {
      blocks.entries = size;
      isInside = true;
    } else {
      (isInside ? blocks.inner : blocks.outer) *= size;
    }
  }
  return blocks;
}

/// The numbers of one tensor, as in MeshcCollectiveItem.
static SmallVector<int64_t, 6> getItem(spmd::CollectiveKind kind, Value send,
                                       Value recv, nd::MeshAttr mesh) {
  if (kind == spmd::CollectiveKind::Permute) { // nothing is cut
    int64_t size = nd::getTensorType(send).getLocalElementCount(mesh);
    return {1, size, 1, 1, size, 1};
  }
  Blocks out = getBlocks(send, recv, mesh), in = getBlocks(recv, send, mesh);
  switch (kind) {
  case spmd::CollectiveKind::ReduceScatter:
    in = out;
    break;
  case spmd::CollectiveKind::AllGather:
    out = in;
    break;
  case spmd::CollectiveKind::AllReduce:
  case spmd::CollectiveKind::AllToAll:
  case spmd::CollectiveKind::Permute:
    break;
  }
  return {out.outer, out.entries, out.inner, in.outer, in.entries, in.inner};
}

/// As in "all_reduce of 'h' over tensor".
static std::string describe(spmd::CollectiveOpInterface collective) {
  std::string text =
      spmd::stringifyCollectiveKind(collective.getCollectiveKind()).str();
  if (collective->getNumOperands() > 1)
    text += " of " + std::to_string(collective->getNumOperands()) + " tensors";
  else if (StringRef name = spmd::getCause(collective, 0).name; !name.empty())
    text += " of '" + name.str() + "'";
  StringRef separator = " over ";
  for (StringAttr axis : collective.getGroupAxes()) {
    text += separator.str() + axis.getValue().str();
    separator = ", ";
  }
  return text;
}

static void buildCollective(spmd::CollectiveOpInterface collective,
                            OpBuilder &builder, const ScheduledCall &call) {
  nd::MeshAttr mesh = nd::MeshAttr::of(collective);
  spmd::CollectiveKind kind = collective.getCollectiveKind();
  SmallVector<int64_t> items;
  for (auto [send, recv] :
       llvm::zip(collective->getOperands(), collective->getResults()))
    llvm::append_range(items, getItem(kind, send, recv, mesh));
  auto getAxes = [&](ArrayRef<StringAttr> axes) {
    return builder.getArrayAttr(
        SmallVector<Attribute>(axes.begin(), axes.end()));
  };
  std::optional<spmd::AxisOrders> orders = collective.getAxisOrders();
  auto reduction =
      collective.getGroupReduction().value_or(nd::ReductionKind::Sum);
  CollectiveOp::create(
      builder, collective.getLoc(),
      spmd::CollectiveKindAttr::get(builder.getContext(), kind),
      call.ahead ? builder.getUnitAttr() : UnitAttr(),
      nd::ReductionKindAttr::get(builder.getContext(), reduction),
      getAxes(collective.getGroupAxes()),
      orders ? getAxes(orders->senders) : ArrayAttr(),
      orders ? getAxes(orders->receivers) : ArrayAttr(),
      builder.getI64IntegerAttr(orders ? orders->shift : 0),
      orders && orders->round
          ? spmd::RoundAttr::get(builder.getContext(), *orders->round)
          : spmd::RoundAttr(),
      builder.getDenseI64ArrayAttr(items),
      builder.getStringAttr(describe(collective)), call.inputs, call.results);
}

namespace {
/// The interface for a collective of spmd.
template <typename Collective>
struct CollectiveCall
    : ScheduledOpInterface::ExternalModel<CollectiveCall<Collective>,
                                          Collective> {
  /// Blocks are sent as they lie, so that results lie as operands do.
  void chooseOrders(Operation *op, OrderChooser &orders) const {
    for (auto [operand, result] :
         llvm::zip(op->getOpOperands(), op->getResults())) {
      Order order = orders.getOrder(operand.get());
      orders.require(operand, order);
      orders.setOrder(result, order);
    }
  }
  LogicalResult verifyReady(Operation *op) const {
    for (auto [operand, result] :
         llvm::zip(op->getOperands(), op->getResults()))
      if (getOrder(operand) != getOrder(result))
        return op->emitOpError("must keep the memory order of its operands");
    return success();
  }
  bool mayOverwrite(Operation *op, unsigned operand, unsigned result) const {
    return operand == result && cast<Collective>(op).getCollectiveKind() ==
                                    spmd::CollectiveKind::AllReduce;
  }
  void buildCall(Operation *op, OpBuilder &builder,
                 const ScheduledCall &call) const {
    buildCollective(cast<spmd::CollectiveOpInterface>(op), builder, call);
  }
};

template <typename... Collectives> void attach(MLIRContext &context) {
  (Collectives::template attachInterface<CollectiveCall<Collectives>>(context),
   ...);
}
} // namespace

void attachCollectiveCalls(MLIRContext &context) {
  attach<spmd::AllReduceOp, spmd::ReduceScatterOp, spmd::AllGatherOp,
         spmd::AllToAllOp, spmd::PermuteOp>(context);
}

} // namespace meshc::exec
