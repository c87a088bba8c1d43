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

Segment getRepetition(const Segment &segment, Repeat repeat, int64_t number,
                      int64_t operandSize, int64_t resultSize) {
  int64_t at = segment.at + number * repeat.at;
  int64_t from = segment.from + number * repeat.from;
  int64_t skipped = std::max({int64_t(0), -at, -from});
  int64_t end = std::min({segment.size, resultSize - at, operandSize - from});
  return {segment.operand, at + skipped, from + skipped, end - skipped};
}

bool WindowSegments::isWidening(int64_t resultBlock) const {
  return repeat && list.size() == 1 && list[0].at == 0 &&
         list[0].size == resultBlock && repeat->at == resultBlock;
}

bool WindowSegments::isNarrowing(int64_t operandBlock) const {
  return repeat && list.size() == 1 && list[0].from >= 0 &&
         list[0].size <= operandBlock - list[0].from &&
         repeat->from == operandBlock;
}

/// Adds the entries of other blocks that the rank needs for the segment: of
/// each distance, the shortest interval that has all of them. `from` and `to`:
/// the block sizes of operand and result. False if there are too many.
static bool collect(const Segment &segment, int64_t rank, int64_t from,
                    int64_t to, int64_t resultSize, Intervals &needed) {
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
  return true;
}

/// The same for all ranks.
static bool collectAll(const Segment &segment, std::optional<Repeat> repeat,
                       int64_t ranks, TensorType operand, TensorType result,
                       StringRef dim, nd::MeshAttr mesh, Intervals &needed) {
  int64_t from = getBlockSize(operand, dim, mesh);
  int64_t to = getBlockSize(result, dim, mesh);
  int64_t resultSize = result.getSize(dim);
  int64_t count = repeat ? ranks : 1;
  for (int64_t number = 0; number < count; ++number) {
    Segment part = repeat ? getRepetition(segment, *repeat, number,
                                          operand.getSize(dim), resultSize)
                          : segment;
    for (int64_t rank = part.at / to; rank * to < part.at + part.size; ++rank)
      if (!collect(part, rank, from, to, resultSize, needed))
        return false;
  }
  return true;
}

std::optional<WindowPlan> planWindow(ArrayRef<TensorType> operands,
                                     TensorType result, StringRef dim,
                                     const WindowSegments &segments,
                                     nd::MeshAttr mesh) {
  ArrayRef<StringAttr> axes = getAxesOf(result, dim);
  auto isCutAlike = [&](TensorType type) {
    return getAxesOf(type, dim) == axes && areEquidistant(type, dim, mesh);
  };
  if (!isCutAlike(result) || !llvm::all_of(operands, isCutAlike))
    return std::nullopt;
  int64_t ranks = mesh.getProduct(axes);
  WindowPlan plan;
  std::set<std::array<int64_t, 4>> sent;
  for (auto [number, segment] : llvm::enumerate(segments.list)) {
    TensorType operand = operands[segment.operand];
    int64_t from = getBlockSize(operand, dim, mesh);
    if (!segments.canBeLowered(from, getBlockSize(result, dim, mesh)))
      return std::nullopt;
    Intervals needed;
    if (!collectAll(segment, segments.repeat, ranks, operand, result, dim, mesh,
                    needed))
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
