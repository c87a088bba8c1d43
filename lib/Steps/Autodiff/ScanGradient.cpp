//===- ScanGradient.cpp - the gradient of a loop --------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Steps/Autodiff/ScanGradient.h"
#include "dialects/Nd/Ops/PointwiseOps.h"
#include "dialects/Nd/Ops/SourceOps.h"

using namespace mlir;

namespace meshc::steps {

namespace {
class ScanGradient {
public:
  ScanGradient(OpBuilder &builder, nd::ScanOp forward,
               ArrayRef<Value> resultGrads, SmallVectorImpl<ScanPair> &scans)
      : builder(builder), forward(forward), resultGrads(resultGrads),
        scans(scans), block(forward.getBlock()) {}

  LogicalResult run(const llvm::BitVector &operandsDepend,
                    SmallVectorImpl<Value> &operandGrads);

private:
  void findDependentArguments(const llvm::BitVector &operandsDepend);
  LogicalResult buildBody();
  bool addCotangents();
  nd::ScanOp finish(SmallVectorImpl<Value> &operandGrads);
  void finishCotangents(SmallVectorImpl<Value> &operands,
                        SmallVectorImpl<Value> &yielded);
  void finishAccumulators(SmallVectorImpl<Value> &operands,
                          SmallVectorImpl<Value> &yielded);

  bool isWhole(unsigned argument) {
    return argument >= forward.getCarriedCount() + forward.getStackedCount();
  }
  /// Builds at the end of the body, which is in no region yet.
  OpBuilder getEnd() {
    OpBuilder inside(forward.getContext());
    inside.setInsertionPointToEnd(body.get());
    return inside;
  }
  Value makeZero(OpBuilder &at, Type type) {
    return nd::ConstantOp::create(at, forward.getLoc(),
                                  cast<nd::TensorType>(type), 0.0);
  }

  OpBuilder &builder; ///< where the new loop is to be
  nd::ScanOp forward;
  ArrayRef<Value> resultGrads;
  SmallVectorImpl<ScanPair> &scans;
  Block &block; ///< of `forward`

  /// Arguments of floats that depend on a variable.
  SmallVector<BlockArgument> variables;
  llvm::DenseSet<Value> depends;
  /// Per carried value: whether it has a gradient, and whether what an
  /// iteration yields for it has one. That of a loop's first values may only
  /// reach operands.
  llvm::BitVector hasCotangent, isSeeded;
  /// The body of the new loop. Its arguments are the gradients of carried
  /// values, then those of entries of stacked results.
  std::unique_ptr<Block> body;
  SmallVector<Value> stackedGrads; ///< operands of the new loop
  /// In the body: the gradient of each argument of `block`, or null.
  SmallVector<Value> argumentGrads;
};
} // namespace

/// A carried argument depends on a variable also through earlier iterations.
void ScanGradient::findDependentArguments(
    const llvm::BitVector &operandsDepend) {
  llvm::BitVector dependent = operandsDepend;
  for (bool changed = true; changed;) {
    variables.clear();
    for (unsigned index : dependent.set_bits())
      variables.push_back(block.getArgument(index));
    depends = findDependent(block, llvm::to_vector_of<Value>(variables));
    changed = false;
    for (unsigned index = 0; index < forward.getCarriedCount(); ++index)
      if (!dependent[index] &&
          depends.contains(forward.getYield().getOperand(index)))
        changed = dependent[index] = true;
  }
  llvm::erase_if(variables, [](BlockArgument argument) {
    return !nd::getTensorType(argument).isFloat();
  });
}

/// Builds the gradients of the body's arguments from those of what it yields.
LogicalResult ScanGradient::buildBody() {
  body = std::make_unique<Block>();
  stackedGrads.clear();
  SmallVector<Seed> seeds;
  auto addSeed = [&](unsigned result) {
    Value yielded = forward.getYield().getOperand(result);
    seeds.push_back(
        {yielded, body->addArgument(yielded.getType(), forward.getLoc())});
  };
  for (unsigned index : hasCotangent.set_bits())
    if (isSeeded[index])
      addSeed(index);
    else
      body->addArgument(block.getArgument(index).getType(), forward.getLoc());
  for (unsigned index = forward.getCarriedCount(); index < resultGrads.size();
       ++index) {
    if (!resultGrads[index] ||
        !depends.contains(forward.getYield().getOperand(index)))
      continue;
    addSeed(index);
    stackedGrads.push_back(resultGrads[index]);
  }
  OpBuilder inside = getEnd();
  FailureOr<SmallVector<Value>> gradients = differentiateBlock(
      inside, block, seeds, llvm::to_vector_of<Value>(variables), scans);
  if (failed(gradients))
    return failure();
  argumentGrads.assign(block.getNumArguments(), Value());
  for (auto [argument, gradient] : llvm::zip(variables, *gradients))
    argumentGrads[argument.getArgNumber()] = gradient;
  return success();
}

/// Whether further carried values have a gradient, since one has reached their
/// argument. The body must then be built anew: gradients at its end, of what it
/// yields for them, were missing.
bool ScanGradient::addCotangents() {
  bool changed = false;
  for (unsigned index = 0; index < forward.getCarriedCount(); ++index)
    if (argumentGrads[index] && !hasCotangent[index])
      changed = hasCotangent[index] = true;
  return changed;
}

void ScanGradient::finishCotangents(SmallVectorImpl<Value> &operands,
                                    SmallVectorImpl<Value> &yielded) {
  OpBuilder inside = getEnd();
  for (unsigned index : hasCotangent.set_bits()) {
    Type type = block.getArgument(index).getType();
    operands.push_back(resultGrads[index] ? resultGrads[index]
                                          : makeZero(builder, type));
    yielded.push_back(argumentGrads[index] ? argumentGrads[index]
                                           : makeZero(inside, type));
  }
}

void ScanGradient::finishAccumulators(SmallVectorImpl<Value> &operands,
                                      SmallVectorImpl<Value> &yielded) {
  OpBuilder inside = getEnd();
  for (unsigned index = 0; index < argumentGrads.size(); ++index) {
    Value gradient = argumentGrads[index];
    if (!gradient || !isWhole(index))
      continue;
    Type type = block.getArgument(index).getType();
    BlockArgument sum =
        body->insertArgument(operands.size(), type, forward.getLoc());
    operands.push_back(makeZero(builder, type));
    yielded.push_back(
        nd::AddOp::create(inside, forward.getLoc(), sum, gradient));
  }
}

/// The loop around the finished body.
nd::ScanOp ScanGradient::finish(SmallVectorImpl<Value> &operandGrads) {
  SmallVector<Value> carried, yielded;
  finishCotangents(carried, yielded);
  finishAccumulators(carried, yielded);
  SmallVector<Type> types(ValueRange(carried).getTypes());
  unsigned firstStacked = forward.getCarriedCount();
  for (unsigned index = firstStacked;
       index < firstStacked + forward.getStackedCount(); ++index)
    if (argumentGrads[index]) {
      yielded.push_back(argumentGrads[index]);
      types.push_back(forward->getOperand(index).getType());
    }
  OpBuilder inside = getEnd();
  nd::YieldOp::create(inside, forward.getLoc(), yielded);
  auto backward = nd::ScanOp::create(
      builder, forward.getLoc(), types, forward.getDim(), forward.getSize(),
      !forward.getBackwards(), /*conditional=*/false,
      /*micro_batches=*/false, nullptr, carried, stackedGrads, ValueRange());
  backward.getRegion().push_back(body.release());

  unsigned next = 0;
  for (unsigned index : hasCotangent.set_bits())
    operandGrads[index] = backward->getResult(next++);
  for (unsigned index = 0; index < argumentGrads.size(); ++index)
    if (argumentGrads[index] && isWhole(index))
      operandGrads[index] = backward->getResult(next++);
  for (unsigned index = firstStacked; !isWhole(index); ++index)
    if (argumentGrads[index])
      operandGrads[index] = backward->getResult(next++);
  return backward;
}

LogicalResult ScanGradient::run(const llvm::BitVector &operandsDepend,
                                SmallVectorImpl<Value> &operandGrads) {
  findDependentArguments(operandsDepend);
  hasCotangent.resize(forward.getCarriedCount());
  for (BlockArgument argument : variables)
    if (unsigned index = argument.getArgNumber();
        index < hasCotangent.size() && resultGrads[index])
      hasCotangent.set(index);
  isSeeded = hasCotangent;
  // Each turn follows gradients one iteration further back. A loop of n
  // iterations has n - 1 to go back to: what reaches the loss only beyond them
  // has no gradient, as if the iterations were written one after the other.
  size_t outer = scans.size();
  for (uint64_t reach = 1;; ++reach) {
    scans.truncate(outer);
    if (failed(buildBody()))
      return failure();
    if (!addCotangents())
      break;
    if (reach < forward.getSize())
      isSeeded = hasCotangent;
  }
  if (llvm::none_of(argumentGrads, [](Value grad) { return bool(grad); })) {
    // The body goes, and with it the loops that were built in it.
    scans.truncate(outer);
    return success();
  }
  scans.push_back({forward, finish(operandGrads)});
  return success();
}

LogicalResult buildScanGradient(OpBuilder &builder, nd::ScanOp scan,
                                ArrayRef<Value> resultGrads,
                                const llvm::BitVector &depends,
                                SmallVectorImpl<Value> &operandGrads,
                                SmallVectorImpl<ScanPair> &scans) {
  return ScanGradient(builder, scan, resultGrads, scans)
      .run(depends, operandGrads);
}

} // namespace meshc::steps
