//===- VerifyKernels.cpp - what the kernels phase promises ----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/Order.h"
#include "dialects/Nd/Ops/LoopOps.h"
#include "dialects/Nd/TensorAttributes.h"
#include "lib/Kernels/Passes.h"

using namespace mlir;

namespace meshc::kernels {

#define GEN_PASS_DEF_VERIFYKERNELS
#include "lib/Kernels/Passes.h.inc"

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
    if (failed(exec::verifyOrders(&op)))
      return failure();
    if (auto scan = dyn_cast<nd::ScanOp>(op))
      return verifyTies(scan);
    if (auto scheduled = dyn_cast<exec::ScheduledOpInterface>(op))
      return scheduled.verifyReady();
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
