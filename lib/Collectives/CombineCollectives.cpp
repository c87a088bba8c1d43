//===- CombineCollectives.cpp - one collective of several ---===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Spmd/SpmdOps.h"
#include "lib/Collectives/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"
#include <queue>

using namespace mlir;

namespace meshc::collectives {

#define GEN_PASS_DEF_COMBINECOLLECTIVES
#include "lib/Collectives/Passes.h.inc"

using spmd::CollectiveOpInterface;

namespace {

/// The ops of a block as a graph of dependences in which some collectives are
/// already one node.
class BlockCombiner {
public:
  BlockCombiner(Block &block, int64_t maxBytes)
      : block(block), maxBytes(maxBytes) {}

  void run();

private:
  /// Collectives that will be one op, by number of the first.
  struct Group {
    llvm::SmallVector<unsigned> members;
    int64_t bytes = 0;
  };

  void numberOps();
  void formGroups();
  bool reaches(unsigned from, unsigned to);
  void sort();
  void build();
  unsigned getNode(unsigned op) const { return node[op]; }

  Block &block;
  int64_t maxBytes;
  llvm::SmallVector<Operation *> ops;
  llvm::DenseMap<Operation *, unsigned> numbers;
  llvm::SmallVector<unsigned> node; ///< of each op: number of its group's first
  llvm::MapVector<unsigned, Group> groups; ///< by node
};

} // namespace

void BlockCombiner::numberOps() {
  for (Operation &op : block) {
    numbers[&op] = ops.size();
    node.push_back(ops.size());
    ops.push_back(&op);
  }
}

/// Whether node `to` needs a result of node `from`, directly or not.
bool BlockCombiner::reaches(unsigned from, unsigned to) {
  llvm::DenseSet<unsigned> seen{from};
  llvm::SmallVector<unsigned> stack{from};
  while (!stack.empty()) {
    unsigned current = stack.pop_back_val();
    auto group = groups.find(current);
    llvm::SmallVector<unsigned> members{current};
    if (group != groups.end())
      members = group->second.members;
    for (unsigned member : members)
      for (Operation *user : ops[member]->getUsers()) {
        unsigned next =
            node[numbers.lookup(block.findAncestorOpInBlock(*user))];
        if (next == to)
          return true;
        if (seen.insert(next).second)
          stack.push_back(next);
      }
  }
  return false;
}

/// Bytes of the operands on one rank.
static int64_t getOperandBytes(Operation *op) {
  int64_t bytes = 0;
  for (Value operand : op->getOperands())
    bytes += nd::getTensorType(operand).getLocalBytes(nd::MeshAttr::of(op));
  return bytes;
}

void BlockCombiner::formGroups() {
  // What must be equal; a group that is full or depends gives way to a new one.
  llvm::MapVector<Attribute, unsigned> open;
  for (auto [number, op] : llvm::enumerate(ops)) {
    auto collective = dyn_cast<CollectiveOpInterface>(op);
    if (!collective)
      continue;
    Builder builder(op->getContext());
    auto reduction = collective.getGroupReduction();
    llvm::SmallVector<Attribute> key{
        op->getName().getIdentifier(),
        builder.getI32IntegerAttr(reduction ? static_cast<int>(*reduction)
                                            : -1),
        TypeAttr::get(nd::getTensorType(op->getOperand(0)).getElementType())};
    llvm::append_range(key, collective.getGroupAxes());
    unsigned self = number;
    int64_t bytes = getOperandBytes(op);
    auto [it, isFirst] = open.insert({builder.getArrayAttr(key), self});
    if (!isFirst) {
      Group &group = groups[it->second];
      if (group.bytes + bytes <= maxBytes && !reaches(it->second, self) &&
          !reaches(self, it->second)) {
        node[self] = it->second;
        group.members.push_back(self);
        group.bytes += bytes;
        continue;
      }
      it->second = self;
    }
    groups[self] = {{self}, bytes};
  }
}

/// Puts the block in an order in which the members of a group stand together:
/// as before, but each group where its last member was.
void BlockCombiner::sort() {
  llvm::SmallVector<unsigned> position(ops.size());
  for (unsigned i = 0; i < ops.size(); ++i) {
    auto group = groups.find(node[i]);
    position[i] = group == groups.end() ? i : group->second.members.back();
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
    auto group = groups.find(current);
    llvm::SmallVector<unsigned> members{current};
    if (group != groups.end())
      members = group->second.members;
    for (unsigned member : members)
      ops[member]->moveBefore(&block, block.end());
    for (unsigned next : users[current])
      if (--pending[next] == 0)
        ready.emplace(position[next], next);
  }
}

void BlockCombiner::build() {
  for (auto &[first, group] : groups) {
    if (group.members.size() < 2)
      continue;
    llvm::SmallVector<Operation *> members;
    for (unsigned member : group.members)
      members.push_back(ops[member]);
    OpBuilder builder(members.back());
    Operation *combined = cast<CollectiveOpInterface>(members.front())
                              .createCombined(builder, members);
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
    for (auto function : getOperation().getOps<func::FuncOp>())
      for (Block &block : function.getBody())
        BlockCombiner(block, maxBytes).run();
  }
};
} // namespace

} // namespace meshc::collectives
