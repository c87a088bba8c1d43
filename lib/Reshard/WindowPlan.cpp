//===- WindowPlan.cpp - what a window of a cut dim sends ------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Reshard/WindowPlan.h"
#include "dialects/Spmd/Sharding.h"
#include "meshc/CollectiveBlocks.h"
#include <array>
#include <map>
#include <set>

using namespace mlir;

namespace meshc::reshard {

using nd::Segment;
using nd::TensorType;
using spmd::areEquidistant;
using spmd::getAxesOf;
using spmd::getBlockSize;
using spmd::Repeat;
using spmd::WindowSegments;

/// More distances of a segment, or of a window, are not planned.
static constexpr size_t mostSent = 8;
/// Rounds are not planned if one block is larger than the other by more than
/// this factor, nor if a window needs more than twice as many permutes.
static constexpr int64_t mostRatio = 16;

namespace {
/// Entries of a block, from `low` to the one before `end`.
struct Interval {
  int64_t low, end;
};
/// By the distance from the receiver's number to the owner's.
using Intervals = std::map<int64_t, Interval>;
} // namespace

/// The repetition for the rank `number`, without what lies beyond an operand
/// and a result of these sizes. If nothing is left, its size is 0 or less.
static Segment getRepetition(const Segment &segment, Repeat repeat,
                             int64_t number, int64_t operandSize,
                             int64_t resultSize) {
  int64_t at = segment.at + number * repeat.at;
  int64_t from = segment.from + number * repeat.from;
  int64_t skipped = std::max({int64_t(0), -at, -from});
  int64_t end = std::min({segment.size, resultSize - at, operandSize - from});
  return {segment.operand, at + skipped, from + skipped, end - skipped};
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

namespace {
/// Pieces of one segment, and what they send.
struct SegmentPlan {
  llvm::SmallVector<WindowPiece> pieces;
  double bytes = 0;
};

/// Plans a window's segments one by one.
class WindowPlanner {
public:
  WindowPlanner(ArrayRef<TensorType> operands, TensorType result, StringRef dim,
                const WindowSegments &segments, nd::MeshAttr mesh)
      : operands(operands), result(result), dim(dim), segments(segments),
        mesh(mesh), to(getBlockSize(result, dim, mesh)),
        ranks(mesh.getProduct(getAxesOf(result, dim))) {}

  std::optional<WindowPlan> plan();

private:
  /// An operand, an entry's distance modulo the ranks, and entries of a block.
  using Sent = std::array<int64_t, 4>;

  double getBytes(const Segment &segment, int64_t entries) const;
  Sent getKey(const Segment &segment, const WindowPiece &piece) const;
  std::optional<SegmentPlan> planSegment(unsigned number) const;
  std::optional<SegmentPlan> planDistances(unsigned number) const;
  std::optional<SegmentPlan> planRounds(unsigned number) const;
  Interval getNeeded(const Segment &segment, int64_t sender,
                     int64_t receiver) const;

  ArrayRef<TensorType> operands;
  TensorType result;
  StringRef dim;
  const WindowSegments &segments;
  nd::MeshAttr mesh;
  int64_t to, ranks;
  std::set<Sent> sent; ///< by the segments so far
};
} // namespace

/// Of so many entries of each block of the segment's operand.
double WindowPlanner::getBytes(const Segment &segment, int64_t entries) const {
  TensorType operand = operands[segment.operand];
  return static_cast<double>(operand.getLocalBytes(mesh)) /
         static_cast<double>(getBlockSize(operand, dim, mesh)) *
         static_cast<double>(entries);
}

WindowPlanner::Sent WindowPlanner::getKey(const Segment &segment,
                                          const WindowPiece &piece) const {
  return {segment.operand, (piece.distance + ranks) % ranks, piece.low,
          piece.size};
}

std::optional<SegmentPlan> WindowPlanner::planDistances(unsigned number) const {
  const Segment &segment = segments.list[number];
  Intervals needed;
  if (!collectAll(segment, segments.repeat, ranks, operands[segment.operand],
                  result, dim, mesh, needed))
    return std::nullopt;
  SegmentPlan plan;
  std::set<Sent> added;
  for (auto [distance, interval] : needed) {
    WindowPiece piece = {
        number, distance, interval.low, interval.end - interval.low, {}};
    plan.pieces.push_back(piece);
    Sent key = getKey(segment, piece);
    if (!piece.isOwn() && !sent.count(key) && added.insert(key).second)
      plan.bytes += getBytes(segment, piece.size);
  }
  return plan;
}

/// The entries of the sender's block that the receiver needs; `low` may be less
/// than the first of them, as getSentLow may be.
Interval WindowPlanner::getNeeded(const Segment &segment, int64_t sender,
                                  int64_t receiver) const {
  int64_t from = getBlockSize(operands[segment.operand], dim, mesh);
  int64_t offset = segment.from - segment.at, start = sender * from;
  int64_t first = std::max(receiver * to + offset, start);
  int64_t end = std::min({(receiver + 1) * to + offset, start + from,
                          segment.from + segment.size});
  bool isEmpty = end <= std::max(first, segment.from);
  return {first - start, isEmpty ? first - start : end - start};
}

std::optional<SegmentPlan> WindowPlanner::planRounds(unsigned number) const {
  const Segment &segment = segments.list[number];
  int64_t from = getBlockSize(operands[segment.operand], dim, mesh);
  auto [smaller, larger] = std::minmax(from, to);
  if (segments.repeat || from == to || larger / smaller > mostRatio)
    return std::nullopt;
  SegmentPlan plan;
  Interval own = {from, 0};
  for (int64_t rank = 0; rank < ranks; ++rank)
    if (Interval needed = getNeeded(segment, rank, rank);
        needed.low < needed.end)
      own = {std::min(own.low, needed.low), std::max(own.end, needed.end)};
  if (own.low < own.end)
    plan.pieces.push_back({number, 0, own.low, own.end - own.low, {}});
  for (int64_t round = 0; round <= larger / smaller + 1; ++round) {
    WindowPiece piece = {number, 0, 0, 0, {}};
    piece.round = {from, to, segment.from - segment.at, round};
    if (!isValidRound(*piece.round))
      return std::nullopt;
    for (int64_t sender = 0; sender < ranks; ++sender) {
      int64_t receiver = getReceiverIn(*piece.round, sender, ranks);
      if (receiver == nobody || receiver == sender)
        continue;
      Interval needed = getNeeded(segment, sender, receiver);
      piece.size = std::max(piece.size, needed.end - needed.low);
    }
    if (piece.size == 0)
      continue;
    plan.pieces.push_back(piece);
    plan.bytes += getBytes(segment, piece.size);
  }
  return plan;
}

/// Both plans count the rank that sends the most. With equal bytes and no more
/// permutes, rounds are better: some ranks send nothing in them.
static bool sendsLess(const SegmentPlan &rounds, const SegmentPlan &distances) {
  return rounds.bytes < distances.bytes ||
         (rounds.bytes > 0 && rounds.bytes == distances.bytes &&
          rounds.pieces.size() <= distances.pieces.size());
}

std::optional<SegmentPlan> WindowPlanner::planSegment(unsigned number) const {
  const Segment &segment = segments.list[number];
  TensorType operand = operands[segment.operand];
  if (getAxesOf(operand, dim).empty()) {
    SegmentPlan own; // each rank has all of the operand
    own.pieces.push_back({number, 0, segment.from, segment.size, {}});
    return own;
  }
  if (!segments.canBeLowered(getBlockSize(operand, dim, mesh), to))
    return std::nullopt;
  auto chosen = planDistances(number), rounds = planRounds(number);
  if (rounds && (!chosen || sendsLess(*rounds, *chosen)))
    chosen = rounds;
  return chosen;
}

std::optional<WindowPlan> WindowPlanner::plan() {
  WindowPlan plan;
  for (auto [number, segment] : llvm::enumerate(segments.list)) {
    auto chosen = planSegment(number);
    if (!chosen)
      return std::nullopt;
    for (const WindowPiece &piece : chosen->pieces)
      if (piece.distance != 0)
        sent.insert(getKey(segment, piece));
    llvm::append_range(plan.pieces, chosen->pieces);
    plan.bytes += chosen->bytes;
  }
  auto inRounds = llvm::count_if(
      plan.pieces, [](const WindowPiece &piece) { return bool(piece.round); });
  if (sent.size() > mostSent || inRounds > 2 * mostRatio)
    return std::nullopt;
  return plan;
}

std::optional<WindowPlan> planWindow(ArrayRef<TensorType> operands,
                                     TensorType result, StringRef dim,
                                     const WindowSegments &segments,
                                     nd::MeshAttr mesh) {
  ArrayRef<StringAttr> axes = getAxesOf(result, dim);
  auto isCutAlike = [&](TensorType type) {
    return getAxesOf(type, dim) == axes && areEquidistant(type, dim, mesh);
  };
  auto isWhole = [&](TensorType type) {
    return !segments.repeat && getAxesOf(type, dim).empty();
  };
  if (!isCutAlike(result) || !llvm::all_of(operands, [&](TensorType type) {
        return isCutAlike(type) || isWhole(type);
      }))
    return std::nullopt;
  return WindowPlanner(operands, result, dim, segments, mesh).plan();
}

} // namespace meshc::reshard
