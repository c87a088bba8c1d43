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
  int64_t begin = place.at(iterations);
  return {begin, begin + op.getBytes(mesh) +
                     place.getReach(exec::getLoopSizes(op), iterations.size())};
}

bool mayMeet(Value a, Value b, size_t level, int64_t distance,
             nd::MeshAttr mesh) {
  auto placeOf = [](Value buffer) {
    return buffer.getDefiningOp<exec::PieceOpInterface>().getPlace();
  };
  exec::ArenaPlace placeA = placeOf(a), placeB = placeOf(b);
  auto entry = [](ArrayRef<int64_t> bytes, size_t level) {
    return level < bytes.size() ? bytes[level] : 0;
  };
  // Pieces that move alike stay at one distance, but for the two places of
  // those that alternate.
  bool moveAlike = true;
  for (size_t each = 0; each <= level; ++each)
    moveAlike &= entry(placeA.strides, each) == entry(placeB.strides, each) &&
                 (each == level || (entry(placeA.alternates, each) == 0 &&
                                    entry(placeB.alternates, each) == 0));
  if (!moveAlike)
    return exec::ArenaPiece::of(a, mesh).overlaps(
        exec::ArenaPiece::of(b, mesh));
  SmallVector<int64_t> iterationsA(level + 1, 0), iterationsB(level + 1, 0);
  for (int64_t iteration : {0, 1}) {
    iterationsA.back() = iteration;
    iterationsB.back() = iteration + distance;
    if (getExtent(a, mesh, iterationsA)
            .overlaps(getExtent(b, mesh, iterationsB)))
      return true;
  }
  return false;
}

namespace {
/// What an op accesses in iteration i of a loop: the piece, moved by stride ·
/// i. A piece that alternates counts as both its places.
struct Access {
  Operation *op;
  exec::ArenaPiece piece;
  int64_t stride;
  int64_t ahead; ///< i is the number of the iteration that does it, plus this
  bool writes;

  bool operator==(const Access &other) const {
    return piece == other.piece && stride == other.stride &&
           ahead == other.ahead && writes == other.writes;
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
      exec::ArenaPlace place = piece.getPlace();
      size_t level = iterations.size();
      Access access = {op, getExtent(buffer, mesh, first),
                       place.strides.empty() ? 0 : place.strides[level], 0,
                       writes};
      if (!place.alternates.empty())
        access.piece.end += place.alternates[level];
      auto collective = dyn_cast<exec::CollectiveOp>(op);
      if (collective && collective.getAhead() && op->getParentOp() == loop)
        access.ahead = loop.getDirection();
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

/// Whether `a` and `b`, done in some iterations of `size` that differ by more
/// than one, meet.
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
  // They meet if the numbers of the iterations that they belong to differ by an
  // integer strictly between these bounds, divided by the stride.
  int64_t low = a.piece.begin - b.piece.end, high = a.piece.end - b.piece.begin;
  int64_t least =
      std::max(llvm::divideFloorSigned(low, a.stride) + 1, 1 - size);
  int64_t most = std::min(llvm::divideCeilSigned(high, a.stride) - 1, size - 1);
  // Of the iterations in which they happen, the difference is less by this.
  int64_t shift = b.ahead - a.ahead;
  return std::max(least, shift + 2) <= most ||
         least <= std::min(most, shift - 2);
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
