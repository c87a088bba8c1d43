//===- MoveWindows.cpp - windows where they send the least ----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/Ops/PointwiseOps.h"
#include "dialects/Nd/TensorAttributes.h"
#include "dialects/Spmd/SpmdOps.h"
#include "lib/Partition/CauseName.h"
#include "lib/Partition/MovedWindows.h"
#include "lib/Partition/Passes.h"

using namespace mlir;

namespace meshc::partition {

#define GEN_PASS_DEF_MOVEWINDOWS
#include "lib/Partition/Passes.h.inc"

using nd::TensorType;
using spmd::WindowOp;

static int64_t getSize(Value value, StringAttr dim) {
  return nd::getTensorType(value).getSize(dim.getValue());
}

/// The copy of the op on another operand 0, whose dim has `size` entries.
static Operation *copyOn(Operation *op, Value operand, StringAttr dim,
                         int64_t size, OpBuilder &builder) {
  Operation *copy = builder.clone(*op);
  copy->setOperand(0, operand);
  copy->getResult(0).setType(
      spmd::resize(nd::getTensorType(op->getResult(0)), dim.getValue(), size));
  return copy;
}

/// The copy of the window on another operand, which has the sizes of the old
/// one along the dim.
static WindowOp copyOn(WindowOp window, Value operand, TensorType type,
                       OpBuilder &builder) {
  auto copy = cast<WindowOp>(builder.clone(*window));
  copy->setOperands(operand);
  copy.getResult().setType(type);
  return copy;
}

/// Widens operand 0 of the op that makes the window's operand instead, as long
/// as that has fewer elements.
static void moveBefore(WindowOp window, nd::MeshAttr mesh) {
  StringAttr dim = window.getDimAttr();
  auto type = cast<TensorType>(window.getType());
  if (!window.getWindowSegments().isWidening(
          spmd::getBlockSize(type, dim.getValue(), mesh)))
    return;
  int64_t size = type.getSize(dim.getValue());
  while (Operation *op = findExpansion(window.getInputs()[0], dim, mesh)) {
    OpBuilder builder(window);
    Value source = op->getOperand(0);
    WindowOp moved = copyOn(
        window, source,
        spmd::resize(nd::getTensorType(source), dim.getValue(), size), builder);
    Operation *copy = copyOn(op, moved.getResult(), dim, size, builder);
    window.replaceAllUsesWith(copy->getResult(0));
    window.erase();
    if (op->use_empty())
      op->erase();
    window = moved;
  }
}

namespace {
/// A sum of windows that narrow the blocks of one value along one dim.
class NarrowingSum {
public:
  /// Nothing unless `sum` is such a sum, or one window, and each part of it has
  /// one user.
  static std::optional<NarrowingSum> find(Value sum);

  StringAttr getDim() { return windows.front().getDimAttr(); }
  Value getWidened() { return windows.front().getInputs()[0]; }
  /// The same sum of windows of another value, which has the type `type`.
  Value rebuild(Value sum, Value widened, TensorType type, Value cause,
                OpBuilder &builder);

private:
  bool collect(Value sum);

  llvm::SmallVector<WindowOp> windows;
};
} // namespace

bool NarrowingSum::collect(Value sum) {
  if (!sum.hasOneUse())
    return false;
  if (auto add = sum.getDefiningOp<nd::AddOp>())
    return llvm::all_of(add->getOperands(), [&](Value part) {
      return part.getType() == sum.getType() && collect(part);
    });
  auto window = sum.getDefiningOp<WindowOp>();
  if (!window || !window.getRepeat() ||
      getSize(window.getInputs()[0], window.getDimAttr()) <
          getSize(sum, window.getDimAttr()))
    return false;
  windows.push_back(window);
  return window.getDimAttr() == getDim() &&
         window.getInputs()[0] == getWidened();
}

std::optional<NarrowingSum> NarrowingSum::find(Value sum) {
  NarrowingSum found;
  if (found.collect(sum))
    return found;
  return std::nullopt;
}

Value NarrowingSum::rebuild(Value sum, Value widened, TensorType type,
                            Value cause, OpBuilder &builder) {
  if (auto window = sum.getDefiningOp<WindowOp>()) {
    WindowOp copy = copyOn(window, widened, type, builder);
    // What it is a window of has another name now.
    if (nd::TensorAttributes::of(window.getResult()).getName()) {
      copy->setDiscardableAttrs(DictionaryAttr::get(copy.getContext()));
      setCause(copy, cause);
    }
    return copy.getResult();
  }
  Operation *add = sum.getDefiningOp();
  Value a = rebuild(add->getOperand(0), widened, type, cause, builder);
  Value b = rebuild(add->getOperand(1), widened, type, cause, builder);
  return nd::AddOp::create(builder, add->getLoc(), type, a, b);
}

static void eraseUnused(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || !value.use_empty() || !isa<nd::AddOp, WindowOp>(op))
    return;
  llvm::SmallVector<Value> operands(op->getOperands());
  op->erase();
  llvm::for_each(operands, eraseUnused);
}

/// Narrows the result of the op instead of its operand 0.
static void moveBehind(Operation *op, nd::MeshAttr mesh) {
  Value sum = op->getNumOperands() ? op->getOperand(0) : Value();
  if (!sum || !isa_and_nonnull<nd::AddOp, WindowOp>(sum.getDefiningOp()))
    return;
  auto found = NarrowingSum::find(sum);
  if (!found || findReduction(sum, found->getDim(), mesh) != op)
    return;
  OpBuilder builder(op);
  Value widened = found->getWidened(), result = op->getResult(0);
  Operation *copy = copyOn(op, widened, found->getDim(),
                           getSize(widened, found->getDim()), builder);
  Value narrowed = found->rebuild(sum, copy->getResult(0),
                                  nd::getTensorType(result), result, builder);
  Operation *last = narrowed.getDefiningOp();
  moveAttributes(copy, last);
  if (isa<WindowOp>(last))
    setCause(last, result);
  result.replaceAllUsesWith(narrowed);
  op->erase();
  eraseUnused(sum);
}

namespace {
struct MoveWindows : impl::MoveWindowsBase<MoveWindows> {
  void runOnOperation() override {
    nd::MeshAttr mesh = nd::MeshAttr::of(getOperation());
    llvm::SmallVector<WindowOp> windows;
    getOperation().walk([&](WindowOp op) { windows.push_back(op); });
    for (WindowOp op : windows)
      moveBefore(op, mesh);
    llvm::SmallVector<Operation *> ops;
    getOperation().walk([&](nd::NamedOpInterface op) { ops.push_back(op); });
    for (Operation *op : ops)
      moveBehind(op, mesh);
  }
};
} // namespace

} // namespace meshc::partition
