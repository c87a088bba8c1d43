//===- RecomputeFusions.cpp - what is computed again for its late users ---===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/ArenaAttributes.h"
#include "dialects/Nd/NdInterfaces.h"
#include "lib/Schedule/LiveBytes.h"
#include "lib/Schedule/Passes.h"
#include "lib/Schedule/Residence.h"

using namespace mlir;

namespace meshc::schedule {

#define GEN_PASS_DEF_RECOMPUTEFUSIONS
#include "lib/Schedule/Passes.h.inc"

/// Each fusion that is computed again must lower the peak by at least this
/// share of its result.
static constexpr double leastShare = 0.25;
/// Fusions of one block that are computed again.
static constexpr size_t mostFusions = 256;

namespace {
/// Finds values of one block that live at its peak, but are not used there, and
/// can be computed again behind it (Briggs et al., Rematerialization, PLDI
/// 1992).
class BlockRecomputer {
public:
  BlockRecomputer(Block &block, const DenseMap<Operation *, int64_t> &inner)
      : block(block), inner(inner),
        mesh(nd::MeshAttr::of(block.getParentOp())) {
    findOverwriting();
    measure();
  }

  int64_t getPeak() const { return live.empty() ? 0 : live[peak]; }
  /// The bytes by which the peak falls if the best value is computed again; 0
  /// if there is none.
  int64_t findBest();
  /// Computes it again.
  void apply();

private:
  /// A value and the places of ops between which it need not live.
  struct Gap {
    exec::FusionOp fusion;
    size_t begin = 0, end = 0; ///< its last use before the peak, the next one
    SmallVector<Value, 2> inputs; ///< that must live up to `end` for this
    int64_t gain = 0;
  };

  void findOverwriting();
  void measure();
  size_t getLastUse(Value value) const;
  std::optional<Gap> findGap(Operation *op) const;
  bool addInputs(Gap &gap) const;
  int64_t getPeakWith(const Gap &gap) const;

  Block &block;
  const DenseMap<Operation *, int64_t> &inner;
  nd::MeshAttr mesh;
  /// Of a value, the op that overwrites it.
  DenseMap<Value, Operation *> overwriting;
  SmallVector<Operation *> order;
  DenseMap<Operation *, size_t> times;
  SmallVector<int64_t> live; ///< bytes, while each op runs
  size_t peak = 0;           ///< the first op at which most bytes live
  Gap best;
};
} // namespace

void BlockRecomputer::findOverwriting() {
  Operation *terminator = block.getTerminator();
  for (unsigned index = 0; index < terminator->getNumOperands(); ++index) {
    Operation *op = terminator->getOperand(index).getDefiningOp();
    if (BlockArgument argument = getReplacedArgument(block, index);
        argument && op)
      overwriting[argument] = op;
  }
  for (Operation &op : block)
    for (Value value : getTakenOver(&op))
      overwriting[value] = &op;
}

void BlockRecomputer::measure() {
  order.clear();
  times.clear();
  for (Operation &op : block.without_terminator()) {
    times[&op] = order.size();
    order.push_back(&op);
  }
  live = countLiveBytes(order, inner);
  peak = llvm::max_element(live) - live.begin();
}

/// The place of the last op that uses the value.
size_t BlockRecomputer::getLastUse(Value value) const {
  size_t last = times.lookup(value.getDefiningOp());
  for (Operation *user : value.getUsers())
    last = std::max(last, user == block.getTerminator() ? order.size()
                                                        : times.lookup(user));
  return last;
}

/// Finds the inputs that must live longer than now. Returns false if one of
/// them is overwritten before.
bool BlockRecomputer::addInputs(Gap &gap) const {
  for (Value input : gap.fusion.getInputs()) {
    if (Operation *op = overwriting.lookup(input);
        op && times.lookup(op) < gap.end)
      return false;
    if (!isa<BlockArgument>(input) && getLastUse(input) < gap.end)
      gap.inputs.push_back(input);
  }
  return true;
}

/// The bytes that live at the peak if the value is computed again.
int64_t BlockRecomputer::getPeakWith(const Gap &gap) const {
  auto bytesOf = [&](Value value) {
    return nd::getTensorType(value).getLocalBytes(mesh);
  };
  // How the bytes change from one op to the next.
  DenseMap<size_t, int64_t> changes;
  changes[gap.begin + 1] -= bytesOf(gap.fusion->getResult(0));
  changes[gap.end] += bytesOf(gap.fusion->getResult(0));
  for (Value input : gap.inputs) {
    changes[getLastUse(input) + 1] += bytesOf(input);
    changes[gap.end + 1] -= bytesOf(input);
  }
  int64_t most = 0, change = 0;
  for (auto [time, bytes] : llvm::enumerate(live)) {
    change += changes.lookup(time);
    most = std::max(most, bytes + change);
  }
  return most;
}

/// Whether it costs less to compute the fusion's result again than to store and
/// load it: it has one result, which each point of its loops makes once.
static bool isCheap(exec::FusionOp fusion) {
  if (fusion->getNumResults() != 1 || fusion.getParts() ||
      !fusion.getPlan().getReduce().empty())
    return false;
  nd::OpCost cost;
  for (Operation &op : fusion.getBody().front().without_terminator()) {
    nd::OpCost ofOp = cast<nd::NamedOpInterface>(op).getCost();
    cost.flops += ofOp.flops;
    cost.transcendentals += ofOp.transcendentals;
  }
  auto mesh = nd::MeshAttr::of(fusion);
  return nd::isCheaperThanMemory(
      cost, nd::getTensorType(fusion->getResult(0)).getLocalBytes(mesh));
}

/// The gap in the life of the result of `op` around the peak, if the result can
/// be computed again behind it.
std::optional<BlockRecomputer::Gap>
BlockRecomputer::findGap(Operation *op) const {
  auto fusion = dyn_cast<exec::FusionOp>(op);
  if (!fusion || fusion->getNumResults() != 1)
    return std::nullopt;
  Gap gap{fusion, times.lookup(op), order.size()};
  for (Operation *user : op->getUsers()) {
    if (user == block.getTerminator() || times.lookup(user) == peak)
      return std::nullopt;
    size_t time = times.lookup(user);
    if (time < peak)
      gap.begin = std::max(gap.begin, time);
    else
      gap.end = std::min(gap.end, time);
  }
  if (gap.end == order.size() || !isCheap(fusion) || !addInputs(gap))
    return std::nullopt;
  return gap;
}

int64_t BlockRecomputer::findBest() {
  best = Gap();
  for (size_t time = 0; time < peak; ++time) {
    std::optional<Gap> gap = findGap(order[time]);
    if (!gap)
      continue;
    int64_t bytes =
        nd::getTensorType(gap->fusion->getResult(0)).getLocalBytes(mesh);
    gap->gain = live[peak] - getPeakWith(*gap);
    if (double(gap->gain) >= leastShare * double(bytes) &&
        gap->gain > best.gain)
      best = *gap;
  }
  return best.gain;
}

void BlockRecomputer::apply() {
  OpBuilder builder(order[best.end]);
  Operation *again = builder.clone(*best.fusion);
  best.fusion->getResult(0).replaceUsesWithIf(
      again->getResult(0),
      [&](OpOperand &use) { return times.lookup(use.getOwner()) >= best.end; });
  if (best.fusion->use_empty())
    best.fusion->erase();
  measure();
}

namespace {
struct RecomputeFusions : impl::RecomputeFusionsBase<RecomputeFusions> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    const bool isOn = exec::takeRecompute(module);
    int64_t gain = 0;
    for (auto function : module.getOps<func::FuncOp>()) {
      // Inner loops first: what they need counts for the blocks around them.
      DenseMap<Operation *, int64_t> peaks;
      SmallVector<Block *> blocks = nd::getBlocks(function);
      for (Block *block : llvm::reverse(blocks)) {
        BlockRecomputer recomputer(*block, peaks);
        if (!isOn)
          gain = std::max(gain, recomputer.findBest());
        for (size_t count = 0;
             isOn && count < mostFusions && recomputer.findBest() > 0; ++count)
          recomputer.apply();
        peaks[block->getParentOp()] = recomputer.getPeak();
      }
    }
    if (gain > 0)
      exec::setRecomputeGain(module, gain);
  }
};
} // namespace

} // namespace meshc::schedule
