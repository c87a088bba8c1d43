//===- Cuts.cpp - what cutting a dim of an op costs --------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/describe-ops/Cuts.h"
#include "dialects/Nd/Ops/ModelOps.h"
#include "dialects/Nd/TensorAttributes.h"
#include "dialects/Spmd/SpmdOps.h"
#include "lib/Collectives/Passes.h"
#include "lib/Layout/Passes.h"
#include "lib/Partition/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "tools/describe-ops/Formulas.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace meshc {

static std::vector<std::string> listCollectives(ModuleOp module,
                                                const DimSizes &sizes) {
  SmallVector<std::pair<std::string, unsigned>> counts;
  module.walk([&](spmd::CollectiveOpInterface op) {
    std::string text = "`" + op->getName().stripDialect().str();
    if (auto reduction = op.getGroupReduction())
      text += " " + stringifyReductionKind(*reduction).str();
    // A collective that combines several counts as these.
    for (Value operand : op->getOperands()) {
      std::string one =
          text + "` of `" + writeType(operand.getType(), &sizes) + "`";
      auto known = llvm::find_if(
          counts, [&](const auto &count) { return count.first == one; });
      if (known == counts.end())
        counts.emplace_back(std::move(one), 1);
      else
        ++known->second;
    }
  });
  std::vector<std::string> list;
  for (const auto &[text, count] : counts)
    list.push_back(count == 1 ? text : std::to_string(count) + " × " + text);
  return list;
}

/// `function` alone in a module for two ranks, over which `dim` is cut.
static OwningOpRef<ModuleOp> cut(func::FuncOp function, StringRef dim) {
  OpBuilder builder(function.getContext());
  Location loc = function.getLoc();
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  builder.setInsertionPointToEnd(module->getBody());
  StringAttr axis = builder.getStringAttr("axis");
  nd::setMesh(*module, nd::MeshAttr::get(
                           builder.getContext(),
                           nd::AxisAttr::get(builder.getContext(), axis, 2)));
  nd::RuleOp::create(builder, loc, nullptr, builder.getStringAttr(dim),
                     builder.getArrayAttr(axis), nullptr, nullptr);
  builder.clone(*function);
  return module;
}

static LogicalResult compileToCollectives(ModuleOp module) {
  PassManager passes(module.getContext());
  layout::addLayoutPasses(passes);
  partition::addPartitionPasses(passes);
  collectives::addCollectivesPasses(passes);
  return passes.run(module);
}

FailureOr<std::vector<Cut>> findCuts(func::FuncOp function) {
  DimSizes sizes;
  for (TypeRange types : {TypeRange(function.getArgumentTypes()),
                          TypeRange(function.getResultTypes())})
    for (Type type : types)
      for (nd::DimAttr dim : cast<nd::TensorType>(type).getDims())
        sizes[dim.getName().str()].insert(dim.getSize());
  std::vector<Cut> cuts;
  for (const auto &[dim, ofDim] : sizes) {
    OwningOpRef<ModuleOp> module = cut(function, dim);
    if (failed(compileToCollectives(*module)))
      return failure();
    std::vector<std::string> collectives = listCollectives(*module, sizes);
    auto same = llvm::find_if(
        cuts, [&](const Cut &cut) { return cut.collectives == collectives; });
    if (same == cuts.end())
      cuts.push_back({{dim}, std::move(collectives)});
    else
      same->dims.push_back(dim);
  }
  return cuts;
}

} // namespace meshc
