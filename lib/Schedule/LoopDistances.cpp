//===- LoopDistances.cpp - which iterations of a loop meet in memory ------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Schedule/LoopDistances.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace meshc::schedule {

exec::ArenaPiece getExtent(Value buffer, nd::MeshAttr mesh,
                           ArrayRef<int64_t> iterations) {
  auto op = buffer.getDefiningOp<exec::PieceOpInterface>();
  exec::ArenaPlace place = op.getPlace();
  int64_t begin = place.at(iterations), end = begin + op.getBytes(mesh);
  SmallVector<exec::LoopOp> loops = exec::getLoopsAround(op);
  for (size_t level = iterations.size(); level < place.strides.size(); ++level)
    end += place.strides[level] *
           (static_cast<int64_t>(loops[level].getSize()) - 1);
  return {begin, end};
}

namespace {
/// What an op accesses in iteration i of a loop: the piece, moved by stride ·
/// i.
struct Access {
  Operation *op;
  exec::ArenaPiece piece;
  int64_t stride;
  bool writes;

  bool operator==(const Access &other) const {
    return piece == other.piece && stride == other.stride &&
           writes == other.writes;
  }
};
} // namespace

/// The different accesses of the ops in a loop, those of inner loops too.
static SmallVector<Access> getAccesses(exec::LoopOp loop,
                                       ArrayRef<int64_t> iterations) {
  nd::MeshAttr mesh = nd::MeshAttr::of(loop);
  SmallVector<int64_t> first(iterations);
  first.push_back(0);
  SmallVector<Access> found;
  auto add = [&](Operation *op, ArrayRef<Value> buffers, bool writes) {
    for (Value buffer : buffers) {
      auto piece = buffer.getDefiningOp<exec::PieceOpInterface>();
      SmallVector<int64_t, 2> strides = piece.getPlace().strides;
      Access access = {op, getExtent(buffer, mesh, first),
                       strides.empty() ? 0 : strides[iterations.size()],
                       writes};
      if (!llvm::is_contained(found, access))
        found.push_back(access);
    }
  };
  loop.getBody().walk([&](exec::StepOpInterface step) {
    if (isa<exec::LoopOp>(step.getOperation()))
      return;
    exec::Accesses accesses = step.getAccesses();
    add(step, accesses.reads, false);
    add(step, accesses.writes, true);
    add(step, accesses.scratch, true);
  });
  return found;
}

/// Whether `a` in some iteration i and `b` in some iteration j of `size` meet,
/// where i and j differ by more than one.
static bool meetFar(const Access &a, const Access &b, int64_t size) {
  if (a.stride != b.stride) {
    auto over = [&](const Access &access) {
      return exec::ArenaPiece{access.piece.begin,
                              access.piece.end + access.stride * (size - 1)};
    };
    return over(a).overlaps(over(b));
  }
  if (a.stride == 0)
    return false;
  // They meet at distances strictly between these two, over the stride.
  int64_t low = a.piece.begin - b.piece.end, high = a.piece.end - b.piece.begin;
  int64_t least = llvm::divideFloorSigned(low, a.stride) + 1;
  int64_t most = llvm::divideCeilSigned(high, a.stride) - 1;
  return (std::max<int64_t>(least, 2) <= std::min(most, size - 1)) ||
         (std::max(least, 1 - size) <= std::min<int64_t>(most, -2));
}

LogicalResult checkDistances(exec::LoopOp loop, ArrayRef<int64_t> iterations) {
  auto size = static_cast<int64_t>(loop.getSize());
  if (size <= 2)
    return success();
  SmallVector<Access> accesses = getAccesses(loop, iterations);
  for (auto [index, a] : llvm::enumerate(accesses))
    for (const Access &b : ArrayRef(accesses).take_front(index + 1)) {
      if ((!a.writes && !b.writes) || !meetFar(a, b, size))
        continue;
      auto diagnostic = a.op->emitOpError()
                        << "accesses bytes " << a.piece.begin << " to "
                        << a.piece.end << ", which move by " << a.stride
                        << " per iteration of '" << loop.getDim()
                        << "', and meets other iterations' bytes";
      diagnostic.attachNote(b.op->getLoc())
          << "bytes " << b.piece.begin << " to " << b.piece.end
          << ", which move by " << b.stride;
      return diagnostic;
    }
  return success();
}

} // namespace meshc::schedule
