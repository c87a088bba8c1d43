//===- LowerWindows.cpp - slices of cut dims as an exchange of halos ------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/Ops/SourceOps.h"
#include "dialects/Nd/TensorAttributes.h"
#include "dialects/Spmd/SpmdOps.h"
#include "lib/Collectives/Passes.h"
#include "lib/Collectives/Windows.h"
#include "llvm/Support/DebugLog.h"
#include <map>

#define DEBUG_TYPE "meshc-lower-windows"

using namespace mlir;

namespace meshc::collectives {

#define GEN_PASS_DEF_LOWERWINDOWS
#include "lib/Collectives/Passes.h.inc"

using nd::Segment;
using nd::TensorType;
using spmd::WindowOp;

namespace {
/// Builds what one window becomes.
class WindowLowering {
public:
  explicit WindowLowering(WindowOp op)
      : op(op), builder(op), mesh(nd::MeshAttr::of(op)),
        type(nd::getTensorType(op.getResult())),
        axes(spmd::getAxesOf(type, op.getDim())),
        segments(op.getWindowSegments()) {}

  LogicalResult run();

private:
  /// An operand of the join.
  struct Part {
    Value value;
    int64_t origin, step, first, end;
    int64_t size; ///< entries of its block
  };

  int64_t getBlockSize(Value value) {
    TensorType known = nd::getTensorType(value);
    return known.getLocalSize(known.getDimIndex(op.getDim()), mesh);
  }
  Value take(Value operand, const spmd::WindowPiece &piece);
  Value receive(Value operand, const spmd::WindowPiece &piece);
  Part getPart(const spmd::WindowPiece &piece);
  Part getWideningPart(const spmd::WindowPiece &piece);
  Part getNarrowingPart(const spmd::WindowPiece &piece);
  static void addPart(const Part &part, llvm::SmallVector<Part> &parts);
  bool isOperand();

  WindowOp op;
  OpBuilder builder;
  nd::MeshAttr mesh;
  TensorType type;
  ArrayRef<StringAttr> axes;
  spmd::WindowSegments segments;
  /// Pieces that two segments need move once.
  std::map<std::tuple<void *, int64_t, int64_t, int64_t>, Value> received;
};
} // namespace

/// The piece of a rank's own block.
Value WindowLowering::take(Value operand, const spmd::WindowPiece &piece) {
  if (piece.size == getBlockSize(operand) &&
      nd::getTensorType(operand).isEven(type.getDimIndex(op.getDim()), mesh))
    return operand;
  return spmd::PieceOp::create(
      builder, op.getLoc(),
      spmd::PieceOp::getPiece(nd::getTensorType(operand), op.getDim(),
                              piece.size, mesh),
      op.getDimAttr(), builder.getI64IntegerAttr(piece.low),
      builder.getI64IntegerAttr(piece.size), operand);
}

/// The piece of another rank's block, on this rank.
Value WindowLowering::receive(Value operand, const spmd::WindowPiece &piece) {
  int64_t ranks = mesh.getProduct(axes);
  int64_t shift = (ranks - piece.distance) % ranks;
  Value &known =
      received[{operand.getAsOpaquePointer(), shift, piece.low, piece.size}];
  if (known)
    return known;
  Value sent = take(operand, piece);
  ArrayAttr order = builder.getArrayAttr(
      llvm::SmallVector<Attribute>(axes.begin(), axes.end()));
  auto permute =
      spmd::PermuteOp::create(builder, op.getLoc(), TypeRange(sent.getType()),
                              order, order, shift, sent);
  LDBG() << op.getLoc() << ": rank p receives " << piece.size
         << " entries from rank p + " << piece.distance;
  nd::copyName(op, permute);
  return known = permute->getResult(0);
}

/// What the join takes from the piece. Of its own block, a rank needs no copy.
WindowLowering::Part WindowLowering::getPart(const spmd::WindowPiece &piece) {
  const Segment &segment = segments.list[piece.segment];
  if (segments.isWidening(getBlockSize(op.getResult())))
    return getWideningPart(piece);
  if (segments.repeat)
    return getNarrowingPart(piece);
  Value operand = op.getInputs()[segment.operand];
  int64_t step = getBlockSize(operand);
  bool isOwn = piece.distance == 0;
  return {isOwn ? operand : receive(operand, piece),
          segment.at - segment.from + piece.distance * step +
              (isOwn ? 0 : piece.low),
          step,
          segment.at,
          segment.at + segment.size,
          isOwn ? step : piece.size};
}

/// Of a widened block, wherever it is: the entry of the piece is known from
/// that of the table. What lies beyond the table may come from anywhere.
WindowLowering::Part
WindowLowering::getWideningPart(const spmd::WindowPiece &piece) {
  const Segment &segment = segments.list[piece.segment];
  Value operand = op.getInputs()[segment.operand];
  int64_t block = getBlockSize(operand);
  bool isOwn = piece.distance == 0;
  return {isOwn ? operand : receive(operand, piece),
          piece.distance * block - segment.from + (isOwn ? 0 : piece.low),
          segments.getWideningStep(block),
          0,
          type.getSize(op.getDim()),
          isOwn ? block : piece.size};
}

/// Of another rank's widened block, the part that belongs here; the first and
/// the last ranks have no such others.
WindowLowering::Part
WindowLowering::getNarrowingPart(const spmd::WindowPiece &piece) {
  const Segment &segment = segments.list[piece.segment];
  Value operand = op.getInputs()[segment.operand];
  int64_t ranks = mesh.getProduct(axes), block = getBlockSize(op.getResult());
  int64_t step = segments.repeat->at;
  return {piece.distance == 0 ? take(operand, piece) : receive(operand, piece),
          segment.at - segment.from + piece.distance * step + piece.low,
          step,
          std::max<int64_t>(0, -piece.distance) * block,
          (ranks - std::max<int64_t>(0, piece.distance)) * block,
          piece.size};
}

/// Adds the part, or makes another one longer that goes on in it.
void WindowLowering::addPart(const Part &part, llvm::SmallVector<Part> &parts) {
  for (Part &other : parts)
    if (other.value == part.value && other.origin == part.origin &&
        other.step == part.step && other.end == part.first) {
      other.end = part.end;
      return;
    }
  parts.push_back(part);
}

/// Whether the window is all of its operand.
bool WindowLowering::isOperand() {
  const Segment &first = segments.list[0];
  bool isAll = segments.repeat
                   ? segments.isWidening(getBlockSize(op.getResult())) &&
                         segments.repeat->at == segments.repeat->from
                   : first.size == type.getSize(op.getDim());
  return isAll && segments.list.size() == 1 && first.at == first.from &&
         op.getInputs()[first.operand].getType() == type;
}

LogicalResult WindowLowering::run() {
  if (isOperand()) {
    op.replaceAllUsesWith(op.getInputs()[segments.list[0].operand]);
    op.erase();
    return success();
  }
  auto known = plan(op, op.getInputs(), segments);
  if (!known)
    return op.emitError("needs entries of too many ranks for an exchange of "
                        "halos along dim '")
           << op.getDim() << "' of " << type << "; gather the dim";
  llvm::SmallVector<Part> parts;
  for (const spmd::WindowPiece &piece : known->pieces)
    addPart(getPart(piece), parts);
  if (parts.empty()) { // repetitions, all of them beyond operand or result
    auto none = nd::ConstantOp::create(builder, op.getLoc(), type,
                                       op.getFill().convertToDouble());
    op.replaceAllUsesWith(none.getResult());
    op.erase();
    return success();
  }
  // The last one is the easiest to take.
  std::stable_sort(
      parts.begin(), parts.end(),
      [](const Part &a, const Part &b) { return a.size < b.size; });
  llvm::SmallVector<int64_t> places;
  llvm::SmallVector<Value> values;
  for (const Part &part : parts) {
    places.append({part.origin, part.step, part.first, part.end});
    values.push_back(part.value);
  }
  auto join = spmd::JoinOp::create(
      builder, op.getLoc(), type, op.getDimAttr(),
      builder.getDenseI64ArrayAttr(places),
      isFilled(op, segments) ? op.getFillAttr() : FloatAttr(), values);
  join->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  op.replaceAllUsesWith(join.getResult());
  op.erase();
  return success();
}

namespace {
struct LowerWindows : impl::LowerWindowsBase<LowerWindows> {
  void runOnOperation() override {
    llvm::SmallVector<WindowOp> windows;
    getOperation().walk([&](WindowOp op) { windows.push_back(op); });
    for (WindowOp op : llvm::reverse(windows))
      if (op->use_empty())
        op.erase();
      else if (failed(WindowLowering(op).run()))
        return signalPassFailure();
  }
};
} // namespace

} // namespace meshc::collectives
