//===- Collective.cpp - the beginning and end of a collective -------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/Exec.h"
#include "dialects/Nd/Interfaces/ReductionKinds.h"
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
  }
  llvm_unreachable("all kinds are above");
}

/// Whether outer × blocks × inner elements are all of the buffer.
static bool isWhole(int64_t outer, int64_t inner, int64_t blocks,
                    nd::TensorType tensor, nd::MeshAttr mesh) {
  int64_t count;
  return outer > 0 && inner > 0 && !llvm::MulOverflow(outer, inner, count) &&
         !llvm::MulOverflow(count, blocks, count) &&
         count == tensor.getLocalElementCount(mesh);
}

/// Whether the item of tensor `i` divides its buffers, as RuntimeAbi.h says at
/// MeshcCollectiveItem.
static LogicalResult verifyItem(CollectiveOp op, unsigned i) {
  CollectiveKind kind = op.getKind();
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
  ArrayRef<int64_t> item = op.getItems().slice(4 * i, 4);
  int64_t group = 1;
  for (StringAttr axis : op.getAxes().getAsRange<StringAttr>())
    group *= mesh.getAxisSize(axis.getValue());
  bool cutsSend =
      kind == CollectiveKind::ReduceScatter || kind == CollectiveKind::AllToAll;
  bool cutsRecv =
      kind == CollectiveKind::AllGather || kind == CollectiveKind::AllToAll;
  if (isWhole(item[0], item[1], cutsSend ? group : 1, send, mesh) &&
      isWhole(item[2], item[3], cutsRecv ? group : 1, recv, mesh))
    return success();
  return op.emitOpError() << "items [" << item << "] of tensor " << i
                          << " do not match " << send << " to send and " << recv
                          << " to receive, on " << group << " ranks";
}

LogicalResult CollectiveOp::verify() {
  if (getSend().empty())
    return emitOpError("needs at least one tensor");
  if (getSend().size() != getRecv().size() ||
      getItems().size() != 4 * getSend().size())
    return emitOpError("needs one receive buffer and four item sizes for each "
                       "send buffer");
  if (getAhead() && !isa<LoopOp>((*this)->getParentOp()))
    return emitOpError("is begun ahead but stands in no loop: there is no next "
                       "iteration");
  nd::MeshAttr mesh = nd::MeshAttr::of(*this);
  for (StringAttr axis : getAxes().getAsRange<StringAttr>()) {
    if (mesh.getAxisIndex(axis.getValue()) < 0)
      return emitOpError() << "the mesh has no axis '" << axis.getValue()
                           << "'";
    if (llvm::count(getAxes(), axis) > 1)
      return emitOpError() << "names axis '" << axis.getValue() << "' twice";
  }
  for (unsigned i = 0; i < getSend().size(); ++i)
    if (failed(verifyItem(*this, i)))
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
  SmallVector<MeshcCollectiveItem> items;
  for (ArrayRef<int64_t> sizes = getItems(); !sizes.empty();
       sizes = sizes.drop_front(4))
    items.push_back({sizes[0], sizes[1], sizes[2], sizes[3]});
  MeshcCollective collective = {};
  collective.kind = getAbiKind(getKind());
  collective.reduction = uint8_t(getReduction());
  collective.type = getAbiType(getSend().front());
  for (StringAttr axis : getAxes().getAsRange<StringAttr>())
    collective.axes |= 1u << mesh.getAxisIndex(axis.getValue());
  collective.itemCount = items.size();
  collective.items = items.data();
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

namespace {
/// outer × group × inner elements: where element `e` of block `p` lies.
struct Blocked {
  int64_t outer, inner, group;
  int64_t at(int64_t p, int64_t e) const {
    return (e / inner * group + p) * inner + e % inner;
  }
  int64_t getBlockSize() const { return outer * inner; }
};
} // namespace

static void exchange(CollectiveOp op, Arenas &arenas) {
  CollectiveKind kind = op.getKind();
  // Nothing is written before all is read.
  std::vector<Arenas::Memory> before = arenas.getMemories();
  const nd::EvaluationContext &context = arenas.getContext();
  for (int64_t rank = 0; rank < arenas.getRankCount(); ++rank) {
    SmallVector<int64_t> group = getGroup(rank, op.getAxes(), context.mesh);
    int64_t count = group.size();
    int64_t own = llvm::find(group, rank) - group.begin();
    for (unsigned i = 0; i < op.getSend().size(); ++i) {
      nd::TensorType type =
          cast<BufferType>(op.getRecv()[i].getType()).getTensor();
      int64_t bytes = getElementBytes(type);
      int64_t send = arenas.getOffset(op.getSend()[i]);
      int64_t recv = arenas.getOffset(op.getRecv()[i]);
      ArrayRef<int64_t> item = op.getItems().slice(4 * i, 4);
      Blocked out{item[0], item[1], count}, in{item[2], item[3], count};
      auto sent = [&](int64_t member, int64_t at) {
        return before[group[member]][send + at * bytes];
      };
      nd::Combination combine =
          nd::getCombination(op.getReduction(), type.getElementType());
      auto combined = [&](int64_t at) {
        double value = sent(0, at);
        for (int64_t member = 1; member < count; ++member)
          value = combine(value, sent(member, at));
        return context.round(value, type.getElementType());
      };
      auto receive = [&](int64_t at, double value) {
        arenas.getMemory(rank)[recv + at * bytes] = value;
      };
      switch (kind) {
      case CollectiveKind::AllReduce:
        for (int64_t e = 0; e < out.getBlockSize(); ++e)
          receive(e, combined(e));
        break;
      case CollectiveKind::ReduceScatter:
        for (int64_t e = 0; e < out.getBlockSize(); ++e)
          receive(e, combined(out.at(own, e)));
        break;
      case CollectiveKind::AllGather:
      case CollectiveKind::AllToAll:
        for (int64_t p = 0; p < count; ++p)
          for (int64_t e = 0; e < in.getBlockSize(); ++e)
            receive(in.at(p, e), sent(p, kind == CollectiveKind::AllGather
                                             ? e
                                             : out.at(own, e)));
        break;
      }
    }
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
