//===- BuildSchedule.cpp - step functions as launches and calls -----------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/ArenaAttributes.h"
#include "dialects/Exec/Order.h"
#include "dialects/Nd/Ops/LoopOps.h"
#include "dialects/Nd/TensorAttributes.h"
#include "dialects/Spmd/SpmdOps.h"
#include "lib/Schedule/Passes.h"
#include "lib/Schedule/Residence.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace meshc::schedule {

#define GEN_PASS_DEF_BUILDSCHEDULE
#include "lib/Schedule/Passes.h.inc"

namespace {
/// The module's kernels by their text.
class KernelTable {
public:
  explicit KernelTable(ModuleOp module) : builder(module.getBodyRegion()) {}

  /// The kernel of a fusion's body, plan and orders, for launches on buffers
  /// that lie as these; takes the body.
  FlatSymbolRefAttr get(exec::FusionOp fusion, ArrayRef<Value> inputs,
                        ArrayRef<Value> outputs);

private:
  OpBuilder builder;
  llvm::StringMap<exec::KernelOp> kernels;
};

/// Rewrites one step function.
class FunctionBuilder {
public:
  FunctionBuilder(func::FuncOp function, KernelTable &kernels)
      : function(function), kernels(kernels), builder(function) {}

  void run();

private:
  void build(Block &block);
  void buildLoop(nd::ScanOp scan);
  Value getBuffer(Value value);
  SmallVector<Value> getBuffers(ValueRange values);
  void buildCall(exec::ScheduledOpInterface op, bool ahead = false);
  Value getScratch(Operation *op);

  func::FuncOp function;
  KernelTable &kernels;
  OpBuilder builder;
  DenseMap<Value, Value> buffers;
};
} // namespace

static ArrayAttr getOrders(MLIRContext *context, ValueRange values) {
  SmallVector<Attribute> orders;
  for (Value value : values)
    orders.push_back(exec::getOrderAttr(
        context, exec::getOrder(value).value_or(exec::Order())));
  return ArrayAttr::get(context, orders);
}

/// On what alignments a kernel may rely; null if all are as usual.
static DenseI64ArrayAttr getAlignments(MLIRContext *context,
                                       ArrayRef<Value> inputs,
                                       ArrayRef<Value> outputs) {
  SmallVector<int64_t> alignments;
  for (Value buffer : llvm::concat<const Value>(inputs, outputs))
    alignments.push_back(std::min(exec::kernelAlignment,
                                  buffer.getDefiningOp<exec::PieceOpInterface>()
                                      .getPlace()
                                      .getAlignment()));
  bool areUsual = llvm::all_of(alignments, [](int64_t alignment) {
    return alignment == exec::kernelAlignment;
  });
  if (areUsual)
    return {};
  return DenseI64ArrayAttr::get(context, alignments);
}

FlatSymbolRefAttr KernelTable::get(exec::FusionOp fusion,
                                   ArrayRef<Value> inputs,
                                   ArrayRef<Value> outputs) {
  MLIRContext *context = builder.getContext();
  // Names of source values do not make kernels different.
  fusion.getBody().walk([](Operation *op) { nd::removeIdentity(op); });
  auto kernel = exec::KernelOp::create(
      builder, fusion.getLoc(), "", fusion.getPlan(),
      getOrders(context, fusion.getInputs()),
      getOrders(context, fusion.getResults()),
      getAlignments(context, inputs, outputs), fusion.getPartsAttr());
  kernel.getBody().takeBody(fusion.getBody());
  std::string text;
  llvm::raw_string_ostream stream(text);
  kernel->print(stream, OpPrintingFlags().printGenericOpForm().useLocalScope());
  auto [entry, isNew] = kernels.try_emplace(text, kernel);
  if (isNew)
    kernel.setSymName("kernel_" + std::to_string(kernels.size() - 1));
  else
    kernel.erase();
  return FlatSymbolRefAttr::get(entry->second.getSymNameAttr());
}

/// The place of the op that computes a value, with the name that the model has
/// for it, if it has one.
static Location getSource(Value value) {
  Location location = value.getLoc();
  StringAttr name;
  while (auto result = dyn_cast<OpResult>(value)) {
    Operation *op = result.getOwner();
    unsigned number = result.getResultNumber();
    value = Value();
    if (isa<spmd::CollectiveOpInterface>(op)) {
      spmd::Cause cause = spmd::getCause(op, number);
      location = cause.location;
      if (!cause.name.empty())
        name = StringAttr::get(op->getContext(), cause.name);
      break;
    }
    if (!isa<exec::FusionOp, exec::LibraryOpInterface>(op)) {
      location = op->getLoc();
      name = nd::TensorAttributes::of(result).getName();
      break;
    }
    // What it holds computes the value; a mask is the call's own.
    Operation *yield = op->getRegion(0).front().getTerminator();
    if (number >= yield->getNumOperands())
      break;
    value = yield->getOperand(number);
  }
  auto argument = dyn_cast_or_null<BlockArgument>(value);
  if (argument &&
      isa<func::FuncOp, nd::ScanOp>(argument.getOwner()->getParentOp()))
    name = nd::TensorAttributes::of(argument).getName();
  return name ? Location(NameLoc::get(name, location)) : location;
}

Value FunctionBuilder::getBuffer(Value value) {
  Value &buffer = buffers[value];
  if (buffer)
    return buffer;
  auto type =
      exec::BufferType::get(builder.getContext(), nd::getTensorType(value),
                            exec::getOrder(value).value_or(exec::Order()));
  buffer = exec::BufferOp::create(builder, getSource(value), type,
                                  *exec::getPlace(value));
  return buffer;
}

SmallVector<Value> FunctionBuilder::getBuffers(ValueRange values) {
  SmallVector<Value> list;
  for (Value value : values)
    list.push_back(getBuffer(value));
  return list;
}

/// The scratch memory that PlanArena gave to the op, or null.
Value FunctionBuilder::getScratch(Operation *op) {
  std::optional<exec::ScratchPlace> place = exec::getScratchPlace(op);
  if (!place)
    return {};
  return exec::ScratchOp::create(
      builder, op->getLoc(),
      exec::ScratchType::get(builder.getContext(), place->bytes),
      builder.getI64IntegerAttr(place->offset));
}

void FunctionBuilder::buildCall(exec::ScheduledOpInterface op, bool ahead) {
  auto getKernel = [&](exec::FusionOp fusion, ArrayRef<Value> inputs,
                       ArrayRef<Value> outputs) {
    return kernels.get(fusion, inputs, outputs);
  };
  op.buildCall(builder,
               {getBuffers(op->getOperands()), getBuffers(op->getResults()),
                getScratch(op), getKernel, ahead});
}

void FunctionBuilder::run() {
  auto result = exec::FuncOp::create(builder, function.getLoc(),
                                     function.getSymNameAttr());
  builder.setInsertionPointToEnd(&result.getBody().emplaceBlock());
  build(function.getBody().front());
  function.erase();
}

/// The first op of the block that uses a result of the op, perhaps inside.
static Operation *getFirstUser(Operation *op) {
  Operation *first = op->getBlock()->getTerminator();
  for (Operation *user : op->getUsers())
    if (Operation *ancestor = op->getBlock()->findAncestorOpInBlock(*user);
        ancestor->isBeforeInBlock(first))
      first = ancestor;
  return first;
}

void FunctionBuilder::build(Block &block) {
  // The next iteration's begins where this iteration's is awaited.
  DenseMap<Operation *, SmallVector<spmd::CollectiveOpInterface>> ahead;
  for (auto collective : block.getOps<spmd::CollectiveOpInterface>())
    if (canBeginAhead(collective))
      ahead[getFirstUser(collective)].push_back(collective);
  for (Operation &op : block.without_terminator()) {
    for (spmd::CollectiveOpInterface collective : ahead.lookup(&op))
      buildCall(cast<exec::ScheduledOpInterface>(*collective), /*ahead=*/true);
    if (auto collective = dyn_cast<spmd::CollectiveOpInterface>(op);
        collective && canBeginAhead(collective))
      continue;
    if (auto scan = dyn_cast<nd::ScanOp>(op))
      buildLoop(scan);
    else
      buildCall(cast<exec::ScheduledOpInterface>(op));
  }
}

void FunctionBuilder::buildLoop(nd::ScanOp scan) {
  auto loop = exec::LoopOp::create(builder, scan.getLoc(), scan.getDim(),
                                   scan.getSize(), scan.getBackwards());
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(&loop.getBody().emplaceBlock());
  build(scan.getBlock());
  if (Value condition = scan.getCondition(); condition && scan.getSize() > 1)
    exec::WhileOp::create(builder, scan.getLoc(), getBuffer(condition));
}

namespace {
struct BuildSchedule : impl::BuildScheduleBase<BuildSchedule> {
  /// Checks that the attributes of the earlier passes exist.
  LogicalResult check(func::FuncOp function) {
    if (function.isDeclaration())
      return function.emitError()
             << "'" << function.getName() << "' has no body to be scheduled";
    for (BlockArgument argument : function.getArguments())
      if (!exec::getPlace(argument))
        return function.emitError("has an argument without an offset; plan the "
                                  "arena before");
    return check(function.getBody().front());
  }

  LogicalResult check(Block &block) {
    for (Operation &op : block.without_terminator()) {
      auto scan = dyn_cast<nd::ScanOp>(op);
      if (!isa<exec::ScheduledOpInterface, nd::ScanOp>(op) ||
          !exec::hasPlaces(&op) || !op.hasAttr(exec::ordersAttrName))
        return op.emitOpError("cannot be scheduled: it must be a fusion, a "
                              "library op, a loop or a collective with memory "
                              "orders and offsets");
      if (scan && failed(check(scan.getBlock())))
        return failure();
      auto library = dyn_cast<exec::LibraryOpInterface>(op);
      if (library && failed(library.verifyCall()))
        return failure();
    }
    return success();
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto functions = llvm::to_vector(module.getOps<func::FuncOp>());
    for (func::FuncOp function : functions)
      if (failed(check(function)))
        return signalPassFailure();
    KernelTable kernels(module);
    for (func::FuncOp function : functions)
      FunctionBuilder(function, kernels).run();
  }
};
} // namespace

} // namespace meshc::schedule
