//===- RepeatGathers.cpp - parameters are gathered for each use -----------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/Ops/LoopOps.h"
#include "dialects/Spmd/ParameterGathers.h"
#include "dialects/Spmd/SpmdOps.h"
#include "lib/Collectives/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace meshc::collectives {

#define GEN_PASS_DEF_REPEATGATHERS
#include "lib/Collectives/Passes.h.inc"

static int64_t getBytes(spmd::AllGatherOp gather) {
  return nd::getTensorType(gather->getResult(0))
      .getLocalBytes(nd::MeshAttr::of(gather));
}

namespace {
/// The gathers of parameters in one block.
class GatherRepeater {
public:
  GatherRepeater(Block &block, int64_t minBytes)
      : block(block), minBytes(minBytes) {}

  void run();

private:
  SmallVector<Operation *> getUsers(spmd::AllGatherOp gather) const;
  int64_t getBytesBetween(Operation *first, Operation *second) const;
  void repeat(spmd::AllGatherOp gather);

  Block &block;
  int64_t minBytes;
  SmallVector<spmd::AllGatherOp> gathers;
  DenseMap<Operation *, size_t> places; ///< in the block
  /// Of each place, the bytes of what is gathered for ops before it.
  SmallVector<int64_t> bytesBefore;
};
} // namespace

/// In the order of the block.
SmallVector<Operation *>
GatherRepeater::getUsers(spmd::AllGatherOp gather) const {
  llvm::SetVector<Operation *> users(gather->getUsers().begin(),
                                     gather->getUsers().end());
  SmallVector<Operation *> sorted = users.takeVector();
  llvm::sort(sorted, [&](Operation *a, Operation *b) {
    return places.lookup(a) < places.lookup(b);
  });
  return sorted;
}

/// Of other parameters, what is gathered for `second` and the ops between both.
int64_t GatherRepeater::getBytesBetween(Operation *first,
                                        Operation *second) const {
  return bytesBefore[places.lookup(second) + 1] -
         bytesBefore[places.lookup(first) + 1];
}

/// Divides the users where others' parameters are gathered between them.
void GatherRepeater::repeat(spmd::AllGatherOp gather) {
  SmallVector<Operation *> users = getUsers(gather);
  gather->moveBefore(users.front());
  Operation *current = gather;
  int64_t most = std::max(minBytes, getBytes(gather)), uses = 1;
  for (auto [before, user] :
       llvm::zip(ArrayRef(users).drop_back(), ArrayRef(users).drop_front())) {
    if (getBytesBetween(before, user) > most) {
      OpBuilder builder(user);
      current = builder.clone(*gather);
      current->setAttr(spmd::useAttrName, builder.getI64IntegerAttr(++uses));
    }
    user->replaceUsesOfWith(gather->getResult(0), current->getResult(0));
  }
}

void GatherRepeater::run() {
  for (Operation &op : block) {
    places[&op] = places.size();
    auto gather = dyn_cast<spmd::AllGatherOp>(op);
    if (gather && gather->getNumOperands() == 1 && !gather->use_empty() &&
        spmd::isOfParameter(gather->getOperand(0)))
      gathers.push_back(gather);
  }
  bytesBefore.assign(places.size() + 1, 0);
  for (spmd::AllGatherOp gather : gathers)
    bytesBefore[places.lookup(getUsers(gather).front()) + 1] +=
        getBytes(gather);
  for (size_t place = 1; place < bytesBefore.size(); ++place)
    bytesBefore[place] += bytesBefore[place - 1];
  for (spmd::AllGatherOp gather : gathers)
    repeat(gather);
}

namespace {
struct RepeatGathers : impl::RepeatGathersBase<RepeatGathers> {
  using RepeatGathersBase::RepeatGathersBase;

  void runOnOperation() override {
    // Other bodies of loops are short: what they have gathered, they keep.
    for (auto function : getOperation().getOps<func::FuncOp>())
      for (Block *block : nd::getBlocks(function))
        if (nd::isStepBlock(*block))
          GatherRepeater(*block, minBytes).run();
  }
};
} // namespace

} // namespace meshc::collectives
