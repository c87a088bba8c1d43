//===- DelayGathers.cpp - all_gathers stand before their first users ------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Schedule/Passes.h"
#include "lib/Schedule/Residence.h"

using namespace mlir;

namespace meshc::schedule {

#define GEN_PASS_DEF_DELAYGATHERS
#include "lib/Schedule/Passes.h.inc"

namespace {
/// The gathers of one block.
class GatherDelayer {
public:
  explicit GatherDelayer(Block &block) : block(block) {}

  void run();

private:
  std::optional<size_t> getLast(spmd::AllGatherOp gather) const;

  Block &block;
  DenseMap<Operation *, size_t> places;
  SmallVector<Operation *> fronts; ///< of each place, the first op there
  /// The op that overwrites a value.
  DenseMap<Value, Operation *> overwriting;
};
} // namespace

/// The place of the first op that must come behind the gather: it reads a
/// result, or overwrites an operand. None if a result is one of the block.
std::optional<size_t> GatherDelayer::getLast(spmd::AllGatherOp gather) const {
  if (llvm::is_contained(gather->getUsers(), block.getTerminator()))
    return std::nullopt;
  size_t last = places.size() - 1;
  auto precede = [&](Operation *op) {
    last = std::min(last, places.lookup(op));
  };
  llvm::for_each(gather->getUsers(), precede);
  for (Value operand : gather->getOperands())
    if (Operation *op = overwriting.lookup(operand))
      precede(op);
  return last;
}

void GatherDelayer::run() {
  SmallVector<spmd::AllGatherOp> gathers;
  for (Operation &op : block) {
    places[&op] = fronts.size();
    fronts.push_back(&op);
    if (auto gather = dyn_cast<spmd::AllGatherOp>(op);
        gather && !canBeginAhead(gather))
      gathers.push_back(gather);
  }
  overwriting = findOverwriting(block);
  // The last first: others may need what an earlier one receives.
  for (spmd::AllGatherOp gather : llvm::reverse(gathers)) {
    std::optional<size_t> last = getLast(gather);
    if (!last)
      continue;
    gather->moveBefore(fronts[*last]);
    fronts[*last] = gather;
    places[gather] = *last;
  }
}

namespace {
struct DelayGathers : impl::DelayGathersBase<DelayGathers> {
  void runOnOperation() override {
    for (Block *block : nd::getBlocks(getOperation()))
      GatherDelayer(*block).run();
  }
};
} // namespace

} // namespace meshc::schedule
