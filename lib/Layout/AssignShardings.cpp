//===- AssignShardings.cpp - the sharding that the rules want ---===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/Ops/ModelOps.h"
#include "lib/Layout/LayoutRules.h"
#include "lib/Layout/Passes.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace meshc::layout {

#define GEN_PASS_DEF_ASSIGNSHARDINGS
#include "lib/Layout/Passes.h.inc"

/// "tensor 'h'", "the gradient of w", or "a tensor without a name".
static std::string describe(const TensorIdentity &tensor) {
  if (tensor.name.empty())
    return "a tensor without a name";
  if (tensor.tensorClass == "gradient")
    return "the " + tensor.name.str();
  return "tensor '" + tensor.name.str() + "'";
}

namespace {

class Assigner {
public:
  explicit Assigner(ModuleOp module) : module(module), rules(module) {}
  LogicalResult run();

private:
  void assignFunction(func::FuncOp function);
  void addSharding(DictionaryAttr &attributes, TypeAttr sharding);
  void inheritFromState(func::FuncOp function);
  TypeAttr assign(const TensorIdentity &tensor, Type type, Location loc);
  bool checkDivides(const TensorIdentity &tensor, nd::DimAttr dim,
                    nd::RuleOp rule, ArrayRef<StringAttr> axes, Location loc);
  void reportConflict(const TensorIdentity &tensor, nd::DimAttr a,
                      nd::DimAttr b, StringAttr axis, Location loc);
  /// Whether a mistake of these dims on this axis was not reported yet: it
  /// shows on every tensor that has them.
  bool isNew(const Twine &mistake) {
    return reported.insert(mistake.str()).second;
  }

  ModuleOp module;
  LayoutRules rules;
  llvm::DenseMap<Operation *, TensorIdentity> inherited;
  llvm::StringSet<> reported;
  bool ok = true;
};

} // namespace

void Assigner::reportConflict(const TensorIdentity &tensor, nd::DimAttr a,
                              nd::DimAttr b, StringAttr axis, Location loc) {
  ok = false;
  StringRef first = a.getName().getValue(), second = b.getName().getValue();
  if (!isNew("conflict " + first + " " + second + " " + axis.getValue()))
    return;
  InFlightDiagnostic error = emitError(loc);
  error << "dims '" << first << "' and '" << second << "' of "
        << describe(tensor) << " both map to mesh axis '" << axis.getValue()
        << "'";
  nd::RuleOp ruleA = rules.lookup(tensor, first);
  nd::RuleOp ruleB = rules.lookup(tensor, second);
  error.attachNote(ruleA.getLoc())
      << "'" << getText(ruleA) << "' from this rule";
  error.attachNote(ruleB.getLoc())
      << "'" << getText(ruleB)
      << "' from this rule; one of them must stay whole or take another axis";
}

bool Assigner::checkDivides(const TensorIdentity &tensor, nd::DimAttr dim,
                            nd::RuleOp rule, ArrayRef<StringAttr> axes,
                            Location loc) {
  int64_t size = dim.getSize(), blocks = rules.getMesh().getProduct(axes);
  if (size % blocks == 0)
    return true;
  ok = false;
  StringRef name = dim.getName().getValue();
  if (!isNew("size " + name + " " + Twine(size)))
    return false;
  InFlightDiagnostic error = emitError(loc);
  error << "dim '" << name << "' of size " << size << " of " << describe(tensor)
        << " is not divisible by " << blocks
        << (axes.size() == 1 ? ", the size of mesh axis "
                             : ", the product of the sizes of mesh axes ");
  llvm::interleaveComma(axes, error, [&](StringAttr axis) {
    error << "'" << axis.getValue() << "'";
  });
  int64_t below = size / blocks * blocks;
  error << "; sizes ";
  if (below > 0)
    error << below << " and ";
  error << below + blocks << " would be";
  error.attachNote(rule.getLoc()) << "'" << getText(rule) << "' from this rule";
  return false;
}

TypeAttr Assigner::assign(const TensorIdentity &tensor, Type type,
                          Location loc) {
  auto tensorType = dyn_cast<nd::TensorType>(type);
  if (!tensorType)
    return TypeAttr::get(type);
  llvm::SmallVector<nd::DimAttr> dims;
  llvm::DenseMap<StringAttr, nd::DimAttr> user;
  for (nd::DimAttr dim : tensorType.getGlobal().getDims()) {
    nd::RuleOp rule;
    if (!tensor.isMetric)
      rule = rules.lookup(tensor, dim.getName().getValue());
    llvm::SmallVector<StringAttr> axes, cutting;
    if (rule)
      axes = rules.getAxes(rule);
    bool isFree = true;
    for (StringAttr axis : axes) {
      auto [it, isFirst] = user.try_emplace(axis, dim);
      if (!isFirst)
        reportConflict(tensor, it->second, dim, axis, loc);
      isFree &= isFirst;
      if (rules.getMesh().getAxisSize(axis.getValue()) > 1)
        cutting.push_back(axis);
    }
    if (!isFree || (rule && !checkDivides(tensor, dim, rule, axes, loc)))
      cutting.clear();
    dims.push_back(nd::DimAttr::get(type.getContext(), dim.getName(),
                                    dim.getSize(), cutting));
  }
  return TypeAttr::get(tensorType.withDims(dims));
}

/// Ops without a name or class that only make state (initializers) lie as that
/// state does, so that each rank makes its own part of it.
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
        bool isState = identity.tensorClass == "parameter" ||
                       identity.tensorClass == "optimizer";
        want(value, isState ? std::optional(identity) : std::nullopt);
      }
      continue;
    }
    std::optional<TensorIdentity> identity;
    if (!op.hasAttr("nd.name") && !op.hasAttr("nd.class") &&
        op.getNumResults() == 1)
      identity = wanted.lookup(op.getResult(0));
    if (identity)
      inherited[&op] = *identity;
    for (Value operand : op.getOperands())
      want(operand, identity);
  }
}

void Assigner::addSharding(DictionaryAttr &attributes, TypeAttr sharding) {
  NamedAttrList list(attributes);
  list.set("nd.sharding", sharding);
  attributes = list.getDictionary(module.getContext());
}

void Assigner::assignFunction(func::FuncOp function) {
  inheritFromState(function);
  // All at once: each change of one makes a list of all anew.
  llvm::SmallVector<DictionaryAttr> attributes;
  function.getAllArgAttrs(attributes);
  for (BlockArgument argument : function.getArguments()) {
    unsigned index = argument.getArgNumber();
    addSharding(attributes[index],
                assign(getArgumentIdentity(function, index), argument.getType(),
                       argument.getLoc()));
  }
  function.setAllArgAttrs(attributes);
  function.walk([&](Operation *op) {
    if (op->getNumResults() == 0)
      return;
    TensorIdentity identity = getIdentity(op);
    if (auto it = inherited.find(op); it != inherited.end())
      identity = it->second;
    llvm::SmallVector<Attribute> shardings;
    for (Type type : op->getResultTypes())
      shardings.push_back(assign(identity, type, op->getLoc()));
    op->setAttr("nd.sharding", ArrayAttr::get(op->getContext(), shardings));
  });
  attributes.clear();
  function.getAllResultAttrs(attributes);
  for (auto [index, type] : llvm::enumerate(function.getResultTypes()))
    addSharding(attributes[index], assign(getResultIdentity(function, index),
                                          type, function.getLoc()));
  function.setAllResultAttrs(attributes);
}

LogicalResult Assigner::run() {
  for (auto function : module.getOps<func::FuncOp>()) {
    if (!function.getBody().hasOneBlock()) {
      function.emitError("a function must have one block");
      return failure();
    }
    assignFunction(function);
  }
  return success(ok);
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
