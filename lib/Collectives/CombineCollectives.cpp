//===- CombineCollectives.cpp - one collective of several -----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/Ops/LoopOps.h"
#include "dialects/Spmd/SpmdOps.h"
#include "lib/Collectives/Passes.h"
#include "lib/Reshard/CallCosts.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/MapVector.h"
#include <queue>

using namespace mlir;

namespace meshc::collectives {

#define GEN_PASS_DEF_COMBINECOLLECTIVES
#include "lib/Collectives/Passes.h.inc"

using reshard::CallCosts;
using spmd::CollectiveOpInterface;

namespace {

/// The options of the pass.
struct GroupBounds {
  int64_t maxBytes, minBytes, parts;
};

/// The ops of a block as a graph of dependences in which some collectives are
/// already one node.
class BlockCombiner {
public:
  BlockCombiner(Block &block, const GroupBounds &bounds, CallCosts calls)
      : block(block), isStep(nd::isStepBlock(block)), bounds(bounds),
        calls(std::move(calls)) {}

  void run();

private:
  /// Collectives that will be one op.
  struct Group {
    llvm::SmallVector<unsigned> members;
    int64_t bytes = 0;
    /// Groups whose results a member needs, directly or indirectly.
    llvm::BitVector needed;
  };

  /// The most bytes of groups of one key.
  struct Limits {
    int64_t first = 0, others = 0;
  };

  void numberOps();
  llvm::DenseMap<Attribute, Limits> getLimits();
  double getBytesDuringProducts();
  Limits limitByCost(CollectiveOpInterface collective, int64_t all);
  void formGroups();
  Attribute getKey(CollectiveOpInterface collective);
  void add(unsigned op, unsigned group);
  bool needs(unsigned op, unsigned group) const;
  void passNeedsOn(unsigned op, std::optional<unsigned> group);
  void sort();
  void build();

  Block &block;
  bool isStep; ///< or a micro-batch, but no other loop's iteration
  GroupBounds bounds;
  CallCosts calls;
  llvm::SmallVector<Operation *> ops;
  llvm::DenseMap<Operation *, unsigned> numbers;
  llvm::SmallVector<unsigned> node; ///< of each op: number of its group's first
  llvm::SmallVector<Group, 0> groups;
  llvm::DenseMap<unsigned, unsigned> groupOfNode;
  /// Of each op, groups that it needs a result of. A group that gains a member
  /// later may need others since.
  std::vector<llvm::BitVector> needed;
};

} // namespace

void BlockCombiner::numberOps() {
  for (Operation &op : block) {
    numbers[&op] = ops.size();
    node.push_back(ops.size());
    ops.push_back(&op);
  }
}

/// Bytes of the values on one rank.
static int64_t getBytes(ValueRange values, nd::MeshAttr mesh) {
  int64_t bytes = 0;
  for (Value value : values)
    bytes += nd::getTensorType(value).getLocalBytes(mesh);
  return bytes;
}

/// Bytes of the operands or of the results, whichever are more.
static int64_t getBytes(CollectiveOpInterface collective) {
  nd::MeshAttr mesh = nd::MeshAttr::of(collective);
  return std::max(getBytes(collective->getOperands(), mesh),
                  getBytes(collective->getResults(), mesh));
}

/// Whether one side of the collective has less memory than the other: the
/// whole tensors of a combined one are there at the same time.
static bool changesSize(CollectiveOpInterface collective) {
  return collective.getCollectiveKind() == spmd::CollectiveKind::AllGather ||
         collective.getCollectiveKind() == spmd::CollectiveKind::ReduceScatter;
}

/// What is equal for collectives that can be one. Those that can begin an
/// iteration early do not wait for others, and what is gathered again comes
/// later than what is gathered once.
Attribute BlockCombiner::getKey(CollectiveOpInterface collective) {
  Builder builder(collective.getContext());
  auto reduction = collective.getGroupReduction();
  llvm::SmallVector<Attribute> key{
      collective->getName().getIdentifier(),
      builder.getI32IntegerAttr(reduction ? static_cast<int>(*reduction) : -1),
      TypeAttr::get(
          nd::getTensorType(collective->getOperand(0)).getElementType()),
      builder.getBoolAttr(spmd::sendsEntries(collective)),
      builder.getBoolAttr(collective->hasAttr(spmd::useAttrName))};
  llvm::append_range(key, collective.getGroupAxes());
  if (auto orders = collective.getAxisOrders()) {
    llvm::append_range(key, orders->senders);
    llvm::append_range(key, orders->receivers);
    key.push_back(builder.getI64IntegerAttr(orders->shift));
    if (orders->round)
      key.push_back(
          spmd::RoundAttr::get(collective.getContext(), *orders->round));
  }
  return builder.getArrayAttr(key);
}

static void unite(llvm::BitVector &into, const llvm::BitVector &from) {
  if (into.size() < from.size())
    into.resize(from.size());
  into |= from;
}

static bool has(const llvm::BitVector &set, unsigned index) {
  return index < set.size() && set.test(index);
}

/// Whether the op needs a result of the group, directly or not.
bool BlockCombiner::needs(unsigned op, unsigned group) const {
  return has(needed[op], group) ||
         llvm::any_of(needed[op].set_bits(), [&](unsigned other) {
           return has(groups[other].needed, group);
         });
}

/// Makes the op a member of the group, and of all groups that need this one
/// users of what it needs.
void BlockCombiner::add(unsigned op, unsigned group) {
  groups[group].members.push_back(op);
  llvm::BitVector gained = needed[op];
  for (unsigned other : needed[op].set_bits())
    unite(gained, groups[other].needed);
  for (auto [index, other] : llvm::enumerate(groups))
    if (index == group || has(other.needed, group))
      unite(other.needed, gained);
}

/// What an op needs, its users need too; and its group, where it has one.
void BlockCombiner::passNeedsOn(unsigned op, std::optional<unsigned> group) {
  llvm::BitVector passed = std::move(needed[op]);
  if (group) {
    passed.resize(std::max<size_t>(passed.size(), *group + 1));
    passed.set(*group);
  }
  if (passed.any())
    for (Operation *user : ops[op]->getUsers())
      unite(needed[numbers.lookup(block.findAncestorOpInBlock(*user))], passed);
  needed[op].clear();
}

/// What the links could send while the block's products are computed once:
/// bytes over the fastest axis.
double BlockCombiner::getBytesDuringProducts() {
  double bytes = 0;
  auto runs = double(nd::countRuns(block.getTerminator()));
  block.walk([&](nd::NamedOpInterface op) {
    if (op->getNumResults() == 0 || op->getNumRegions() > 0)
      return;
    bytes += calls.getBytesDuring(
        double(nd::countRuns(op)) / runs * op.getCost().flops,
        nd::getTensorType(op->getResult(0)).getElementType());
  });
  return bytes;
}

/// Divides collectives of `all` bytes into groups for a machine that computes
/// during them. Each call takes a latency L, in bytes that the links send in
/// it. Of k equal groups, the last one ends after all computations: k L (1 -
/// overlap) + all / k · overlap is least for k = sqrt(all · overlap / (L · (1 -
/// overlap))). If the links are busy longer than the computations take, C, all
/// latencies count, and the first group waits for its part of them: C / k + k L
/// is least for k = sqrt(C / L). The first group of a step has no more than
/// 2 L: what it sends is ready soonest.
///
/// A loop of n iterations, unless they are micro-batches, has n k latencies,
/// but what an iteration sends may overlap with the next one. So only the last
/// iteration's last group ends after the computations: n L takes the place of
/// L.
BlockCombiner::Limits
BlockCombiner::limitByCost(CollectiveOpInterface collective, int64_t all) {
  // No machine hides everything: ranks begin the calls.
  constexpr double mostOverlap = 0.95;
  nd::MeshAttr mesh = nd::MeshAttr::of(collective);
  auto planner = reshard::ReshardPlanner::of(collective);
  spmd::CollectiveKind kind = collective.getCollectiveKind();
  double latency =
      calls.getLatencyBytes(kind, collective.getGroupAxes(), mesh, planner);
  int64_t most = bounds.maxBytes;
  if (latency == 0)
    return {most, most};
  if (!isStep)
    latency *= double(cast<nd::ScanOp>(block.getParentOp()).getSize());
  // In bytes of the whole, as `all` and `latency` are.
  double computing =
      getBytesDuringProducts() /
      CallCosts::getByteCost(kind, collective.getGroupAxes(), mesh, planner);
  double overlap = std::min(calls.overlap, mostOverlap);
  double groups = std::sqrt(
      std::min(double(all) * overlap / (1 - overlap), computing) / latency);
  double bytes = double(all) / std::max(groups, 1.0);
  auto atMost = [&](double limit) {
    return int64_t(std::min(double(most), limit));
  };
  return {atMost(isStep ? std::min(bytes, 2 * latency) : bytes), atMost(bytes)};
}

/// Of each key, the most bytes of a group. What a step gathers or scatters is
/// divided into several groups, so that few tensors are whole at a time; memory
/// decides there, not cost. The body of a loop is one of several parts already.
llvm::DenseMap<Attribute, BlockCombiner::Limits> BlockCombiner::getLimits() {
  llvm::MapVector<Attribute, std::pair<CollectiveOpInterface, int64_t>> all;
  for (auto collective : block.getOps<CollectiveOpInterface>()) {
    auto &[first, bytes] = all[getKey(collective)];
    if (!first)
      first = collective;
    bytes += getBytes(collective);
  }
  llvm::DenseMap<Attribute, Limits> limits;
  for (auto &[key, entry] : all) {
    auto [collective, bytes] = entry;
    if (isStep && changesSize(collective))
      limits[key].first = limits[key].others = std::min(
          bounds.maxBytes, std::max(bounds.minBytes, bytes / bounds.parts));
    else
      limits[key] = limitByCost(collective, bytes);
  }
  return limits;
}

void BlockCombiner::formGroups() {
  needed.resize(ops.size());
  llvm::DenseMap<Attribute, Limits> limits = getLimits();
  // By what must be equal; a group that is full or depends gives way to a new
  // one. No member of a group needs a result of an op that comes later, so only
  // one direction is asked for.
  llvm::MapVector<Attribute, unsigned> open;
  llvm::DenseSet<Attribute> hasFull;
  for (auto [number, op] : llvm::enumerate(ops)) {
    auto collective = dyn_cast<CollectiveOpInterface>(op);
    if (!collective) {
      passNeedsOn(number, std::nullopt);
      continue;
    }
    int64_t bytes = getBytes(collective);
    Attribute key = getKey(collective);
    auto [it, isFirst] = open.insert({key, groups.size()});
    Limits limit = limits.lookup(key);
    int64_t most = hasFull.contains(key) ? limit.others : limit.first;
    bool isFull = !isFirst && groups[it->second].bytes + bytes > most;
    if (isFull)
      hasFull.insert(key);
    if (isFull || (!isFirst && needs(number, it->second))) {
      it->second = groups.size();
      isFirst = true;
    }
    if (isFirst) {
      groupOfNode[number] = groups.size();
      groups.emplace_back();
    }
    unsigned group = it->second;
    groups[group].bytes += bytes;
    add(number, group);
    node[number] = groups[group].members.front();
    passNeedsOn(number, group);
  }
}

/// Puts the block in an order in which the members of a group stand together:
/// as before, but each group where its last member was.
void BlockCombiner::sort() {
  llvm::SmallVector<unsigned> position(ops.size());
  for (unsigned i = 0; i < ops.size(); ++i) {
    auto group = groupOfNode.find(node[i]);
    position[i] =
        group == groupOfNode.end() ? i : groups[group->second].members.back();
  }
  llvm::SmallVector<llvm::SetVector<unsigned>> users(ops.size());
  llvm::SmallVector<unsigned> pending(ops.size(), 0);
  for (unsigned i = 0; i < ops.size(); ++i)
    for (Operation *user : ops[i]->getUsers())
      if (unsigned next =
              node[numbers.lookup(block.findAncestorOpInBlock(*user))];
          users[node[i]].insert(next))
        ++pending[next];
  using Entry = std::pair<unsigned, unsigned>; // position, node
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
  for (unsigned i = 0; i < ops.size(); ++i)
    if (node[i] == i && pending[i] == 0)
      ready.emplace(position[i], i);
  while (!ready.empty()) {
    unsigned current = ready.top().second;
    ready.pop();
    auto group = groupOfNode.find(current);
    llvm::SmallVector<unsigned> members{current};
    if (group != groupOfNode.end())
      members = groups[group->second].members;
    for (unsigned member : members)
      ops[member]->moveBefore(&block, block.end());
    for (unsigned next : users[current])
      if (--pending[next] == 0)
        ready.emplace(position[next], next);
  }
}

void BlockCombiner::build() {
  for (const Group &group : groups) {
    if (group.members.size() < 2)
      continue;
    llvm::SmallVector<Operation *> members;
    for (unsigned member : group.members)
      members.push_back(ops[member]);
    OpBuilder builder(members.back());
    Operation *combined = cast<CollectiveOpInterface>(members.front())
                              .createCombined(builder, members);
    if (Attribute use = members.front()->getAttr(spmd::useAttrName))
      combined->setAttr(spmd::useAttrName, use);
    unsigned result = 0;
    for (Operation *member : members)
      for (Value old : member->getResults())
        old.replaceAllUsesWith(combined->getResult(result++));
    for (Operation *member : members)
      member->erase();
  }
}

void BlockCombiner::run() {
  numberOps();
  formGroups();
  sort();
  build();
}

namespace {
struct CombineCollectives : impl::CombineCollectivesBase<CombineCollectives> {
  using CombineCollectivesBase::CombineCollectivesBase;

  void runOnOperation() override {
    // A loop's body is a block of its own: no collective crosses its border.
    llvm::SmallVector<Block *> blocks;
    getOperation().walk([&](func::FuncOp function) {
      function.walk([&](Block *block) { blocks.push_back(block); });
    });
    for (Block *block : blocks)
      BlockCombiner(*block, {maxBytes, minBytes, parts},
                    CallCosts::of(getOperation()))
          .run();
  }
};
} // namespace

} // namespace meshc::collectives
