//===- FormFusions.cpp - ops to kernels -----------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/Library.h"
#include "dialects/Nd/Ops/LoopOps.h"
#include "lib/Kernels/FusionGroups.h"
#include "lib/Kernels/Passes.h"
#include "mlir/IR/IRMapping.h"
#include <queue>

using namespace mlir;

namespace meshc::kernels {

#define GEN_PASS_DEF_FORMFUSIONS
#include "lib/Kernels/Passes.h.inc"

namespace {
/// One op after the pass: a group's fusion, or an op that stays as it is.
struct Node {
  const Group *group = nullptr;
  Operation *op = nullptr; ///< null for a group
  size_t place = 0;        ///< in the program, of the first result
  /// Of a group: ops to clone, in program order, and what they read.
  SmallVector<Operation *> body;
  llvm::SetVector<Value> inputs;
  SmallVector<size_t> successors;
  size_t waitsFor = 0;
};

/// Rewrites a block by its groups.
class FusionBuilder {
public:
  FusionBuilder(Block &block, const DimOrder &dimOrder)
      : block(block), groups(block, dimOrder) {}

  void run();

private:
  void makeNodes();
  void collectBody(Node &node);
  void connect();
  void buildFusion(Node &node, OpBuilder &builder);
  exec::PlanAttr getPlan(const Node &node);

  Block &block;
  FusionGroups groups;
  DenseMap<Operation *, size_t> places;
  std::vector<Node> nodes;
  DenseMap<Value, size_t> makers; ///< node that makes a stored value
  DenseMap<Value, Value> stored;  ///< root -> fusion's result
};
} // namespace

void FusionBuilder::makeNodes() {
  for (Operation &op : block.without_terminator())
    places[&op] = places.size();
  for (const Group *group : groups.getGroups()) {
    Node node;
    node.group = group;
    node.place = SIZE_MAX;
    for (Value root : group->roots)
      node.place = std::min(node.place, places.lookup(root.getDefiningOp()));
    collectBody(node);
    nodes.push_back(std::move(node));
  }
  for (Operation &op : block.without_terminator())
    if (!isKernelOp(&op)) {
      Node node;
      node.op = &op;
      node.place = places.lookup(&op);
      node.inputs.insert(op.operand_begin(), op.operand_end());
      nodes.push_back(std::move(node));
    }
}

/// Walks from the roots down to values in memory.
void FusionBuilder::collectBody(Node &node) {
  llvm::SmallDenseSet<Operation *> seen;
  SmallVector<Value> stack(node.group->roots);
  while (!stack.empty()) {
    Value value = stack.pop_back_val();
    Operation *op = value.getDefiningOp();
    const Group *maker = groups.getGroupOf(value);
    if (!op || !isKernelOp(op) || (maker && maker != node.group)) {
      node.inputs.insert(value);
      continue;
    }
    if (!seen.insert(op).second)
      continue;
    node.body.push_back(op);
    llvm::append_range(stack, op->getOperands());
  }
  llvm::sort(node.body, [&](Operation *a, Operation *b) {
    return places.lookup(a) < places.lookup(b);
  });
}

void FusionBuilder::connect() {
  for (auto [index, node] : llvm::enumerate(nodes)) {
    if (node.op)
      for (Value result : node.op->getResults())
        makers[result] = index;
    else
      for (Value root : node.group->roots)
        makers[root] = index;
  }
  for (auto [index, node] : llvm::enumerate(nodes)) {
    llvm::SmallDenseSet<size_t> before;
    for (Value input : node.inputs)
      if (auto maker = makers.find(input); maker != makers.end())
        before.insert(maker->second);
    node.waitsFor = before.size();
    for (size_t maker : before)
      nodes[maker].successors.push_back(index);
  }
}

/// The group's loops, sorted by name.
exec::PlanAttr FusionBuilder::getPlan(const Node &node) {
  const LoopDims &loops = node.group->loops;
  MLIRContext *context = block.getParent()->getContext();
  SmallVector<int64_t> sizes;
  auto addSize = [&](StringAttr dim) {
    sizes.push_back(loops.sizes.lookup(dim));
  };
  llvm::for_each(loops.parallel, addSize);
  llvm::for_each(loops.reduce, addSize);
  return exec::PlanAttr::get(context, loops.parallel, loops.reduce,
                             StringAttr::get(context, ""), sizes);
}

void FusionBuilder::buildFusion(Node &node, OpBuilder &builder) {
  SmallVector<Location> locs;
  SmallVector<Type> types;
  for (Value root : node.group->roots) {
    locs.push_back(root.getLoc());
    types.push_back(root.getType());
  }
  Location loc = FusedLoc::get(builder.getContext(), locs);
  SmallVector<Value> inputs;
  for (Value input : node.inputs)
    inputs.push_back(stored.contains(input) ? stored.lookup(input) : input);
  auto fusion =
      exec::FusionOp::create(builder, loc, types, inputs, getPlan(node));
  Block &body = fusion.getBody().emplaceBlock();
  IRMapping mapping;
  for (Value input : node.inputs)
    mapping.map(input, body.addArgument(input.getType(), input.getLoc()));
  OpBuilder inner = OpBuilder::atBlockEnd(&body);
  for (Operation *op : node.body)
    inner.clone(*op, mapping);
  SmallVector<Value> results;
  for (Value root : node.group->roots)
    results.push_back(mapping.lookup(root));
  exec::YieldOp::create(inner, loc, results);
  for (auto [root, result] : llvm::zip(node.group->roots, fusion.getResults()))
    stored[root] = result;
}

void FusionBuilder::run() {
  makeNodes();
  connect();
  auto isLater = [&](size_t a, size_t b) {
    return nodes[a].place > nodes[b].place;
  };
  std::priority_queue<size_t, std::vector<size_t>, decltype(isLater)> ready(
      isLater);
  for (size_t index = 0; index < nodes.size(); ++index)
    if (nodes[index].waitsFor == 0)
      ready.push(index);
  Operation *terminator = block.getTerminator();
  OpBuilder builder(terminator);
  auto replace = [&](Operation *op) {
    for (OpOperand &operand : op->getOpOperands())
      if (Value result = stored.lookup(operand.get()))
        operand.set(result);
  };
  while (!ready.empty()) {
    Node &node = nodes[ready.top()];
    ready.pop();
    if (node.op) {
      node.op->moveBefore(terminator);
      replace(node.op);
    } else {
      buildFusion(node, builder);
    }
    for (size_t successor : node.successors)
      if (--nodes[successor].waitsFor == 0)
        ready.push(successor);
  }
  replace(terminator);
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isKernelOp(&op))
      op.erase();
}

namespace {
struct FormFusions : impl::FormFusionsBase<FormFusions> {
  static LogicalResult verifyDecomposed(ArrayRef<Block *> blocks) {
    bool isFailed = false;
    for (Block *block : blocks)
      for (Operation &op : *block)
        if (isa<nd::CompositeOpInterface>(op)) {
          op.emitError() << "'" << op.getName()
                         << "' must be decomposed before kernels are formed";
          isFailed = true;
        }
    return failure(isFailed);
  }

  void runOnOperation() override {
    SmallVector<Block *> blocks = nd::getBlocks(getOperation());
    if (failed(verifyDecomposed(blocks)))
      return signalPassFailure();
    DimOrder dimOrder(getOperation());
    llvm::for_each(blocks, [](Block *block) { exec::formLibraryOps(*block); });
    for (Block *block : blocks)
      FusionBuilder(*block, dimOrder).run();
  }
};
} // namespace

} // namespace meshc::kernels
