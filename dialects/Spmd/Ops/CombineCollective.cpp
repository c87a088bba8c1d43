//===- CombineCollective.cpp - what collectives cost, and one of several --===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/Ops/LoopOps.h"
#include "dialects/Nd/TensorAttributes.h"
#include "dialects/Spmd/Sharding.h"
#include "dialects/Spmd/SpmdOps.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

namespace meshc::spmd {

using nd::MeshAttr;
using nd::ReductionKind;
using nd::TensorType;

static constexpr llvm::StringLiteral causesName = "spmd.causes";

static llvm::SmallVector<AxisTraffic> getTrafficOf(CollectiveOpInterface op,
                                                   TypeRange wholes) {
  MeshAttr mesh = MeshAttr::of(op);
  double bytes = 0;
  for (Type type : wholes)
    bytes += cast<TensorType>(type).getLocalBytes(mesh);
  return getRingTraffic(op.getCollectiveKind(), op.getGroupAxes(), bytes, mesh);
}

bool sendsEntries(CollectiveOpInterface collective) {
  auto scan = dyn_cast<nd::ScanOp>(collective->getParentOp());
  return scan && llvm::all_of(collective->getOperands(), [&](Value operand) {
           auto argument = dyn_cast<BlockArgument>(operand);
           return argument &&
                  scan.getTie(argument).kind == nd::TieKind::StackedOperand;
         });
}

Cause getCause(Operation *op, unsigned index) {
  if (auto causes = op->getAttrOfType<ArrayAttr>(causesName))
    if (index < causes.size())
      if (auto named = dyn_cast<NameLoc>(causes[index]))
        return {named.getName().getValue(), named.getChildLoc()};
  StringAttr name = nd::TensorAttributes::of(op).getName();
  return {name ? name.getValue() : StringRef(), op->getLoc()};
}

void setCause(Operation *op, StringAttr name) {
  Builder builder(op->getContext());
  op->setAttr(causesName,
              builder.getArrayAttr({NameLoc::get(name, op->getLoc())}));
}

void removeCause(Operation *op) { op->removeAttr(causesName); }

void copyCause(Operation *from, Operation *to) {
  nd::copyName(from, to);
  if (Attribute causes = from->getAttr(causesName))
    to->setAttr(causesName, causes);
}

/// One op of the members' kind over all their operands; the lists of dim names
/// (attributes `listNames`) are joined.
static Operation *combineMembers(OpBuilder &builder,
                                 ArrayRef<Operation *> members,
                                 ArrayRef<StringRef> listNames) {
  llvm::SmallVector<Location> locations;
  llvm::SmallVector<Value> operands;
  llvm::SmallVector<Type> types;
  llvm::SmallVector<Attribute> causes;
  NamedAttrList attributes(members.front()->getAttrDictionary());
  for (Operation *member : members) {
    for (unsigned i = 0; i < member->getNumOperands(); ++i) {
      Cause cause = getCause(member, i);
      causes.push_back(
          NameLoc::get(builder.getStringAttr(cause.name), cause.location));
    }
    locations.push_back(member->getLoc());
    llvm::append_range(operands, member->getOperands());
    llvm::append_range(types, member->getResultTypes());
  }
  for (StringRef name : listNames) {
    llvm::SmallVector<Attribute> joined;
    for (Operation *member : members)
      llvm::append_range(joined, member->getAttrOfType<ArrayAttr>(name));
    attributes.set(name, builder.getArrayAttr(joined));
  }
  nd::removeName(attributes);
  attributes.set(causesName, builder.getArrayAttr(causes));
  OperationState state(builder.getFusedLoc(locations),
                       members.front()->getName(), operands, types, attributes);
  return builder.create(state);
}

CollectiveKind AllReduceOp::getCollectiveKind() {
  return CollectiveKind::AllReduce;
}
AxisList AllReduceOp::getGroupAxes() { return getNames(getAxes()); }
std::optional<ReductionKind> AllReduceOp::getGroupReduction() {
  return getReduction();
}
std::optional<AxisOrders> AllReduceOp::getAxisOrders() { return {}; }
llvm::SmallVector<AxisTraffic> AllReduceOp::getTraffic() {
  return getTrafficOf(*this, getInputs().getTypes());
}
Operation *AllReduceOp::createCombined(OpBuilder &builder,
                                       ArrayRef<Operation *> members) {
  return combineMembers(builder, members, {});
}

CollectiveKind ReduceScatterOp::getCollectiveKind() {
  return CollectiveKind::ReduceScatter;
}
AxisList ReduceScatterOp::getGroupAxes() { return getNames(getAxes()); }
std::optional<ReductionKind> ReduceScatterOp::getGroupReduction() {
  return getReduction();
}
std::optional<AxisOrders> ReduceScatterOp::getAxisOrders() { return {}; }
llvm::SmallVector<AxisTraffic> ReduceScatterOp::getTraffic() {
  return getTrafficOf(*this, getInputs().getTypes());
}
Operation *ReduceScatterOp::createCombined(OpBuilder &builder,
                                           ArrayRef<Operation *> members) {
  return combineMembers(builder, members, {"dims"});
}

CollectiveKind AllGatherOp::getCollectiveKind() {
  return CollectiveKind::AllGather;
}
AxisList AllGatherOp::getGroupAxes() { return getNames(getAxes()); }
std::optional<ReductionKind> AllGatherOp::getGroupReduction() {
  return std::nullopt;
}
std::optional<AxisOrders> AllGatherOp::getAxisOrders() { return {}; }
llvm::SmallVector<AxisTraffic> AllGatherOp::getTraffic() {
  return getTrafficOf(*this, getResultTypes());
}
Operation *AllGatherOp::createCombined(OpBuilder &builder,
                                       ArrayRef<Operation *> members) {
  return combineMembers(builder, members, {"dims"});
}

CollectiveKind AllToAllOp::getCollectiveKind() {
  return CollectiveKind::AllToAll;
}
AxisList AllToAllOp::getGroupAxes() { return getNames(getAxes()); }
std::optional<ReductionKind> AllToAllOp::getGroupReduction() {
  return std::nullopt;
}
std::optional<AxisOrders> AllToAllOp::getAxisOrders() { return {}; }
llvm::SmallVector<AxisTraffic> AllToAllOp::getTraffic() {
  return getTrafficOf(*this, getInputs().getTypes());
}
Operation *AllToAllOp::createCombined(OpBuilder &builder,
                                      ArrayRef<Operation *> members) {
  return combineMembers(builder, members, {"from", "to"});
}

/// The share of the ranks that send to another one in the round.
static double getSenderShare(const MeshcRound &round, int64_t ranks) {
  int64_t senders = 0;
  for (int64_t sender = 0; sender < ranks; ++sender) {
    int64_t receiver = getReceiverIn(round, sender, ranks);
    senders += receiver != nobody && receiver != sender;
  }
  return double(senders) / double(ranks);
}

CollectiveKind PermuteOp::getCollectiveKind() {
  return CollectiveKind::Permute;
}
AxisList PermuteOp::getGroupAxes() {
  AxisList axes = getNames(getSenders());
  sortByMesh(axes, MeshAttr::of(*this));
  return axes;
}
std::optional<ReductionKind> PermuteOp::getGroupReduction() {
  return std::nullopt;
}
std::optional<AxisOrders> PermuteOp::getAxisOrders() {
  AxisOrders orders = {getNames(getSenders()), getNames(getReceivers()),
                       static_cast<int64_t>(getShift())};
  if (RoundAttr round = getRoundAttr())
    orders.round = round.getRound();
  return orders;
}
llvm::SmallVector<AxisTraffic> PermuteOp::getTraffic() {
  auto traffic = getTrafficOf(*this, getInputs().getTypes());
  if (RoundAttr round = getRoundAttr()) {
    double share = getSenderShare(
        round.getRound(), MeshAttr::of(*this).getProduct(getGroupAxes()));
    for (AxisTraffic &each : traffic)
      each.bytes *= share;
  }
  return traffic;
}
Operation *PermuteOp::createCombined(OpBuilder &builder,
                                     ArrayRef<Operation *> members) {
  return combineMembers(builder, members, {});
}

} // namespace meshc::spmd
