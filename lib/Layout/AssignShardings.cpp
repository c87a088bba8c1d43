//===- AssignShardings.cpp - the sharding that the rules want -------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/Ops/ModelOps.h"
#include "lib/Layout/LayoutMistakes.h"
#include "lib/Layout/Passes.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "meshc-assign-shardings"

using namespace mlir;

namespace meshc::layout {

#define GEN_PASS_DEF_ASSIGNSHARDINGS
#include "lib/Layout/Passes.h.inc"

namespace {

class Assigner {
public:
  explicit Assigner(ModuleOp module)
      : module(module), rules(module), mistakes(module, rules) {}
  LogicalResult run();

private:
  void assignFunction(func::FuncOp function);
  void addSharding(DictionaryAttr &attributes, TypeAttr sharding);
  void inheritFromState(func::FuncOp function);
  TypeAttr assign(const PlacedTensor &tensor, Type type);

  ModuleOp module;
  LayoutRules rules;
  llvm::DenseMap<Operation *, TensorIdentity> inherited;
  LayoutMistakes mistakes;
};

} // namespace

TypeAttr Assigner::assign(const PlacedTensor &tensor, Type type) {
  auto tensorType = dyn_cast<nd::TensorType>(type);
  if (!tensorType)
    return TypeAttr::get(type);
  llvm::SmallVector<nd::DimAttr> dims;
  llvm::DenseMap<StringAttr, nd::DimAttr> user;
  for (nd::DimAttr dim : tensorType.getGlobal().getDims()) {
    nd::RuleOp rule;
    if (!tensor.identity.isMetric)
      rule = rules.lookup(tensor.identity, dim.getName().getValue());
    llvm::SmallVector<StringAttr> axes, cutting;
    if (rule)
      axes = rules.getAxes(rule);
    bool isFree = true;
    for (StringAttr axis : axes) {
      auto [it, isFirst] = user.try_emplace(axis, dim);
      if (!isFirst)
        mistakes.addConflict(tensor, it->second, dim, axis);
      isFree &= isFirst;
      if (rules.getMesh().getAxisSize(axis.getValue()) > 1)
        cutting.push_back(axis);
    }
    bool isDivisible = dim.getSize() % rules.getMesh().getProduct(axes) == 0;
    if (!isDivisible)
      mistakes.addIndivisible(tensor, dim, rule);
    if (!isFree || !isDivisible)
      cutting.clear();
    dims.push_back(nd::DimAttr::get(type.getContext(), dim.getName(),
                                    dim.getSize(), cutting));
  }
  return TypeAttr::get(tensorType.withDims(dims));
}

/// Ops without a name or class whose results only become state (initializers)
/// get the sharding of that state, so that each rank computes only its part.
void Assigner::inheritFromState(func::FuncOp function) {
  llvm::DenseMap<Value, std::optional<TensorIdentity>> wanted;
  auto want = [&](Value value, std::optional<TensorIdentity> identity) {
    auto [it, isFirst] = wanted.try_emplace(value, identity);
    if (!isFirst && !(it->second == identity))
      it->second = std::nullopt;
  };
  Block &block = function.getBody().front();
  for (Operation &op : llvm::reverse(block)) {
    if (op.hasTrait<OpTrait::IsTerminator>()) {
      for (auto [index, value] : llvm::enumerate(op.getOperands())) {
        TensorIdentity identity = getResultIdentity(function, index);
        want(value,
             identity.isState() ? std::optional(identity) : std::nullopt);
      }
      continue;
    }
    std::optional<TensorIdentity> identity;
    auto known = nd::TensorAttributes::of(&op);
    if (!known.getName() && !known.getClass() && op.getNumResults() == 1)
      identity = wanted.lookup(op.getResult(0));
    if (identity)
      inherited[&op] = *identity;
    for (Value operand : op.getOperands())
      want(operand, identity);
  }
}

void Assigner::addSharding(DictionaryAttr &attributes, TypeAttr sharding) {
  NamedAttrList list(attributes);
  nd::setSharding(list, sharding);
  attributes = list.getDictionary(module.getContext());
}

void Assigner::assignFunction(func::FuncOp function) {
  inheritFromState(function);
  // Set together: each individual update rebuilds the whole attribute list.
  llvm::SmallVector<DictionaryAttr> attributes;
  function.getAllArgAttrs(attributes);
  for (BlockArgument argument : function.getArguments()) {
    unsigned index = argument.getArgNumber();
    addSharding(attributes[index], assign({getArgumentIdentity(function, index),
                                           argument.getLoc()},
                                          argument.getType()));
  }
  function.setAllArgAttrs(attributes);
  function.walk([&](Operation *op) {
    if (op->getNumResults() == 0)
      return;
    PlacedTensor tensor{getIdentity(op), op->getLoc()};
    if (auto it = inherited.find(op); it != inherited.end())
      tensor = {it->second, op->getLoc(), /*isElsewhere=*/true};
    llvm::SmallVector<Attribute> shardings;
    for (Type type : op->getResultTypes()) {
      shardings.push_back(assign(tensor, type));
      LDBG() << op->getName() << " of '" << tensor.identity.name << "' at "
             << op->getLoc() << ": " << shardings.back();
    }
    nd::setShardings(op, shardings);
  });
  attributes.clear();
  function.getAllResultAttrs(attributes);
  for (auto [index, type] : llvm::enumerate(function.getResultTypes()))
    addSharding(attributes[index],
                assign({getResultIdentity(function, index), function.getLoc(),
                        /*isElsewhere=*/true},
                       type));
  function.setAllResultAttrs(attributes);
}

LogicalResult Assigner::run() {
  for (auto function : module.getOps<func::FuncOp>()) {
    if (!function.getBody().hasOneBlock()) {
      InFlightDiagnostic error = function.emitError()
                                 << "function '" << function.getName()
                                 << "' must have one block, got "
                                 << function.getBody().getBlocks().size();
      if (!function.getBody().empty())
        error.attachNote(function.getBody().back().front().getLoc())
            << "the last block begins here";
      return error;
    }
    assignFunction(function);
  }
  return mistakes.report();
}

namespace {
struct AssignShardings : impl::AssignShardingsBase<AssignShardings> {
  void runOnOperation() override {
    if (failed(Assigner(getOperation()).run()))
      signalPassFailure();
  }
};
} // namespace

} // namespace meshc::layout
