//===- MergeLaunches.cpp - small kernels in one launch --------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/ArenaAttributes.h"
#include "dialects/Exec/Order.h"
#include "dialects/Exec/Parts.h"
#include "dialects/Nd/Ops/SourceOps.h"
#include "lib/Schedule/Passes.h"
#include "lib/Schedule/Residence.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace meshc::schedule {

#define GEN_PASS_DEF_MERGELAUNCHES
#include "lib/Schedule/Passes.h.inc"

/// Fusions other than updates are merged if their results have at most so many
/// bytes: about what the threads of a GPU compute at once.
static constexpr int64_t smallBytes = 1 << 20;
/// Buffers of a kernel at most: a GPU takes 4 kB of parameters, which are their
/// addresses.
static constexpr size_t mostBuffers = 480;

namespace {
/// Merges the fusions of one block that are next to each other.
class LaunchMerger {
public:
  explicit LaunchMerger(Block &block)
      : block(block), mesh(nd::MeshAttr::of(block.getParentOp())) {}

  void run();

private:
  bool canHavePart(exec::FusionOp fusion) const;
  bool canJoin(exec::FusionOp fusion) const;
  void merge();

  Block &block;
  nd::MeshAttr mesh;
  SmallVector<exec::FusionOp> members; ///< next to each other
  llvm::SetVector<Value> inputs;       ///< of the members
  size_t results = 0;
};
} // namespace

bool LaunchMerger::canHavePart(exec::FusionOp fusion) const {
  // The code of random numbers is long, and takes many registers in many parts.
  auto hasElements = [](Operation &op) {
    return isa<nd::ElementOpInterface>(op) && !isa<nd::RandomOp>(op);
  };
  if (!fusion.getPlan().getReduce().empty() || fusion.getParts() ||
      !fusion->hasAttr(exec::ordersAttrName) ||
      !llvm::all_of(fusion.getBody().front().without_terminator(), hasElements))
    return false;
  if (isUpdate(fusion))
    return true;
  int64_t bytes = 0;
  for (Value result : fusion.getResults())
    bytes += nd::getTensorType(result).getLocalBytes(mesh);
  // A loop takes over the memory of its initial values, which others may read.
  bool startsLoop = llvm::any_of(fusion->getUsers(), llvm::IsaPred<nd::ScanOp>);
  return bytes <= smallBytes && !startsLoop;
}

/// Whether the fusion may run at the same time as the members: it neither reads
/// what they compute nor overwrites what they read.
bool LaunchMerger::canJoin(exec::FusionOp fusion) const {
  size_t buffers = inputs.size() + results + fusion.getNumOperands() +
                   fusion.getNumResults();
  if (buffers > mostBuffers)
    return false;
  for (Value input : fusion.getInputs())
    if (llvm::is_contained(members, input.getDefiningOp()))
      return false;
  Operation *terminator = block.getTerminator();
  for (OpOperand &operand : terminator->getOpOperands())
    if (operand.get().getDefiningOp() == fusion)
      if (Value replaced =
              getReplacedArgument(block, operand.getOperandNumber());
          replaced && inputs.contains(replaced))
        return false;
  return true;
}

/// Replaces the members by one fusion.
void LaunchMerger::merge() {
  if (members.size() < 2)
    return;
  OpBuilder builder(members.back());
  SmallVector<Location> locations;
  SmallVector<Type> types;
  SmallVector<Attribute> parts, orders;
  for (exec::FusionOp member : members) {
    locations.push_back(member.getLoc());
    llvm::append_range(types, member.getResultTypes());
    parts.push_back(exec::PartAttr::get(
        builder.getContext(), member.getNumResults(), member.getPlan()));
    llvm::append_range(orders,
                       member->getAttrOfType<ArrayAttr>(exec::ordersAttrName));
  }
  auto plan = exec::PlanAttr::get(builder.getContext(), {}, {},
                                  builder.getStringAttr(""), {});
  auto merged = exec::FusionOp::create(builder, builder.getFusedLoc(locations),
                                       types, inputs.getArrayRef(), plan,
                                       builder.getArrayAttr(parts));
  merged->setAttr(exec::ordersAttrName, builder.getArrayAttr(orders));
  Block &body = merged.getBody().emplaceBlock();
  DenseMap<Value, Value> arguments;
  for (Value input : inputs)
    arguments[input] = body.addArgument(input.getType(), input.getLoc());
  OpBuilder inner = OpBuilder::atBlockEnd(&body);
  SmallVector<Value> yielded;
  unsigned first = 0;
  for (exec::FusionOp member : members) {
    Block &old = member.getBody().front();
    IRMapping mapping;
    for (auto [argument, input] :
         llvm::zip(old.getArguments(), member.getInputs()))
      mapping.map(argument, arguments.lookup(input));
    for (Operation &op : old.without_terminator())
      inner.clone(op, mapping);
    for (Value value : old.getTerminator()->getOperands())
      yielded.push_back(mapping.lookup(value));
    member->replaceAllUsesWith(
        merged.getResults().slice(first, member.getNumResults()));
    first += member.getNumResults();
  }
  exec::YieldOp::create(inner, merged.getLoc(), yielded);
  for (exec::FusionOp member : members)
    member.erase();
}

void LaunchMerger::run() {
  auto close = [&] {
    merge();
    members.clear();
    inputs.clear();
    results = 0;
  };
  for (Operation &op : llvm::make_early_inc_range(block)) {
    auto fusion = dyn_cast<exec::FusionOp>(op);
    bool canHave = fusion && canHavePart(fusion);
    if (!canHave || !canJoin(fusion))
      close();
    if (!canHave)
      continue;
    members.push_back(fusion);
    inputs.insert(fusion.getInputs().begin(), fusion.getInputs().end());
    results += fusion.getNumResults();
  }
}

namespace {
struct MergeLaunches : impl::MergeLaunchesBase<MergeLaunches> {
  void runOnOperation() override {
    if (getOperation().isDeclaration() ||
        !exec::isForGpus(getOperation()->getParentOfType<ModuleOp>()))
      return;
    SmallVector<Block *> blocks = {&getOperation().getBody().front()};
    getOperation().walk(
        [&](nd::ScanOp scan) { blocks.push_back(&scan.getBlock()); });
    for (Block *block : blocks)
      LaunchMerger(*block).run();
  }
};
} // namespace

} // namespace meshc::schedule
