//===- OverlapPlan.cpp - gathers from blocks that overlap -----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Spmd/OverlapPlan.h"
#include "dialects/Spmd/SpmdOps.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

using namespace mlir;

namespace meshc::spmd {

using nd::TensorType;

/// More permutes are not planned, as for a window.
static constexpr int64_t mostSlices = 8;

namespace {
/// Numbers of entries along the overlap.
struct Shape {
  int64_t row;     ///< of a block of the table
  int64_t step;    ///< of the table, from the first one that a rank's indices
                   ///< name to that of the next rank
  int64_t widened; ///< of a block of the widened table
  int64_t low;     ///< where the first rank's widened block begins
  int64_t ranks;
};
} // namespace

static bool fitsIn32Bits(int64_t number) {
  return number >= std::numeric_limits<int32_t>::min() &&
         number <= std::numeric_limits<int32_t>::max();
}

/// Nothing if 32 bits do not number all entries, or if a widened block is as
/// large as the table, of `size` entries, which each rank may as well have.
static std::optional<Shape> getShape(const nd::Overlap &overlap, int64_t row,
                                     int64_t line, int64_t ranks,
                                     int64_t size) {
  int64_t step = 0, span = 0, total = 0;
  if (llvm::MulOverflow(line, overlap.stride, step) ||
      llvm::MulOverflow(line - 1, overlap.stride, span) ||
      llvm::AddOverflow(span, overlap.high - overlap.low + 1, span) ||
      span >= size || llvm::MulOverflow(span, ranks, total) ||
      !llvm::all_of(
          ArrayRef<int64_t>{total, step, overlap.low, overlap.low + span},
          fitsIn32Bits))
    return std::nullopt;
  return Shape{row, step, span, overlap.low, ranks};
}

/// Adds windows that take entries low … end - 1 of each widened block to their
/// places in the table. A window takes at most `step` entries of each block, so
/// that no two blocks have the same entry of the table.
static void addParts(const Shape &shape, int64_t low, int64_t end,
                     SmallVectorImpl<WindowSegments> &windows) {
  for (int64_t from = low; from < end; from += shape.step) {
    int64_t size = std::min(shape.step, end - from);
    windows.push_back({{{0, shape.low + from, from, size}},
                       Repeat{shape.step, shape.widened}});
  }
}

/// Adds the windows of a scatter. They divide a rank's widened block into what
/// belongs to ranks before it, to itself, and to ranks after it. So the middle
/// part, which is most of the block, does not move.
static void addNarrowing(const Shape &shape,
                         SmallVectorImpl<WindowSegments> &windows) {
  // Where the rank's own block begins and ends, on the first and the last rank.
  int64_t drift = (shape.ranks - 1) * (shape.row - shape.step);
  int64_t begin = std::max<int64_t>(0, drift) - shape.low;
  int64_t end = std::min<int64_t>(0, drift) - shape.low + shape.row;
  begin = std::clamp<int64_t>(begin, 0, shape.widened);
  end = std::clamp<int64_t>(end, 0, shape.widened);
  if (begin >= end)
    return addParts(shape, 0, shape.widened, windows);
  addParts(shape, 0, begin, windows);
  addParts(shape, begin, end, windows);
  addParts(shape, end, shape.widened, windows);
}

std::optional<OverlapPlan> planOverlap(const nd::Factor &factor,
                                       ArrayRef<TensorType> operands,
                                       ArrayRef<TensorType> results,
                                       nd::MeshAttr mesh) {
  const nd::Overlap &overlap = factor.overlap;
  TensorType indices = operands[1];
  TensorType table = overlap.isOfResult ? results[0] : operands[0];
  StringRef line = factor.operandDims[1].getValue();
  StringAttr row =
      overlap.isOfResult ? factor.resultDims[0] : factor.operandDims[0];
  if (!areEquidistant(indices, line, mesh))
    return std::nullopt;
  auto shape = getShape(overlap, getBlockSize(table, row.getValue(), mesh),
                        getBlockSize(indices, line, mesh),
                        mesh.getProduct(getAxesOf(table, row.getValue())),
                        table.getSize(row.getValue()));
  if (!shape)
    return std::nullopt;
  // Of each window, a part moves. Only a rank's own part does not.
  if (overlap.isOfResult && shape->widened / shape->step > mostSlices + 2)
    return std::nullopt;
  OverlapPlan plan;
  plan.block = shape->widened;
  plan.widened = PieceOp::getPiece(table, row.getValue(), shape->widened, mesh);
  if (overlap.isOfResult)
    addNarrowing(*shape, plan.windows);
  else
    plan.windows.push_back({{{0, 0, shape->low, shape->widened}},
                            Repeat{shape->widened, shape->step}});
  TensorType from = overlap.isOfResult ? plan.widened : table;
  TensorType to = overlap.isOfResult ? table : plan.widened;
  int64_t sent = 0;
  for (const WindowSegments &window : std::exchange(plan.windows, {})) {
    auto known = planWindow({from}, to, row.getValue(), window, mesh);
    if (!known)
      return std::nullopt;
    if (!known->pieces.empty()) // else all of it is beyond the table
      plan.windows.push_back(window);
    plan.bytes += known->bytes;
    sent += llvm::count_if(
        known->pieces, [](const WindowPiece &piece) { return !piece.isOwn(); });
    if (sent > mostSlices)
      return std::nullopt;
  }
  if (plan.windows.empty())
    return std::nullopt;
  return plan;
}

} // namespace meshc::spmd
