//===- PartitionProgram.cpp - every op on blocks --------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/TensorAttributes.h"
#include "dialects/Spmd/SpmdOps.h"
#include "lib/Partition/FactorChoice.h"
#include "lib/Partition/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/Support/DebugLog.h"
#include "llvm/Support/InterleavedRange.h"

#define DEBUG_TYPE "meshc-partition-program"

using namespace mlir;

namespace meshc::partition {

#define GEN_PASS_DEF_PARTITIONPROGRAM
#include "lib/Partition/Passes.h.inc"

using nd::TensorType;

namespace {

/// Rebuilds one function. A value of the old body is known in one or several
/// forms: values of the new body that hold it in different shardings.
class FunctionPartitioner {
public:
  FunctionPartitioner(func::FuncOp function, spmd::ReshardPlanner &planner)
      : function(function), planner(planner), mesh(nd::MeshAttr::of(function)),
        builder(function.getContext()) {}

  LogicalResult run();

private:
  LogicalResult partition(Operation &op);
  LogicalResult partitionReturn(Operation &op);
  void dropShardings();
  OperandForms describe(Value value);
  Value getForm(Value value, TensorType type);
  Value reshard(Value value, Value from, TensorType type);
  StringAttr getCauseName(Value value);

  func::FuncOp function;
  spmd::ReshardPlanner &planner;
  nd::MeshAttr mesh;
  OpBuilder builder;
  llvm::DenseMap<Value, llvm::SmallVector<Value>> forms;
  llvm::DenseMap<Value, TensorType> wanted;
};

} // namespace

/// Whether the op needs no operand, and any rank can make any block of its
/// result.
static bool isRecomputable(Operation *op) {
  auto named = dyn_cast_or_null<nd::NamedOpInterface>(op);
  return named && op->getNumOperands() == 0 && op->getNumResults() == 1 &&
         llvm::all_of(named.getPartitionRule().factors,
                      [](const nd::Factor &factor) {
                        return factor.kind == nd::FactorKind::Parallel;
                      });
}

static TensorType getSharding(Attribute attribute) {
  auto type = dyn_cast_or_null<TypeAttr>(attribute);
  return type ? dyn_cast<TensorType>(type.getValue()) : TensorType();
}

static bool hasOneUser(Value value) {
  Operation *user = nullptr;
  for (Operation *other : value.getUsers()) {
    if (user && user != other)
      return false;
    user = other;
  }
  return user != nullptr;
}

OperandForms FunctionPartitioner::describe(Value value) {
  OperandForms described;
  described.isRecomputed = isRecomputable(value.getDefiningOp());
  bool isReduced = false;
  for (Value form : forms.lookup(value)) {
    described.types.push_back(nd::getTensorType(form));
    isReduced |= !described.types.back().isPartial();
  }
  described.wanted = wanted.lookup(value);
  // Gradients of parameters lie as their class wants before the update uses
  // them: the layout may have a rule for them.
  Operation *op = value.getDefiningOp();
  bool isGradient =
      op && nd::TensorAttributes::of(op).hasClass(nd::TensorClass::Gradient);
  described.mayStayPartial = hasOneUser(value) && !isGradient;
  described.willBeReduced = !isReduced && !hasOneUser(value);
  return described;
}

/// The first user of the value in program order, or null.
static Operation *getFirstUser(Value value) {
  Operation *first = nullptr;
  for (Operation *user : value.getUsers())
    if (!first || user->isBeforeInBlock(first))
      first = user;
  return first;
}

/// The name of the first named op on the way from the value through its first
/// users, or null. `alone`: as long as there is one user only; otherwise ops of
/// a class are passed by, since gradients of many parameters may come from one
/// value.
static StringAttr findNameAhead(Value value, bool alone) {
  Operation *op = value.getDefiningOp();
  for (int hops = 0; op && op->getNumResults() == 1 && hops < 8; ++hops) {
    auto tensor = nd::TensorAttributes::of(op);
    if (tensor.getName() && (alone || !tensor.getClass()))
      return tensor.getName();
    if (alone && !hasOneUser(op->getResult(0)))
      return {};
    op = getFirstUser(op->getResult(0));
  }
  return {};
}

/// The name that a reader knows the value by: its own, that of the named value
/// which it goes into, or that of the partial value which it comes from.
StringAttr FunctionPartitioner::getCauseName(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return nd::TensorAttributes::ofArgument(function, argument.getArgNumber())
        .getName();
  if (StringAttr name = findNameAhead(value, /*alone=*/true))
    return name;
  for (Operation *user : value.getUsers())
    if (isa<func::ReturnOp>(user))
      for (OpOperand &use : user->getOpOperands())
        if (use.get() == value)
          return nd::TensorAttributes::ofResult(function,
                                                use.getOperandNumber())
              .getName();
  for (Value operand : value.getDefiningOp()->getOperands())
    if (nd::getTensorType(forms.lookup(operand).front()).isPartial())
      return getCauseName(operand);
  return findNameAhead(value, /*alone=*/false);
}

Value FunctionPartitioner::reshard(Value value, Value from, TensorType type) {
  auto op = spmd::ReshardOp::create(builder, value.getLoc(), type, from);
  if (StringAttr name = getCauseName(value))
    nd::setName(op, name);
  forms[value].push_back(op);
  return op;
}

/// The value of the new body that holds `value` in the sharding; created on
/// first use.
Value FunctionPartitioner::getForm(Value value, TensorType type) {
  llvm::SmallVector<Value> &known = forms[value];
  for (Value form : known)
    if (form.getType() == type)
      return form;
  if (Operation *op = value.getDefiningOp(); isRecomputable(op)) {
    Operation *made = builder.clone(*op);
    nd::removeShardings(made);
    made->getResult(0).setType(type);
    known.push_back(made->getResult(0));
    return known.back();
  }
  // Whoever else uses a partial value needs it reduced as well: it is reduced
  // to what is wanted of it, and goes on from there.
  bool isReduced = llvm::any_of(
      known, [](Value form) { return !nd::getTensorType(form).isPartial(); });
  TensorType want = wanted.lookup(value);
  if (!isReduced && !type.isPartial() && want && want != type &&
      !hasOneUser(value))
    reshard(value, known.front(), want);
  Value best;
  double least = 0;
  for (Value form : forms[value]) {
    TensorType from = nd::getTensorType(form);
    if (type.isPartial() && !from.isPartial())
      continue;
    double bytes = planner.getBytes(from, type);
    if (!best || bytes < least) {
      best = form;
      least = bytes;
    }
  }
  return reshard(value, best, type);
}

LogicalResult FunctionPartitioner::partition(Operation &op) {
  auto named = dyn_cast<nd::NamedOpInterface>(op);
  if (!named || op.getNumRegions() != 0)
    return op.emitError() << "'" << op.getName()
                          << "' has no partition rule and cannot be cut over "
                             "the mesh";
  ArrayAttr shardings = nd::getShardings(&op);
  llvm::SmallVector<TensorType> want;
  for (unsigned i = 0; i < op.getNumResults(); ++i) {
    TensorType type = nd::getTensorType(op.getResult(i));
    TensorType sharding = shardings ? getSharding(shardings[i]) : TensorType();
    if (!type || !sharding || sharding.getGlobal() != type.getGlobal())
      return op.emitError("lacks a required sharding for each result; run the "
                          "layout phase first");
    want.push_back(sharding);
    wanted[op.getResult(i)] = sharding;
  }
  llvm::SmallVector<OperandForms> operands;
  for (Value operand : op.getOperands())
    operands.push_back(describe(operand));
  FactorChoice choice = chooseFactors(&op, operands, want, planner, mesh);
  LDBG() << op.getName() << " at " << op.getLoc() << ": operands "
         << llvm::interleaved(choice.operandTypes) << ", results "
         << llvm::interleaved(choice.resultTypes) << ", reshards send "
         << choice.bytes << " bytes";

  IRMapping mapping;
  llvm::SmallVector<Value> blocks;
  for (auto [operand, type] : llvm::zip(op.getOperands(), choice.operandTypes))
    blocks.push_back(getForm(operand, type));
  Operation *local = builder.clone(op, mapping);
  local->setOperands(blocks);
  nd::removeShardings(local);
  for (auto [old, result, type, asWanted] : llvm::zip(
           op.getResults(), local->getResults(), choice.resultTypes, want)) {
    result.setType(type);
    forms[old].push_back(result);
    // A partial value waits for its first use; any other lies as wanted.
    if (!type.isPartial() && type != asWanted && !isRecomputable(&op))
      reshard(old, result, asWanted);
  }
  return success();
}

LogicalResult FunctionPartitioner::partitionReturn(Operation &op) {
  llvm::SmallVector<Value> values;
  llvm::SmallVector<Type> types;
  for (auto [index, operand] : llvm::enumerate(op.getOperands())) {
    TensorType type = getSharding(
        nd::TensorAttributes::ofResult(function, index).getSharding());
    if (!type)
      return function.emitError()
             << "result " << index << " lacks a required sharding; run the "
             << "layout phase first";
    values.push_back(getForm(operand, type));
    types.push_back(type);
  }
  func::ReturnOp::create(builder, op.getLoc(), values);
  function.setFunctionType(builder.getFunctionType(
      builder.getInsertionBlock()->getArgumentTypes(), types));
  return success();
}

/// Removes the attributes of arguments and results; types carry the shardings
/// now. Set them together: each individual update rebuilds the whole list.
void FunctionPartitioner::dropShardings() {
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

LogicalResult FunctionPartitioner::run() {
  if (!function.getBody().hasOneBlock())
    return function.emitError("a function must have one block");
  Block *old = &function.getBody().front();
  Block *block = new Block();
  function.getBody().push_back(block);
  builder.setInsertionPointToStart(block);
  for (BlockArgument argument : old->getArguments()) {
    unsigned index = argument.getArgNumber();
    TensorType type = getSharding(
        nd::TensorAttributes::ofArgument(function, index).getSharding());
    if (!type)
      return function.emitError()
             << "argument " << index
             << " lacks a required sharding; run the layout "
                "phase first";
    forms[argument] = {block->addArgument(type, argument.getLoc())};
    wanted[argument] = type;
  }
  for (Operation &op : *old) {
    LogicalResult done =
        isa<func::ReturnOp>(op) ? partitionReturn(op) : partition(op);
    if (failed(done))
      return failure();
  }
  dropShardings();
  // The forms name values of the old body.
  forms.clear();
  old->dropAllReferences();
  old->erase();
  return success();
}

namespace {
struct PartitionProgram : impl::PartitionProgramBase<PartitionProgram> {
  void runOnOperation() override {
    spmd::ReshardPlanner planner(nd::MeshAttr::of(getOperation()));
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (failed(FunctionPartitioner(function, planner).run()))
        return signalPassFailure();
  }
};
} // namespace

} // namespace meshc::partition
