//===- Collective.cpp - the beginning and end of a collective -------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/Exec.h"
#include "dialects/Nd/Interfaces/ReductionKinds.h"
#include "meshc/CollectiveBlocks.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace meshc::exec {

using spmd::CollectiveKind;

static MeshcCollectiveKind getAbiKind(CollectiveKind kind) {
  switch (kind) {
  case CollectiveKind::AllReduce:
    return MESHC_ALL_REDUCE;
  case CollectiveKind::ReduceScatter:
    return MESHC_REDUCE_SCATTER;
  case CollectiveKind::AllGather:
    return MESHC_ALL_GATHER;
  case CollectiveKind::AllToAll:
    return MESHC_ALL_TO_ALL;
  case CollectiveKind::Permute:
    return MESHC_PERMUTE;
  }
  llvm_unreachable("all kinds are above");
}

/// Sizes of the group's axes, in the mesh's order: that of the group's ranks.
static GroupAxes getGroupAxes(CollectiveOp op, nd::MeshAttr mesh) {
  GroupAxes axes;
  for (nd::AxisAttr axis : mesh.getAxes())
    if (llvm::is_contained(op.getAxes(), axis.getName()))
      axes.push_back(axis.getSize());
  return axes;
}

/// One order of a permute: the places of its axes among the group's.
static void getPlaces(ArrayAttr order, CollectiveOp op, nd::MeshAttr mesh,
                      uint8_t *places) {
  for (auto [i, axis] : llvm::enumerate(order.getAsRange<StringAttr>()))
    places[i] = llvm::count_if(op.getAxes(), [&](Attribute other) {
      return mesh.getAxisIndex(cast<StringAttr>(other)) <
             mesh.getAxisIndex(axis);
    });
}

static MeshcPermutation getPermutation(CollectiveOp op, nd::MeshAttr mesh) {
  MeshcPermutation permutation = {};
  getPlaces(*op.getSenders(), op, mesh, permutation.senders);
  getPlaces(*op.getReceivers(), op, mesh, permutation.receivers);
  permutation.shift = static_cast<int64_t>(op.getShift());
  if (op.getRound())
    permutation.round = op.getRoundAttr().getRound();
  return permutation;
}

static SmallVector<MeshcCollectiveItem> getItemsOf(CollectiveOp op) {
  SmallVector<MeshcCollectiveItem> items;
  for (ArrayRef<int64_t> sizes = op.getItems(); !sizes.empty();
       sizes = sizes.drop_front(6))
    items.push_back(
        {sizes[0], sizes[1], sizes[2], sizes[3], sizes[4], sizes[5]});
  return items;
}

/// Whether outer × entries × inner elements are all of the buffer, where
/// `isBlock` leaves one block of the entries.
static bool isWhole(const BlockedBuffer &buffer, bool isBlock,
                    const GroupAxes &axes, nd::TensorType tensor,
                    nd::MeshAttr mesh) {
  if (buffer.outer <= 0 || buffer.entries <= 0 || buffer.inner <= 0)
    return false;
  if (buffer.entries / countRanks(axes) > tensor.getLocalElementCount(mesh))
    return false; // this large, the step may overflow
  int64_t entries =
      isBlock ? getBlockStep(buffer.entries, axes) : buffer.entries;
  int64_t count;
  return !llvm::MulOverflow(buffer.outer, buffer.inner, count) &&
         !llvm::MulOverflow(count, entries, count) &&
         count == tensor.getLocalElementCount(mesh);
}

/// Whether the item divides its buffers as MeshcCollectiveItem says.
static bool fits(const MeshcCollectiveItem &item, CollectiveKind kind,
                 const GroupAxes &axes, nd::TensorType send,
                 nd::TensorType recv, nd::MeshAttr mesh) {
  BlockedBuffer out{item.sendOuter, item.sendEntries, item.sendInner};
  BlockedBuffer in{item.recvOuter, item.recvEntries, item.recvInner};
  bool areEqual = out.outer == in.outer && out.entries == in.entries &&
                  out.inner == in.inner;
  return isWhole(out, kind == CollectiveKind::AllGather, axes, send, mesh) &&
         isWhole(in, kind == CollectiveKind::ReduceScatter, axes, recv, mesh) &&
         (areEqual || kind == CollectiveKind::AllToAll) &&
         ItemBlocks(getAbiKind(kind), item, axes).isValid();
}

static LogicalResult verifyItem(CollectiveOp op, unsigned i,
                                const MeshcCollectiveItem &item) {
  nd::MeshAttr mesh = nd::MeshAttr::of(op);
  auto tensorOf = [](Value buffer) {
    return cast<BufferType>(buffer.getType()).getTensor();
  };
  nd::TensorType send = tensorOf(op.getSend()[i]);
  nd::TensorType recv = tensorOf(op.getRecv()[i]);
  Type type = tensorOf(op.getSend()[0]).getElementType();
  if (send.getElementType() != type || recv.getElementType() != type)
    return op.emitOpError()
           << "all tensors must have elements of type " << type << ", got "
           << send << " to send and " << recv << " to receive";
  GroupAxes axes = getGroupAxes(op, mesh);
  if (fits(item, op.getKind(), axes, send, recv, mesh))
    return success();
  return op.emitOpError() << "items [" << op.getItems().slice(6 * i, 6)
                          << "] of tensor " << i << " do not match " << send
                          << " to send and " << recv << " to receive, on "
                          << countRanks(axes) << " ranks";
}

/// A permute has two orders of all its axes, other kinds have none.
static LogicalResult verifyOrders(CollectiveOp op) {
  bool isPermute = op.getKind() == CollectiveKind::Permute;
  for (std::optional<ArrayAttr> order : {op.getSenders(), op.getReceivers()}) {
    if (order.has_value() != isPermute)
      return op.emitOpError("needs orders of senders and receivers if it is a "
                            "permute, and none otherwise");
    if (order && (order->size() != op.getAxes().size() ||
                  !llvm::all_of(op.getAxes(), [&](Attribute axis) {
                    return llvm::is_contained(*order, axis);
                  })))
      return op.emitOpError() << "has axes " << op.getAxes()
                              << ", but numbers ranks by " << *order;
  }
  int64_t ranks =
      isPermute ? countRanks(getGroupAxes(op, nd::MeshAttr::of(op))) : 1;
  auto shift = static_cast<int64_t>(op.getShift());
  if (shift < 0 || shift >= ranks)
    return op.emitOpError()
           << "has a shift of " << shift
           << "; it must be at least 0 and less than " << ranks;
  if (op.getRound() && (!isPermute || shift != 0))
    return op.emitOpError("has a round, which needs a permute without a shift");
  return success();
}

LogicalResult CollectiveOp::verify() {
  if (getSend().empty())
    return emitOpError("needs at least one tensor");
  if (getSend().size() != getRecv().size() ||
      getItems().size() != 6 * getSend().size())
    return emitOpError("needs one receive buffer and six item sizes for each "
                       "send buffer");
  if (getAhead() && !isa<LoopOp>((*this)->getParentOp()))
    return emitOpError("is begun ahead but stands in no loop: there is no next "
                       "iteration");
  nd::MeshAttr mesh = nd::MeshAttr::of(*this);
  for (StringAttr axis : getAxes().getAsRange<StringAttr>()) {
    if (mesh.getAxisIndex(axis) < 0)
      return emitOpError() << "the mesh has no axis '" << axis.getValue()
                           << "'";
    if (llvm::count(getAxes(), axis) > 1)
      return emitOpError() << "names axis '" << axis.getValue() << "' twice";
  }
  if (failed(verifyOrders(*this)))
    return failure();
  for (auto [i, item] : llvm::enumerate(getItemsOf(*this)))
    if (failed(verifyItem(*this, i, item)))
      return failure();
  return success();
}

KernelUse CollectiveOp::getKernelUse() { return {}; }

Accesses CollectiveOp::getAccesses() {
  Accesses accesses;
  llvm::append_range(accesses.reads, getSend());
  llvm::append_range(accesses.writes, getRecv());
  accesses.begun = getToken();
  return accesses;
}

bool CollectiveOp::mayWriteOver(unsigned read, unsigned write) {
  return getKind() == CollectiveKind::AllReduce && read == write;
}

bool CollectiveOp::goesOn() {
  return llvm::any_of(getToken().getUsers(), [&](Operation *wait) {
    return wait->isBeforeInBlock(*this);
  });
}

llvm::Value *CollectiveOp::getDescriptor(CallEmitter &emitter) {
  if (llvm::Value *known = emitter.getBegun(getToken()))
    return known;
  nd::MeshAttr mesh = nd::MeshAttr::of(*this);
  SmallVector<MeshcCollectiveItem> items = getItemsOf(*this);
  MeshcCollective collective = {};
  collective.kind = getAbiKind(getKind());
  collective.reduction = uint8_t(getReduction());
  collective.type = getAbiType(getSend().front());
  for (StringAttr axis : getAxes().getAsRange<StringAttr>())
    collective.axes |= 1u << mesh.getAxisIndex(axis);
  collective.itemCount = items.size();
  collective.items = items.data();
  MeshcPermutation permutation;
  if (getKind() == CollectiveKind::Permute) {
    permutation = getPermutation(*this, mesh);
    collective.permutation = &permutation;
  }
  llvm::Value *descriptor =
      emitter.addDescriptor(collective, getLoc(), getDescription());
  emitter.setBegun(getToken(), descriptor);
  return descriptor;
}

void CollectiveOp::begin(CallEmitter &emitter) {
  emitter.call("meshc_collective",
               {getDescriptor(emitter), emitter.fillArray(0, getSend()),
                emitter.fillArray(1, getRecv())});
}

void CollectiveOp::emitCall(CallEmitter &emitter) {
  if (getAhead())
    emitter.inNextIteration([&] { begin(emitter); });
  else
    begin(emitter);
}

CallDescription CollectiveOp::describe() {
  return {"collective", getDescription().str(), {getLoc()}};
}

//===----------------------------------------------------------------------===//
// Reference semantics
//===----------------------------------------------------------------------===//

/// Ranks of the group of `rank`: those that differ on `axes` only, row-major.
static SmallVector<int64_t> getGroup(int64_t rank, ArrayAttr axes,
                                     nd::MeshAttr mesh) {
  SmallVector<int64_t> own = mesh.getCoordinates(rank), group;
  for (int64_t other = 0; other < mesh.getRankCount(); ++other) {
    SmallVector<int64_t> coordinates = mesh.getCoordinates(other);
    bool isMember = true;
    for (auto [index, axis] : llvm::enumerate(mesh.getAxes()))
      isMember &= coordinates[index] == own[index] ||
                  llvm::is_contained(axes, axis.getName());
    if (isMember)
      group.push_back(other);
  }
  return group;
}

/// Writes what tensor `i` receives on the rank with place `own` in `group`.
/// Padding holds anything.
static void receive(CollectiveOp op, unsigned i, ArrayRef<int64_t> group,
                    int64_t own, const std::vector<Arenas::Memory> &before,
                    Arenas &arenas) {
  nd::EvaluationContext context = arenas.getContext();
  context.coordinates = context.mesh.getCoordinates(group[own]);
  auto type = cast<BufferType>(op.getRecv()[i].getType());
  Type element = type.getTensor().getElementType();
  int64_t bytes = getElementBytes(type.getTensor());
  int64_t send = arenas.getOffset(op.getSend()[i]);
  int64_t recv = arenas.getOffset(op.getRecv()[i]);
  GroupAxes axes = getGroupAxes(op, context.mesh);
  MeshcCollectiveItem item = getItemsOf(op)[i];
  ItemBlocks blocks(getAbiKind(op.getKind()), item, axes);
  nd::Combination combine = nd::getCombination(op.getReduction(), element);
  bool isPermute = op.getKind() == CollectiveKind::Permute;
  bool reduces = !blocks.receivesBlocks() && !isPermute;
  Arenas::Memory &memory = arenas.getMemory(group[own]);
  for (auto [member, rank] : llvm::enumerate(group)) {
    if (isPermute && int64_t(member) !=
                         getSender(getPermutation(op, context.mesh), axes, own))
      continue;
    ElementBox from = blocks.getSent(member, own);
    ElementBox to = blocks.getReceived(member, own);
    for (int64_t e = 0; e < from.size(); ++e) {
      double value = before[rank][send + from.at(e) * bytes];
      double &place = memory[recv + to.at(e) * bytes];
      place = reduces && member > 0 ? combine(place, value) : value;
      if (!reduces || member + 1 == group.size())
        place = context.round(place, element);
    }
  }
  // Padding of any dim, if other ranks' padding was moved, too.
  nd::HostTensor result = arenas.read(group[own], type, recv);
  context.spoilPadding(result);
  arenas.write(group[own], type, recv, result);
}

static void exchange(CollectiveOp op, Arenas &arenas) {
  // Nothing is written before all is read.
  std::vector<Arenas::Memory> before = arenas.getMemories();
  nd::MeshAttr mesh = arenas.getContext().mesh;
  for (int64_t rank = 0; rank < arenas.getRankCount(); ++rank) {
    SmallVector<int64_t> group = getGroup(rank, op.getAxes(), mesh);
    int64_t own = llvm::find(group, rank) - group.begin();
    for (unsigned i = 0; i < op.getSend().size(); ++i)
      receive(op, i, group, own, before, arenas);
  }
}

void CollectiveOp::begin(Arenas &arenas) {
  arenas.begin(getToken(), [op = *this, &arenas] { exchange(op, arenas); });
}

void CollectiveOp::run(Arenas &arenas) {
  if (getAhead())
    arenas.inNextIteration([&] { begin(arenas); });
  else
    begin(arenas);
}

//===----------------------------------------------------------------------===//
// The wait
//===----------------------------------------------------------------------===//

KernelUse WaitOp::getKernelUse() { return {}; }

Accesses WaitOp::getAccesses() {
  Accesses accesses;
  accesses.awaited = getToken();
  return accesses;
}

bool WaitOp::mayWriteOver(unsigned, unsigned) { return false; }

void WaitOp::emitCall(CallEmitter &emitter) {
  auto collective = getToken().getDefiningOp<CollectiveOp>();
  emitter.call("meshc_wait", {collective.getDescriptor(emitter)});
}

void WaitOp::run(Arenas &arenas) { arenas.await(getToken()); }

CallDescription WaitOp::describe() { return {"wait", "", {getLoc()}}; }

} // namespace meshc::exec
