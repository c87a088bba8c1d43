//===- MicroBatches.cpp - a step in several parts -------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Steps/MicroBatches.h"
#include "dialects/Nd/Interfaces/ReductionKinds.h"
#include "dialects/Nd/Ops/LoopEdit.h"
#include "dialects/Nd/Ops/PointwiseOps.h"
#include "dialects/Nd/Ops/ShapeOps.h"
#include "dialects/Nd/Ops/SourceOps.h"
#include "dialects/Nd/Ops/ValueBuilder.h"
#include "lib/Steps/Statistics/MetricDivision.h"
#include "lib/Steps/StepValues.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace meshc::steps {

/// The dim that counts the examples of an input.
static StringAttr getExampleDim(const StepTensor &input) {
  return cast<StringAttr>(input.order[0]);
}

Type getBatchType(const StepTensor &input, int64_t count) {
  auto type = cast<nd::TensorType>(input.type);
  SmallVector<nd::DimAttr> dims;
  for (nd::DimAttr dim : type.getDims())
    dims.push_back(dim.getName() == getExampleDim(input)
                       ? nd::DimAttr::get(type.getContext(),
                                          dim.getName().getValue(),
                                          dim.getSize() * count)
                       : dim);
  return nd::TensorType::get(type.getElementType(), dims);
}

/// A name for the loop's dim that no tensor of the model has.
static std::string nameDim(func::FuncOp model) {
  llvm::StringSet<> taken;
  auto take = [&](Type type) {
    if (auto tensor = dyn_cast<nd::TensorType>(type))
      for (nd::DimAttr dim : tensor.getDims())
        taken.insert(dim.getName().getValue());
  };
  model.walk([&](Operation *op) {
    llvm::for_each(op->getResultTypes(), take);
    for (Region &region : op->getRegions())
      llvm::for_each(region.getArgumentTypes(), take);
  });
  std::string name = "micro_batch";
  for (int number = 2; taken.contains(name); ++number)
    name = "micro_batch_" + std::to_string(number);
  return name;
}

MicroBatchLoop::MicroBatchLoop(OpBuilder &builder, const ModelParts &model,
                               ValueRange batches, ValueRange whole)
    : builder(builder), inputCount(batches.size()) {
  Location loc = model.train->getLoc();
  int64_t count = model.microBatches;
  std::string dim = nameDim(model.model);
  SmallVector<Value> stacked;
  for (auto [batch, input] : llvm::zip(batches, model.inputs)) {
    StringAttr examples = getExampleDim(input);
    int64_t size =
        cast<nd::TensorType>(input.type).getSize(examples.getValue());
    auto split = nd::SplitDimOp::create(
        builder, loc, batch, examples,
        builder.getStrArrayAttr({examples.getValue(), dim}),
        builder.getDenseI64ArrayAttr({size, count}));
    nd::setName(split, input.name);
    stacked.push_back(split);
  }
  scan = nd::ScanOp::create(builder, loc, dim, count, /*backwards=*/false,
                            ValueRange(), stacked, whole);
  OpBuilder body = OpBuilder::atBlockEnd(&scan.getBlock());
  nd::YieldOp::create(body, loc, ValueRange());
}

ValueRange MicroBatchLoop::getInputs() {
  return scan.getBlock().getArguments().take_front(inputCount);
}

ValueRange MicroBatchLoop::getWhole() {
  return scan.getBlock().getArguments().drop_front(scan.getStackedCount());
}

/// A value of the loop's body in the block of `op`, which is in loops within.
static Value reach(nd::ScanOp scan, Value value, Operation *op) {
  auto inner = cast<nd::ScanOp>(op->getParentOp());
  if (inner == scan)
    return value;
  return nd::getWholeArgument(inner, reach(scan, value, inner));
}

Value MicroBatchLoop::getNumber() {
  OpBuilder before(scan);
  auto size = static_cast<int64_t>(scan.getSize());
  Value numbers = nd::IotaOp::create(
      before, scan.getLoc(),
      nd::TensorType::get(
          before.getI32Type(),
          nd::DimAttr::get(scan.getContext(), scan.getDim(), size)));
  return nd::getStackedArgument(scan, numbers);
}

void MicroBatchLoop::numberRandomNumbers() {
  SmallVector<nd::RandomOp> random;
  scan.walk([&](nd::RandomOp op) { random.push_back(op); });
  if (random.empty())
    return;
  Value number = getNumber();
  for (nd::RandomOp op : random)
    op->insertOperands(0, reach(scan, number, op));
}

SmallVector<Value> MicroBatchLoop::combine(ArrayRef<nd::ReductionKind> kinds,
                                           ValueRange gradients,
                                           ArrayRef<StepTensor> parameters) {
  numberRandomNumbers();
  Location loc = scan.getLoc();
  SmallVector<Value> summands(getEnd().getValues());
  SmallVector<nd::ReductionKind> reductions(kinds);
  OpBuilder body = getBuilder();
  nd::ValueBuilder build(body, loc);
  for (auto [gradient, parameter] : llvm::zip(gradients, parameters)) {
    summands.push_back(gradient);
    reductions.push_back(nd::ReductionKind::Sum);
    if (!gradient)
      continue;
    // 16 bits would round each addition.
    summands.back() = build.castTo(gradient, builder.getF32Type());
    markGradient(summands.back(), parameter);
  }
  SmallVector<Value> zeros, next;
  for (auto [summand, kind] : llvm::zip(summands, reductions)) {
    if (!summand)
      continue;
    auto type = nd::getTensorType(summand);
    BlockArgument sum = scan.getBlock().insertArgument(next.size(), type, loc);
    zeros.push_back(nd::ConstantOp::create(
        builder, loc, type, nd::getIdentity(kind, type.getElementType())));
    next.push_back(steps::combine(body, loc, kind, sum, summand));
  }
  getEnd()->setOperands(next);
  auto summing = nd::ScanOp::create(
      builder, loc, TypeRange(ValueRange(zeros)), scan.getDim(), scan.getSize(),
      /*backwards=*/false, /*conditional=*/false, /*micro_batches=*/true,
      nullptr, zeros, scan.getStacked(), scan.getWhole());
  summing.getRegion().takeBody(scan.getRegion());
  scan.erase();
  SmallVector<Value> sums;
  unsigned result = 0;
  for (Value summand : summands)
    sums.push_back(summand ? summing->getResult(result++) : Value());
  return sums;
}

} // namespace meshc::steps
