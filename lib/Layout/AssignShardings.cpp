//===- AssignShardings.cpp - the sharding that the rules want -------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/Ops/LoopOps.h"
#include "lib/Layout/LayoutMistakes.h"
#include "lib/Layout/Passes.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "meshc-assign-shardings"

using namespace mlir;

namespace meshc::layout {

#define GEN_PASS_DEF_ASSIGNSHARDINGS
#include "lib/Layout/Passes.h.inc"

namespace {

using AxisList = llvm::SmallVector<StringAttr>;

/// Finds values without a name or class that only become state (initializers):
/// they get the sharding of that state, so that each rank computes only its
/// part.
class StateInheritance {
public:
  explicit StateInheritance(func::FuncOp function);

  /// The state that the value becomes; nothing for other values.
  std::optional<TensorIdentity> lookup(Value value) const {
    return inherited.lookup(value);
  }

private:
  void visit(Block &block);
  void visitLoop(nd::ScanOp loop);
  void want(Value value, std::optional<TensorIdentity> identity);
  std::optional<TensorIdentity> getWanted(Value value);

  /// By value: the one identity that all its users want, or nothing.
  llvm::DenseMap<Value, std::optional<TensorIdentity>> wanted, inherited;
};

class Assigner {
public:
  explicit Assigner(ModuleOp module)
      : module(module), rules(module), mistakes(module, rules) {}
  LogicalResult run();

private:
  void assignFunction(func::FuncOp function);
  void addSharding(DictionaryAttr &attributes, TypeAttr sharding);
  PlacedTensor place(Value value, const StateInheritance &states) const;
  /// `open`: where to enter the dims that no rule places; may be null.
  TypeAttr assign(const PlacedTensor &tensor, Type type,
                  AxisList *open = nullptr);
  llvm::SmallVector<nd::RuleOp> getRules(const PlacedTensor &tensor,
                                         nd::TensorType type) const;
  llvm::SmallVector<AxisList> shareAxes(const PlacedTensor &tensor,
                                        nd::TensorType type);
  void checkLoop(nd::ScanOp loop, const StateInheritance &states);

  ModuleOp module;
  LayoutRules rules;
  LayoutMistakes mistakes;
};

} // namespace

//===----------------------------------------------------------------------===//
// What becomes state
//===----------------------------------------------------------------------===//

StateInheritance::StateInheritance(func::FuncOp function) {
  Block &block = function.getBody().front();
  for (auto [index, value] :
       llvm::enumerate(block.getTerminator()->getOperands())) {
    TensorIdentity identity = nd::getResultIdentity(function, index);
    want(value, identity.isState() ? std::optional(identity) : std::nullopt);
  }
  visit(block);
}

void StateInheritance::want(Value value,
                            std::optional<TensorIdentity> identity) {
  auto [it, isFirst] = wanted.try_emplace(value, identity);
  if (!isFirst && !(it->second == identity))
    it->second = std::nullopt;
}

/// What the users of a value without a name or class want; keeps it.
std::optional<TensorIdentity> StateInheritance::getWanted(Value value) {
  auto known = nd::TensorAttributes::of(value);
  if (known.getName() || known.getClass())
    return std::nullopt;
  std::optional<TensorIdentity> identity = wanted.lookup(value);
  if (identity)
    inherited[value] = identity;
  return identity;
}

/// From the last op to the first, so that all users of a value come before it.
void StateInheritance::visit(Block &block) {
  for (Operation &op : llvm::reverse(block)) {
    if (op.hasTrait<OpTrait::IsTerminator>())
      continue;
    if (auto loop = dyn_cast<nd::ScanOp>(op)) {
      visitLoop(loop);
      continue;
    }
    std::optional<TensorIdentity> identity;
    if (op.getNumResults() == 1)
      identity = getWanted(op.getResult(0));
    for (Value operand : op.getOperands())
      want(operand, identity);
  }
}

/// Along the ties: from the results into the body, and out to the operands.
void StateInheritance::visitLoop(nd::ScanOp loop) {
  llvm::SmallVector<nd::Tie> ties = loop.getTies();
  for (const nd::Tie &tie : ties)
    if (tie.result)
      want(tie.yielded, getWanted(tie.result));
  visit(loop.getBlock());
  for (const nd::Tie &tie : ties)
    if (tie.operand)
      want(tie.operand, tie.result ? inherited.lookup(tie.result)
                                   : wanted.lookup(tie.argument));
}

//===----------------------------------------------------------------------===//
// Shardings
//===----------------------------------------------------------------------===//

/// The rule of each dim of the tensor, by position; null if it has none.
llvm::SmallVector<nd::RuleOp> Assigner::getRules(const PlacedTensor &tensor,
                                                 nd::TensorType type) const {
  return llvm::map_to_vector(type.getDims(), [&](nd::DimAttr dim) {
    return rules.lookup(tensor.identity, dim.getName().getValue());
  });
}

/// The axes that each dim gets, by position. Weak rules come last, in the
/// order of the layout; they get what is left of their axes.
llvm::SmallVector<AxisList> Assigner::shareAxes(const PlacedTensor &tensor,
                                                nd::TensorType type) {
  llvm::SmallVector<nd::RuleOp> ofDims = getRules(tensor, type);
  llvm::SmallVector<AxisList> shares(ofDims.size());
  llvm::DenseMap<StringAttr, nd::DimAttr> users;
  llvm::SmallVector<unsigned> weak;
  for (auto [index, rule] : llvm::enumerate(ofDims)) {
    if (!rule)
      continue;
    if (rule.getWeak()) {
      weak.push_back(index);
      continue;
    }
    shares[index] = rules.getAxes(rule);
    bool isFree = true;
    for (StringAttr axis : shares[index]) {
      auto [it, isFirst] = users.try_emplace(axis, type.getDims()[index]);
      if (!isFirst)
        mistakes.addConflict(tensor, it->second, type.getDims()[index], axis);
      isFree &= isFirst;
    }
    if (!isFree)
      shares[index].clear();
  }
  llvm::sort(weak, [&](unsigned a, unsigned b) {
    return ofDims[a]->isBeforeInBlock(ofDims[b]);
  });
  for (unsigned index : weak)
    for (StringAttr axis : rules.getAxes(ofDims[index]))
      if (users.try_emplace(axis, type.getDims()[index]).second)
        shares[index].push_back(axis);
  return shares;
}

TypeAttr Assigner::assign(const PlacedTensor &tensor, Type type,
                          AxisList *open) {
  auto tensorType = dyn_cast<nd::TensorType>(type);
  if (!tensorType)
    return TypeAttr::get(type);
  llvm::SmallVector<nd::DimAttr> dims;
  for (auto [dim, rule, axes] :
       llvm::zip(tensorType.getDims(), getRules(tensor, tensorType),
                 shareAxes(tensor, tensorType))) {
    if (open && tensor.identity.mayBeOpen() &&
        (!rule || (rule.getWeak() && axes.empty())))
      open->push_back(dim.getName());
    llvm::erase_if(axes, [&](StringAttr axis) {
      return rules.getMesh().getAxisSize(axis) == 1;
    });
    dims.push_back(nd::DimAttr::get(type.getContext(), dim.getName(),
                                    dim.getSize(), axes));
  }
  return TypeAttr::get(tensorType.getGlobal().withDims(dims));
}

void Assigner::addSharding(DictionaryAttr &attributes, TypeAttr sharding) {
  NamedAttrList list(attributes);
  nd::setSharding(list, sharding);
  attributes = list.getDictionary(module.getContext());
}

PlacedTensor Assigner::place(Value value,
                             const StateInheritance &states) const {
  if (std::optional<TensorIdentity> state = states.lookup(value))
    return {*state, value.getLoc(), /*isElsewhere=*/true};
  return {nd::getIdentity(value), value.getLoc()};
}

/// Tensors that a loop takes apart or puts together lie whole along its dim,
/// unless they are gathered before it.
void Assigner::checkLoop(nd::ScanOp loop, const StateInheritance &states) {
  auto check = [&](Value value) {
    if (nd::isGatheredForLoops(value))
      return;
    PlacedTensor tensor = place(value, states);
    auto type = cast<nd::TensorType>(
        assign(tensor, nd::getTensorType(value)).getValue());
    nd::DimAttr dim = type.getDim(loop.getDim());
    if (!dim.getAxes().empty())
      mistakes.addCutLoop(tensor, dim,
                          rules.lookup(tensor.identity, loop.getDim()),
                          loop.getLoc());
  };
  llvm::for_each(loop.getStacked(), check);
  llvm::for_each(loop.getStackedResults(), check);
}

void Assigner::assignFunction(func::FuncOp function) {
  StateInheritance states(function);
  // Set together: each individual update rebuilds the whole attribute list.
  llvm::SmallVector<DictionaryAttr> attributes;
  function.getAllArgAttrs(attributes);
  for (BlockArgument argument : function.getArguments())
    addSharding(attributes[argument.getArgNumber()],
                assign({nd::getIdentity(argument), argument.getLoc()},
                       argument.getType()));
  function.setAllArgAttrs(attributes);
  function.walk([&](Operation *op) {
    if (op->getNumResults() == 0)
      return;
    auto loop = dyn_cast<nd::ScanOp>(op);
    llvm::SmallVector<Attribute> shardings, openDims;
    bool hasOpen = false;
    for (Value result : op->getResults()) {
      PlacedTensor tensor = place(result, states);
      AxisList open;
      shardings.push_back(assign(tensor, result.getType(), &open));
      // A loop takes its stacked results apart along its dim.
      llvm::erase_if(open, [&](StringAttr dim) {
        return loop && dim.getValue() == loop.getDim();
      });
      openDims.push_back(ArrayAttr::get(
          op->getContext(),
          llvm::SmallVector<Attribute>(open.begin(), open.end())));
      hasOpen |= !open.empty();
      LDBG() << op->getName() << " of '" << tensor.identity.name << "' at "
             << op->getLoc() << ": " << shardings.back();
    }
    nd::setShardings(op, shardings);
    if (hasOpen)
      nd::setOpenDims(op, openDims);
    if (loop)
      checkLoop(loop, states);
  });
  attributes.clear();
  function.getAllResultAttrs(attributes);
  for (auto [index, type] : llvm::enumerate(function.getResultTypes()))
    addSharding(
        attributes[index],
        assign({nd::getResultIdentity(function, index), function.getLoc(),
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
