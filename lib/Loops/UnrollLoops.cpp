//===- UnrollLoops.cpp - loops become their iterations --------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/Ops/LoopOps.h"
#include "dialects/Nd/Ops/PointwiseOps.h"
#include "dialects/Nd/Ops/SourceOps.h"
#include "dialects/Nd/Ops/StackOps.h"
#include "dialects/Nd/TensorAttributes.h"
#include "lib/Loops/Passes.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace meshc::loops {

#define GEN_PASS_DEF_UNROLLLOOPS
#include "lib/Loops/Passes.h.inc"

namespace {
/// Replaces one loop.
class Unroller {
public:
  Unroller(nd::ScanOp scan, bool isPrimitive)
      : scan(scan), isPrimitive(isPrimitive), builder(scan) {}

  /// Appends the loops among the new ops to `inner`.
  void run(SmallVectorImpl<nd::ScanOp> &inner);

private:
  SmallVector<Value> takeApart(Value stacked, Type entry);
  Value putTogether(ArrayRef<Value> entries, OpResult result);
  Value keepUnless(Value goesOn, Value yielded, Value kept, OpResult result);
  void setSharding(Operation *op, ArrayRef<TypeAttr> shardings);
  TypeAttr getSharding(Value value);

  nd::ScanOp scan;
  bool isPrimitive;
  OpBuilder builder;
};
} // namespace

/// After the layout phase, the sharding of a value; null before.
TypeAttr Unroller::getSharding(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    if (auto outer = dyn_cast<nd::ScanOp>(argument.getOwner()->getParentOp())) {
      nd::Tie tie = outer.getTie(argument);
      TypeAttr sharding = getSharding(tie.result ? tie.result : tie.operand);
      if (tie.kind != nd::TieKind::StackedOperand || !sharding)
        return sharding;
      return TypeAttr::get(nd::getEntryType(
          cast<nd::TensorType>(sharding.getValue()), outer.getDim()));
    }
    return nd::TensorAttributes::of(value).getSharding();
  }
  ArrayAttr shardings = nd::getShardings(value.getDefiningOp());
  return shardings ? cast<TypeAttr>(
                         shardings[cast<OpResult>(value).getResultNumber()])
                   : TypeAttr();
}

void Unroller::setSharding(Operation *op, ArrayRef<TypeAttr> shardings) {
  if (llvm::all_of(shardings, [](TypeAttr type) { return bool(type); }))
    nd::setShardings(op, SmallVector<Attribute>(shardings));
}

/// The entries of a stacked operand, by index.
SmallVector<Value> Unroller::takeApart(Value stacked, Type entry) {
  auto type = cast<nd::TensorType>(entry);
  auto count = static_cast<int64_t>(scan.getSize());
  SmallVector<Value> entries;
  if (isa_and_nonnull<nd::IotaOp>(stacked.getDefiningOp())) {
    for (int64_t index = 0; index < count; ++index)
      entries.push_back(nd::ConstantOp::create(builder, scan.getLoc(), type,
                                               static_cast<double>(index)));
    if (TypeAttr sharding = getSharding(stacked))
      for (Value each : entries)
        setSharding(each.getDefiningOp(), TypeAttr::get(type.getGlobal()));
    return entries;
  }
  TypeAttr sharding = getSharding(stacked);
  if (sharding)
    sharding = TypeAttr::get(nd::getEntryType(
        cast<nd::TensorType>(sharding.getValue()), scan.getDim()));
  if (isPrimitive) {
    for (int64_t index = 0; index < count; ++index) {
      auto op = nd::EntryOp::create(builder, scan.getLoc(), type, stacked,
                                    scan.getDimAttr(),
                                    builder.getI64IntegerAttr(index));
      setSharding(op, sharding);
      entries.push_back(op);
    }
    return entries;
  }
  auto op = nd::UnstackOp::create(builder, scan.getLoc(),
                                  SmallVector<Type>(count, type), stacked,
                                  scan.getDimAttr());
  setSharding(op, SmallVector<TypeAttr>(count, sharding));
  return op.getResults();
}

/// A stacked result from its entries, by index.
Value Unroller::putTogether(ArrayRef<Value> entries, OpResult result) {
  auto stack = nd::StackOp::create(builder, scan.getLoc(), result.getType(),
                                   entries, scan.getDimAttr());
  if (DictionaryAttr attributes =
          scan.getResultAttributes(result.getResultNumber()))
    stack->setDiscardableAttrs(attributes);
  setSharding(stack, getSharding(result));
  return stack;
}

/// What a loop with `while` carries on from an iteration: `kept` if the loop
/// has ended before it.
Value Unroller::keepUnless(Value goesOn, Value yielded, Value kept,
                           OpResult result) {
  auto op = nd::SelectOp::create(builder, scan.getLoc(), goesOn, yielded, kept);
  // On one rank's blocks, too.
  op.getResult().setType(cast<nd::TensorType>(yielded.getType()));
  setSharding(op, getSharding(result));
  return op;
}

void Unroller::run(SmallVectorImpl<nd::ScanOp> &inner) {
  unsigned carriedCount = scan.getCarriedCount();
  Block &block = scan.getBlock();
  SmallVector<SmallVector<Value>> entries;
  for (auto [index, stacked] : llvm::enumerate(scan.getStacked()))
    entries.push_back(
        takeApart(stacked, block.getArgument(carriedCount + index).getType()));
  SmallVector<Value> carried(scan.getCarried());
  SmallVector<SmallVector<Value>> made(
      scan.getNumResults() - carriedCount,
      SmallVector<Value>(static_cast<size_t>(scan.getSize())));
  for (int64_t iteration : scan.getIterations()) {
    SmallVector<Value> arguments = carried;
    for (ArrayRef<Value> each : entries)
      arguments.push_back(each[iteration]);
    llvm::append_range(arguments, scan.getWhole());
    IRMapping mapping;
    mapping.map(block.getArguments(), arguments);
    for (Operation &op : block.without_terminator())
      if (auto loop = dyn_cast<nd::ScanOp>(builder.clone(op, mapping)))
        inner.push_back(loop);
    // The first iteration always runs.
    bool isChoice =
        scan.getConditional() && iteration != scan.getIterations().front();
    Value goesOn = isChoice ? carried.front() : Value();
    for (auto [index, value] : llvm::enumerate(scan.getYield().getValues())) {
      Value yielded = mapping.lookupOrDefault(value);
      if (index >= carriedCount)
        made[index - carriedCount][iteration] = yielded;
      else if (isChoice)
        carried[index] = keepUnless(goesOn, yielded, carried[index],
                                    cast<OpResult>(scan.getResult(index)));
      else
        carried[index] = yielded;
    }
  }
  for (auto [index, result] : llvm::enumerate(scan->getResults()))
    if (index < carriedCount)
      result.replaceAllUsesWith(carried[index]);
    else if (!result.use_empty())
      result.replaceAllUsesWith(
          putTogether(made[index - carriedCount], cast<OpResult>(result)));
  scan.erase();
}

namespace {
struct UnrollLoops : impl::UnrollLoopsBase<UnrollLoops> {
  using UnrollLoopsBase::UnrollLoopsBase;

  static constexpr int64_t maxOps = 1000000;
  StringAttr positions; ///< whose loops are kept; may be null

  bool isKept(nd::ScanOp scan) const {
    return (positions && scan.getDim() == positions.getValue()) ||
           (keepsConditional && scan.getConditional());
  }

  /// Ops in place of the loop; `maxOps` stands for more.
  int64_t countOps(nd::ScanOp scan) {
    int64_t size = isKept(scan) ? 1 : scan.getSize(), body = 0;
    for (Operation &op : scan.getBlock()) {
      auto inner = dyn_cast<nd::ScanOp>(op);
      body = std::min(body + (inner ? countOps(inner) : 1), maxOps);
    }
    return body > maxOps / size ? maxOps : body * size;
  }

  void runOnOperation() override {
    if (keepsPositions)
      for (auto generate : getOperation().getOps<nd::GenerateOp>())
        positions = generate.getPositionsAttr();
    SmallVector<nd::ScanOp> loops;
    getOperation().walk<WalkOrder::PreOrder>([&](nd::ScanOp scan) {
      loops.push_back(scan);
      return WalkResult::skip();
    });
    for (nd::ScanOp scan : loops)
      if (countOps(scan) >= maxOps) {
        scan.emitError() << "the loop over '" << scan.getDim() << "' has "
                         << scan.getSize() << " iterations, and would become "
                         << "more than " << maxOps << " ops";
        return signalPassFailure();
      }
    while (!loops.empty()) {
      nd::ScanOp scan = loops.pop_back_val();
      if (isKept(scan))
        llvm::append_range(loops, scan.getBlock().getOps<nd::ScanOp>());
      else
        Unroller(scan, isPrimitive).run(loops);
    }
  }
};
} // namespace

} // namespace meshc::loops
