//===- VerifyKernels.cpp - what the kernels phase promises ----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/Alignment.h"
#include "dialects/Exec/Order.h"
#include "dialects/Nd/Ops/LoopOps.h"
#include "dialects/Nd/TensorAttributes.h"
#include "dialects/Spmd/SpmdOps.h"
#include "lib/Kernels/Passes.h"

using namespace mlir;

namespace meshc::kernels {

#define GEN_PASS_DEF_VERIFYKERNELS
#include "lib/Kernels/Passes.h.inc"

static exec::DimSet sorted(ArrayRef<StringAttr> dims) {
  exec::DimSet set(dims);
  llvm::sort(set, [](StringAttr a, StringAttr b) {
    return a.getValue() < b.getValue();
  });
  return set;
}

static LogicalResult verifyOrders(Operation *op) {
  for (OpResult result : op->getResults()) {
    std::optional<exec::Order> order = exec::getOrder(result);
    if (!order)
      return op->emitOpError()
             << "result " << result.getResultNumber() << " has no memory order";
    if (sorted(*order) != exec::getDims(result))
      return op->emitOpError()
             << "memory order of result " << result.getResultNumber()
             << " must name each dim of " << result.getType() << " once";
  }
  return success();
}

/// A tensor's dims along loops of the plan have the loops' sizes.
static LogicalResult verifySizes(exec::FusionOp fusion, Value value,
                                 nd::MeshAttr mesh) {
  exec::PlanAttr plan = fusion.getPlan();
  SmallVector<StringAttr> loops(plan.getParallel());
  llvm::append_range(loops, plan.getReduce());
  nd::TensorType type = nd::getTensorType(value);
  for (auto [loop, size] : llvm::zip(loops, plan.getSizes())) {
    int64_t dim = type.getDimIndex(loop.getValue());
    if (dim >= 0 && type.getLocalSize(dim, mesh) != size)
      return fusion.emitOpError()
             << "runs " << size << " times along '" << loop.getValue()
             << "', and computes a value of type " << type << " there";
  }
  return success();
}

/// The reductions of a fusion run over its loops, and are read at their points.
static LogicalResult verifyFusion(exec::FusionOp fusion) {
  nd::MeshAttr mesh = nd::MeshAttr::of(fusion);
  exec::PlanAttr plan = fusion.getPlan();
  exec::DimSet parallel = sorted(plan.getParallel());
  exec::DimSet reduce = sorted(plan.getReduce());
  exec::DimSet all = exec::unite(parallel, reduce);
  Block &body = fusion.getBody().front();
  bool isAlone = false;
  auto alignment = exec::getAlignment(body, mesh);
  for (Operation &op : body.without_terminator()) {
    if (isa<nd::ElementOpInterface>(op))
      continue;
    auto reduction = dyn_cast<nd::ReduceOpInterface>(op);
    if (!reduction) {
      isAlone = true;
      continue;
    }
    Value result = op.getResult(0);
    if (exec::getDims(result) != parallel ||
        sorted(reduction.getReducedDims()) != reduce)
      return fusion.emitOpError()
             << "holds '" << op.getName() << "' over other dims than its plan";
    if (failed(verifySizes(fusion, op.getOperand(0), mesh)))
      return failure();
    if (alignment.lookup(result) != parallel)
      return fusion.emitOpError() << "reads the result of '" << op.getName()
                                  << "' at points other than its own";
  }
  for (Value output : body.getTerminator()->getOperands()) {
    if (!isAlone && failed(verifySizes(fusion, output, mesh)))
      return failure();
    if (exec::DimSet dims = exec::getDims(output);
        !isAlone && dims != parallel && dims != all)
      return fusion.emitOpError()
             << "output of type " << output.getType()
             << " must have all parallel dims, and all reduce dims or none";
  }
  StringAttr lanes = plan.getLanes();
  if (!lanes.empty() &&
      (plan.getParallel().empty() || plan.getParallel().back() != lanes) &&
      (plan.getReduce().empty() || plan.getReduce().back() != lanes))
    return fusion.emitOpError() << "has lanes along '" << lanes.getValue()
                                << "', which is not the innermost dim";
  return success();
}

/// The op with all that its call computes.
static LogicalResult verifyLibraryOp(exec::LibraryOpInterface op) {
  for (Operation &inner : op->getRegion(0).front().without_terminator()) {
    auto fusion = dyn_cast<exec::FusionOp>(inner);
    if (failed(verifyOrders(&inner)) ||
        (fusion && failed(verifyFusion(fusion))))
      return failure();
  }
  return op.verifyCall();
}

static LogicalResult verifyCollective(Operation *op) {
  for (auto [operand, result] : llvm::zip(op->getOperands(), op->getResults()))
    if (exec::getOrder(operand) != exec::getOrder(result))
      return op->emitOpError("must keep the memory order of its operands");
  return success();
}

static LogicalResult verifyReturn(func::FuncOp function, func::ReturnOp op) {
  for (auto [index, value] : llvm::enumerate(op.getOperands())) {
    ArrayAttr declared =
        nd::TensorAttributes::ofResult(function, index).getOrder();
    if (declared && exec::getOrder(value) != exec::getOrder(declared))
      return op.emitOpError()
             << "result " << index << " must have its declared memory order";
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

/// What a tie is called in messages: "carried value 0 ('h')".
static std::string describe(StringRef what, unsigned index, Value value) {
  std::string text = (what + " " + Twine(index)).str();
  if (StringAttr name = nd::TensorAttributes::of(value).getName())
    text += (" ('" + name.getValue() + "')").str();
  return text;
}

static Attribute toAttribute(Value value, ArrayRef<StringAttr> order) {
  return exec::getOrderAttr(value.getContext(), order);
}

/// Both members of a tie, which `tie` describes, have one memory order.
static LogicalResult verifyEqual(nd::ScanOp scan, const Twine &tie, Value first,
                                 StringRef firstName, Value second,
                                 StringRef secondName) {
  auto a = exec::getOrder(first), b = exec::getOrder(second);
  if (!a || !b || *a == *b)
    return success();
  InFlightDiagnostic error =
      scan.emitOpError() << tie << ": the " << firstName << " has memory order "
                         << toAttribute(first, *a) << ", the " << secondName
                         << " " << toAttribute(second, *b)
                         << "; expected one order, by a copy of the "
                         << firstName;
  error.attachNote(first.getLoc()) << "this is the " << firstName;
  return error;
}

/// The stacked tensor has the loop's dim first, so that entries are dense.
static LogicalResult verifyOutermost(nd::ScanOp scan, const Twine &tie,
                                     Value stacked) {
  auto order = exec::getOrder(stacked);
  if (!order || order->front() == scan.getDimAttr())
    return success();
  InFlightDiagnostic error = scan.emitOpError()
                             << tie << " has memory order "
                             << toAttribute(stacked, *order) << "; expected '"
                             << scan.getDim() << "' first, by a copy";
  error.attachNote(stacked.getLoc()) << "this is the tensor";
  return error;
}

static LogicalResult verifyStackedResult(nd::ScanOp scan, const nd::Tie &tie,
                                         const Twine &name) {
  if (failed(verifyOutermost(scan, name, tie.result)))
    return failure();
  auto stacked = exec::getOrder(tie.result);
  auto entry = exec::getOrder(tie.yielded);
  if (!stacked || !entry || ArrayRef(*stacked).drop_front() == ArrayRef(*entry))
    return success();
  InFlightDiagnostic error =
      scan.emitOpError() << name << " has memory order "
                         << toAttribute(tie.result, *stacked)
                         << ", its entries " << toAttribute(tie.yielded, *entry)
                         << "; expected '" << scan.getDim()
                         << "', then the order of the entries";
  error.attachNote(tie.yielded.getLoc()) << "this is an entry";
  return error;
}

/// The members of each tie agree. Arguments have the order of their tie by
/// definition (exec::getOrder).
static LogicalResult verifyTies(nd::ScanOp scan) {
  for (const nd::Tie &tie : scan.getTies()) {
    LogicalResult result = success();
    switch (tie.kind) {
    case nd::TieKind::Carried: {
      std::string name =
          describe("carried value", tie.result.getResultNumber(), tie.result);
      result = verifyEqual(scan, name, tie.operand, "initial value", tie.result,
                           "result");
      if (succeeded(result))
        result = verifyEqual(scan, name, tie.yielded, "yielded value",
                             tie.argument, "argument");
      break;
    }
    case nd::TieKind::StackedOperand:
      result = verifyOutermost(
          scan,
          describe("stacked operand", tie.argument.getArgNumber(), tie.operand),
          tie.operand);
      break;
    case nd::TieKind::Whole:
      break;
    case nd::TieKind::StackedResult:
      result = verifyStackedResult(
          scan, tie,
          describe("stacked result", tie.result.getResultNumber(), tie.result));
      break;
    }
    if (failed(result))
      return failure();
  }
  return success();
}

namespace {
struct VerifyKernels : impl::VerifyKernelsBase<VerifyKernels> {
  LogicalResult verify(Operation &op) {
    if (auto returned = dyn_cast<func::ReturnOp>(op))
      return verifyReturn(getOperation(), returned);
    if (isa<nd::YieldOp>(op))
      return success(); // verifyTies
    if (failed(verifyOrders(&op)))
      return failure();
    if (auto fusion = dyn_cast<exec::FusionOp>(op))
      return verifyFusion(fusion);
    if (auto library = dyn_cast<exec::LibraryOpInterface>(op))
      return verifyLibraryOp(library);
    if (isa<spmd::CollectiveOpInterface>(op))
      return verifyCollective(&op);
    if (auto scan = dyn_cast<nd::ScanOp>(op))
      return verifyTies(scan);
    return op.emitOpError("remains after the kernels phase, which leaves "
                          "fusions, library ops, collectives and loops only");
  }

  void runOnOperation() override {
    for (Block *block : nd::getBlocks(getOperation()))
      for (Operation &op : *block)
        if (failed(verify(op)))
          return signalPassFailure();
  }
};
} // namespace

} // namespace meshc::kernels
