//===- WindowPlan.cpp - what a window of a cut dim sends ------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Spmd/WindowPlan.h"
#include "dialects/Spmd/Sharding.h"
#include <array>
#include <map>
#include <set>

using namespace mlir;

namespace meshc::spmd {

using nd::Segment;
using nd::TensorType;

/// More pieces of a segment, or more permutes of a window, are not planned.
static constexpr size_t mostSent = 8;

namespace {
/// Entries of a block, from `low` to the one before `end`.
struct Interval {
  int64_t low, end;
};
/// By the distance from the receiver's number to the owner's.
using Intervals = std::map<int64_t, Interval>;
} // namespace

/// Local size of the dim.
static int64_t getBlockSize(TensorType type, StringRef dim, nd::MeshAttr mesh) {
  return type.getLocalSize(type.getDimIndex(dim), mesh);
}

/// Which entries of other blocks some rank needs for the segment: of each
/// distance, the shortest interval that has them all. `from` and `to`: the
/// block sizes of operand and result. False if there are too many.
static bool collect(const Segment &segment, int64_t from, int64_t to,
                    int64_t ranks, int64_t resultSize, Intervals &needed) {
  for (int64_t rank = 0; rank < ranks; ++rank) {
    int64_t first = std::max(rank * to, segment.at);
    int64_t end =
        std::min({(rank + 1) * to, resultSize, segment.at + segment.size});
    int64_t shift = segment.from - segment.at;
    for (int64_t at = first + shift; at < end + shift;) {
      int64_t owner = at / from, begin = owner * from;
      int64_t next = std::min(begin + from, end + shift);
      Interval part = {at - begin, next - begin};
      auto [it, isNew] = needed.try_emplace(owner - rank, part);
      it->second.low = std::min(it->second.low, part.low);
      it->second.end = std::max(it->second.end, part.end);
      if (needed.size() > mostSent + 1)
        return false;
      at = next;
    }
  }
  return true;
}

std::optional<WindowPlan> planWindow(ArrayRef<TensorType> operands,
                                     TensorType result, StringRef dim,
                                     ArrayRef<Segment> segments,
                                     nd::MeshAttr mesh) {
  ArrayRef<StringAttr> axes = getAxesOf(result, dim);
  auto isCutAlike = [&](TensorType type) {
    return getAxesOf(type, dim) == axes && areEquidistant(type, dim, mesh);
  };
  if (!isCutAlike(result) || !llvm::all_of(operands, isCutAlike))
    return std::nullopt;
  int64_t ranks = mesh.getProduct(axes);
  int64_t to = getBlockSize(result, dim, mesh);
  WindowPlan plan;
  std::set<std::array<int64_t, 4>> sent;
  for (auto [number, segment] : llvm::enumerate(segments)) {
    TensorType operand = operands[segment.operand];
    int64_t from = getBlockSize(operand, dim, mesh);
    Intervals needed;
    if (!collect(segment, from, to, ranks, result.getSize(dim), needed))
      return std::nullopt;
    for (auto [distance, interval] : needed) {
      int64_t size = interval.end - interval.low;
      plan.pieces.push_back(
          {static_cast<unsigned>(number), distance, interval.low, size});
      std::array<int64_t, 4> piece = {
          segment.operand, (distance + ranks) % ranks, interval.low, size};
      if (distance == 0 || !sent.insert(piece).second)
        continue;
      auto block = static_cast<double>(operand.getLocalBytes(mesh));
      plan.bytes += block / static_cast<double>(from) * double(size);
    }
  }
  if (sent.size() > mostSent)
    return std::nullopt;
  return plan;
}

} // namespace meshc::spmd
