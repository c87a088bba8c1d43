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
#include <map>

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
    measure();
  }

  int64_t getPeak() const { return live.empty() ? 0 : live[peak]; }
  /// The op that runs at the peak; null in an empty block.
  Operation *getPeakOp() const { return live.empty() ? nullptr : order[peak]; }
  /// The bytes of all values that live at the peak and can be computed again.
  int64_t countCandidates() const;
  /// The bytes by which the peak falls if the best value is computed again; 0
  /// if there is none.
  int64_t findBest();
  /// Computes it again.
  void apply();

private:
  /// A value, and the ops between which its memory may be free.
  struct Gap {
    exec::FusionOp fusion;
    size_t begin = 0, end = 0; ///< its last use before the peak, the next one
    SmallVector<Value, 2> inputs; ///< that must live up to `end` for this
    int64_t bytes = 0, gain = 0;
  };

  void measure();
  size_t getLastUse(Value value) const;
  std::optional<Gap> findGap(Operation *op) const;
  bool addInputs(Gap &gap) const;
  SmallVector<Gap> findGaps() const;
  int64_t getPeakWith(const Gap &gap) const;

  Block &block;
  const DenseMap<Operation *, int64_t> &inner;
  nd::MeshAttr mesh;
  /// Of a value, the op that overwrites it.
  DenseMap<Value, Operation *> overwriting;
  SmallVector<Operation *> order;
  DenseMap<Operation *, size_t> times;
  SmallVector<int64_t> live;                 ///< bytes, while each op runs
  SmallVector<int64_t> mostBefore, mostFrom; ///< of `live`, at each place
  size_t peak = 0; ///< the first op at which most bytes live
  Gap best;
};
} // namespace

void BlockRecomputer::measure() {
  order.clear();
  times.clear();
  for (Operation &op : block.without_terminator()) {
    times[&op] = order.size();
    order.push_back(&op);
  }
  live = countLiveBytes(order, inner);
  peak = llvm::max_element(live) - live.begin();
  mostBefore.assign(live.size() + 1, 0);
  mostFrom.assign(live.size() + 1, 0);
  for (size_t i = 0; i < live.size(); ++i)
    mostBefore[i + 1] = std::max(mostBefore[i], live[i]);
  for (size_t i = live.size(); i-- > 0;)
    mostFrom[i] = std::max(mostFrom[i + 1], live[i]);
  overwriting = findOverwriting(block);
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
  // How the bytes change from one op to the next.
  std::map<size_t, int64_t> changes;
  changes[gap.begin + 1] -= gap.bytes;
  changes[gap.end] += gap.bytes;
  for (Value input : gap.inputs) {
    int64_t bytes = nd::getTensorType(input).getLocalBytes(mesh);
    changes[getLastUse(input) + 1] += bytes;
    changes[gap.end + 1] -= bytes;
  }
  size_t first = changes.begin()->first, last = changes.rbegin()->first;
  int64_t most = std::max(mostBefore[first], mostFrom[last]), change = 0;
  for (size_t time = first; time < last; ++time) {
    if (auto known = changes.find(time); known != changes.end())
      change += known->second;
    most = std::max(most, live[time] + change);
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
  gap.bytes = nd::getTensorType(op->getResult(0)).getLocalBytes(mesh);
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

/// Of all values, the largest first.
SmallVector<BlockRecomputer::Gap> BlockRecomputer::findGaps() const {
  SmallVector<Gap> gaps;
  for (Operation *op : ArrayRef(order).take_front(peak))
    if (std::optional<Gap> gap = findGap(op))
      gaps.push_back(std::move(*gap));
  llvm::stable_sort(
      gaps, [](const Gap &a, const Gap &b) { return a.bytes > b.bytes; });
  return gaps;
}

int64_t BlockRecomputer::countCandidates() const {
  int64_t bytes = 0;
  for (const Gap &gap : findGaps())
    bytes += gap.bytes;
  return bytes;
}

int64_t BlockRecomputer::findBest() {
  best = Gap();
  for (Gap &gap : findGaps()) {
    if (gap.bytes <= best.gain)
      break;
    gap.gain = live[peak] - getPeakWith(gap);
    if (double(gap.gain) >= leastShare * double(gap.bytes) &&
        gap.gain > best.gain)
      best = std::move(gap);
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
    int64_t highest = 0, gain = 0; // of the function that has the highest peak
    for (auto function : module.getOps<func::FuncOp>()) {
      peaks.clear();
      gains.clear();
      // Inner loops first: what they need counts for the blocks around them.
      SmallVector<Block *> blocks = nd::getBlocks(function);
      for (Block *block : llvm::reverse(blocks))
        visit(*block, isOn);
      if (peaks.lookup(function) > highest) {
        highest = peaks.lookup(function);
        gain = gains.lookup(function);
      }
    }
    if (!isOn && gain > 0)
      exec::setRecomputeGain(module, gain);
  }

  void visit(Block &block, bool isOn) {
    BlockRecomputer recomputer(block, peaks);
    if (!isOn)
      gains[block.getParentOp()] =
          recomputer.countCandidates() + gains.lookup(recomputer.getPeakOp());
    for (size_t count = 0;
         isOn && count < mostFusions && recomputer.findBest() > 0; ++count)
      recomputer.apply();
    peaks[block.getParentOp()] = recomputer.getPeak();
  }

  DenseMap<Operation *, int64_t> peaks; ///< of functions and loops
  DenseMap<Operation *, int64_t> gains; ///< at most, at their peaks
};
} // namespace

} // namespace meshc::schedule
