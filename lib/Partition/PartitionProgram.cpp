//===- PartitionProgram.cpp - every op on blocks --------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/RoundedParts.h"
#include "dialects/Nd/TensorAttributes.h"
#include "dialects/Spmd/FunctionPlans.h"
#include "dialects/Spmd/ParameterGathers.h"
#include "lib/Partition/BlockBuilder.h"
#include "lib/Partition/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace meshc::partition {

#define GEN_PASS_DEF_PARTITIONPROGRAM
#include "lib/Partition/Passes.h.inc"

/// Removes the attributes of arguments and results; types carry the shardings
/// now. Set them together: each individual update rebuilds the whole list.
static void dropShardings(func::FuncOp function) {
  llvm::SmallVector<DictionaryAttr> attributes;
  auto drop = [&] {
    for (DictionaryAttr &each : attributes) {
      NamedAttrList list(each);
      nd::removeSharding(list);
      each = list.getDictionary(function.getContext());
    }
  };
  function.getAllArgAttrs(attributes);
  drop();
  function.setAllArgAttrs(attributes);
  attributes.clear();
  function.getAllResultAttrs(attributes);
  drop();
  function.setAllResultAttrs(attributes);
}

/// Builds the function from its plan.
static LogicalResult partition(func::FuncOp function) {
  spmd::PlanAttr plan = spmd::takePlan(function);
  if (!plan)
    return function.emitError("lacks a plan ('spmd.plan'); run "
                              "meshc-choose-plan first");
  if (!function.getBody().hasOneBlock())
    return function.emitError("a function must have one block");
  Block *old = &function.getBody().front();
  Block *block = new Block();
  function.getBody().push_back(block);
  if (failed(
          BlockBuilder(*old, *block, plan, nd::MeshAttr::of(function)).run()))
    return failure();
  // The types say it now.
  block->walk([](Operation *op) { nd::removeRoundedParts(op); });
  function.setFunctionType(
      FunctionType::get(function.getContext(), block->getArgumentTypes(),
                        block->getTerminator()->getOperandTypes()));
  dropShardings(function);
  old->dropAllReferences();
  old->erase();
  if (plan.getGathersOnce())
    spmd::setGathersOnce(function->getParentOfType<ModuleOp>());
  return success();
}

namespace {
struct PartitionProgram : impl::PartitionProgramBase<PartitionProgram> {
  using PartitionProgramBase::PartitionProgramBase;

  void runOnOperation() override {
    if (!plans.empty() && failed(spmd::readPlans(getOperation(), plans)))
      return signalPassFailure();
    for (auto function : llvm::to_vector(getOperation().getOps<func::FuncOp>()))
      if (failed(partition(function)))
        return signalPassFailure();
  }
};
} // namespace

} // namespace meshc::partition
