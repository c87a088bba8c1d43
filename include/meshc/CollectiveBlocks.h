//===- CollectiveBlocks.h - blocks of a collective's buffers ----*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Which elements of its buffers a rank sends and receives in a collective, as
/// MeshcCollectiveItem defines it, and to whom, as MeshcPermutation does. The
/// compiler's reference and all runtimes use these functions.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_COLLECTIVEBLOCKS_H
#define MESHC_COLLECTIVEBLOCKS_H

#include "meshc/RuntimeAbi.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace meshc {

/// The sizes of the axes of a collective's group, in the mesh's order.
using GroupAxes = std::vector<int64_t>;

/// The ranks of the group.
inline int64_t countRanks(const GroupAxes &axes) {
  int64_t ranks = 1;
  for (int64_t size : axes)
    ranks *= size;
  return ranks;
}

/// Entries of a block of `entries` ones, padding included.
inline int64_t getBlockStep(int64_t entries, const GroupAxes &axes) {
  int64_t ranks = countRanks(axes);
  return (entries + ranks - 1) / ranks;
}

/// Whether no block has padding. They then lie at equal distances.
inline bool areBlocksFull(int64_t entries, const GroupAxes &axes) {
  return entries % countRanks(axes) == 0;
}

/// The entries of a block that exist.
struct EntryRange {
  int64_t start; ///< perhaps behind all entries if the count is 0
  int64_t count;
};

/// Block `index` of `entries` entries: each axis cuts the blocks of the one
/// before it, and a block ends where the one around it does.
inline EntryRange getBlock(int64_t entries, const GroupAxes &axes,
                           int64_t index) {
  EntryRange block = {0, entries};
  int64_t step = entries, ranks = countRanks(axes);
  for (int64_t size : axes) {
    ranks /= size;
    step = (step + size - 1) / size;
    int64_t first = index / ranks % size * step;
    block.start += first;
    block.count = std::min(std::max<int64_t>(block.count - first, 0), step);
  }
  return block;
}

/// ⌊(factor · x + summand) / divisor⌋ + constant, for x ≥ 0. 0 ≤ summand <
/// divisor, so generated code can divide unsigned numbers.
struct RoundedLine {
  int64_t factor, summand, divisor, constant;

  int64_t at(int64_t x) const {
    return (factor * x + summand) / divisor + constant;
  }
};

/// ⌊(factor · x + summand) / divisor⌋ + constant with any summand.
inline RoundedLine makeLine(int64_t factor, int64_t summand, int64_t divisor,
                            int64_t constant) {
  int64_t rest = (summand % divisor + divisor) % divisor;
  return {factor, rest, divisor, constant + (summand - rest) / divisor};
}

/// Whether the numbers of a round are such that its arithmetic does not
/// overflow, on as many ranks as there can be.
inline bool isValidRound(const MeshcRound &round) {
  constexpr int64_t most = int64_t(1) << 31;
  return round.sendBlock >= 1 && round.sendBlock <= most &&
         round.recvBlock >= 1 && round.recvBlock <= most &&
         round.offset >= -most && round.offset <= most && round.number >= 0 &&
         round.number <= most;
}

/// One of the formulas of MeshcRound, ⌊(x · block + offset) / others⌋ + number,
/// if the ranks with blocks of `block` entries number the others; that is if
/// their blocks are larger. Otherwise the inverse of the others' formula, which
/// holds for ranks that have a counterpart.
inline RoundedLine getLine(int64_t block, int64_t others, int64_t offset,
                           int64_t number, bool isLarger) {
  return isLarger
             ? makeLine(block, offset, others, number)
             : makeLine(block, others - 1 + offset - number * block, others, 0);
}

/// The receiver's number as a function of the sender's.
inline RoundedLine getReceiverLine(const MeshcRound &round) {
  return getLine(round.sendBlock, round.recvBlock, -round.offset, round.number,
                 round.sendBlock >= round.recvBlock);
}

/// The sender's number as a function of the receiver's.
inline RoundedLine getSenderLine(const MeshcRound &round) {
  return getLine(round.recvBlock, round.sendBlock, round.offset, round.number,
                 round.sendBlock < round.recvBlock);
}

/// Stands for the rank that a rank sends to, or receives from, if there is
/// none.
constexpr int64_t nobody = -1;

/// The counterpart of `rank` among `ranks`, if each is the other's; or nobody.
inline int64_t getCounterpart(const RoundedLine &there, const RoundedLine &back,
                              int64_t rank, int64_t ranks) {
  int64_t other = there.at(rank);
  bool isOne = other >= 0 && other < ranks && back.at(other) == rank;
  return isOne ? other : nobody;
}

/// The number of the receiver of sender `sender` among `ranks`, or nobody.
inline int64_t getReceiverIn(const MeshcRound &round, int64_t sender,
                             int64_t ranks) {
  return getCounterpart(getReceiverLine(round), getSenderLine(round), sender,
                        ranks);
}

/// The number of the sender to receiver `receiver` among `ranks`, or nobody.
inline int64_t getSenderIn(const MeshcRound &round, int64_t receiver,
                           int64_t ranks) {
  return getCounterpart(getSenderLine(round), getReceiverLine(round), receiver,
                        ranks);
}

/// The sender's piece for the receiver is `size` entries of its block. This is
/// the first of them. They contain all that the receiver needs of the block, if
/// `size` is large enough. Also defined for two ranks that are no pair.
inline int64_t getSentLow(const MeshcRound &round, int64_t sender,
                          int64_t receiver, int64_t size) {
  int64_t first =
      receiver * round.recvBlock + round.offset - sender * round.sendBlock;
  return std::min(std::max<int64_t>(first, 0), round.sendBlock - size);
}

inline bool isRound(const MeshcPermutation &permutation) {
  return permutation.round.sendBlock != 0;
}

/// The number that a rank of the group has if the axes are in another order:
/// `order` as in MeshcPermutation.
inline int64_t getNumberIn(const uint8_t *order, const GroupAxes &axes,
                           int64_t index) {
  int64_t number = 0;
  for (size_t i = 0; i < axes.size(); ++i) {
    int64_t within = 1; // ranks that differ on the axes behind this one only
    for (size_t axis = order[i] + size_t(1); axis < axes.size(); ++axis)
      within *= axes[axis];
    number = number * axes[order[i]] + index / within % axes[order[i]];
  }
  return number;
}

/// The rank of the group that has this number.
inline int64_t getRankWith(int64_t number, const uint8_t *order,
                           const GroupAxes &axes) {
  int64_t index = 0;
  for (size_t i = axes.size(); i-- > 0;) {
    int64_t within = 1;
    for (size_t axis = order[i] + size_t(1); axis < axes.size(); ++axis)
      within *= axes[axis];
    index += number % axes[order[i]] * within;
    number /= axes[order[i]];
  }
  return index;
}

/// Of a PERMUTE: the rank of the group to which rank `sender` sends, or
/// `nobody`.
inline int64_t getReceiver(const MeshcPermutation &permutation,
                           const GroupAxes &axes, int64_t sender) {
  int64_t ranks = countRanks(axes);
  int64_t number = getNumberIn(permutation.senders, axes, sender);
  int64_t receiver = isRound(permutation)
                         ? getReceiverIn(permutation.round, number, ranks)
                         : (number + permutation.shift) % ranks;
  return receiver == nobody
             ? nobody
             : getRankWith(receiver, permutation.receivers, axes);
}

/// Of a PERMUTE: the rank of the group from which rank `receiver` receives, or
/// `nobody`.
inline int64_t getSender(const MeshcPermutation &permutation,
                         const GroupAxes &axes, int64_t receiver) {
  int64_t ranks = countRanks(axes);
  int64_t number = getNumberIn(permutation.receivers, axes, receiver);
  int64_t sender = isRound(permutation)
                       ? getSenderIn(permutation.round, number, ranks)
                       : (number + ranks - permutation.shift) % ranks;
  return sender == nobody ? nobody
                          : getRankWith(sender, permutation.senders, axes);
}

/// Whether both orders have each axis of the group once, and the shift and the
/// round are as MeshcPermutation says.
inline bool isValidPermutation(const MeshcPermutation &permutation,
                               const GroupAxes &axes) {
  if (axes.size() > MESHC_MAX_AXES)
    return false;
  for (const uint8_t *order : {permutation.senders, permutation.receivers})
    for (size_t axis = 0; axis < axes.size(); ++axis)
      if (std::count(order, order + axes.size(), axis) != 1)
        return false;
  const MeshcRound &round = permutation.round;
  bool isShift = permutation.shift >= 0 && permutation.shift < countRanks(axes);
  return isRound(permutation) ? isValidRound(round) && permutation.shift == 0
                              : isShift && round.recvBlock == 0;
}

/// Elements of a buffer: outer × rows × length of them, in this order, the last
/// ones in sequence.
struct ElementBox {
  int64_t offset; ///< of the first
  int64_t outer, outerStride;
  int64_t rows, rowStride;
  int64_t length;

  int64_t size() const { return outer * rows * length; }
  /// The place of element `index` of the box in the buffer.
  int64_t at(int64_t index) const {
    int64_t row = index / length;
    return offset + row / rows * outerStride + row % rows * rowStride +
           index % length;
  }
  /// The same elements in the same order, with outer = 1 if equal strides lead
  /// from row to row.
  ElementBox flat() const {
    if (rows == 1 || rowStride == length)
      return {offset, 1, 0, outer, outerStride, rows * length};
    if (outer == 1 || outerStride == rows * rowStride)
      return {offset, 1, 0, outer * rows, rowStride, length};
    return *this;
  }
};

/// A buffer of a collective, blocked, as an item describes it.
struct BlockedBuffer {
  int64_t outer, entries, inner;

  /// Of the whole buffer.
  int64_t size() const { return outer * entries * inner; }
  /// Of one of its blocks, padding included.
  int64_t getBlockSize(const GroupAxes &axes) const {
    return outer * getBlockStep(entries, axes) * inner;
  }
  /// Whether its blocks are one after the other and full.
  bool isInOrder(const GroupAxes &axes) const {
    return outer <= 1 && areBlocksFull(entries, axes);
  }
  /// Block `index`, in the whole buffer.
  ElementBox getBox(const GroupAxes &axes, int64_t index) const {
    EntryRange block = getBlock(entries, axes, index);
    return {block.start * inner, outer, entries * inner, 1, 0,
            block.count * inner};
  }
  /// Block `index`, in a buffer that has this block alone.
  ElementBox getPlainBox(const GroupAxes &axes, int64_t index) const {
    int64_t count = getBlock(entries, axes, index).count;
    return {0, outer, getBlockStep(entries, axes) * inner, 1, 0, count * inner};
  }
};

/// One item of a collective in a group with these axes, which outlives it.
class ItemBlocks {
public:
  ItemBlocks(uint8_t kind, const MeshcCollectiveItem &item,
             const GroupAxes &axes)
      : kind(kind), axes(axes),
        send{item.sendOuter, item.sendEntries, item.sendInner},
        recv{item.recvOuter, item.recvEntries, item.recvInner} {
    if (kind == MESHC_ALL_GATHER)
      send = recv;
    else if (kind != MESHC_ALL_TO_ALL)
      recv = send;
  }

  bool sendsBlocks() const {
    return kind == MESHC_REDUCE_SCATTER || kind == MESHC_ALL_TO_ALL;
  }
  bool receivesBlocks() const {
    return kind == MESHC_ALL_GATHER || kind == MESHC_ALL_TO_ALL;
  }
  const BlockedBuffer &getSend() const { return send; }
  const BlockedBuffer &getRecv() const { return recv; }

  /// Whether the sizes are what MeshcCollectiveItem allows.
  bool isValid() const {
    for (const BlockedBuffer &side : {send, recv})
      if (side.outer < 0 || side.entries < 0 || side.inner < 0)
        return false;
    return kind != MESHC_ALL_TO_ALL ||
           (send.getBlockSize(axes) == recv.getBlockSize(axes) &&
            (isEven() || nestsIn(send, recv) || nestsIn(recv, send)));
  }

  /// Elements of the buffers of a rank, padding included.
  int64_t getSendSize() const {
    return kind == MESHC_ALL_GATHER ? send.getBlockSize(axes) : send.size();
  }
  int64_t getRecvSize() const {
    return kind == MESHC_REDUCE_SCATTER ? recv.getBlockSize(axes) : recv.size();
  }
  /// At most this many elements are sent from one rank to another, by those
  /// that have full blocks.
  int64_t getBlockSize() const {
    return kind == MESHC_ALL_REDUCE || kind == MESHC_PERMUTE
               ? send.size()
               : send.getBlockSize(axes);
  }

  /// What rank `from` of the group sends to rank `to`, in the buffer of `from`,
  /// and where it arrives in the buffer of `to`. Where values are reduced, they
  /// are reduced element by element. In a PERMUTE it is all, and `to` is the
  /// receiver of `from`. Both boxes have the same size and, unless
  /// they can be made flat, the same numbers of rows.
  ElementBox getSent(int64_t from, int64_t to) const {
    switch (kind) {
    case MESHC_REDUCE_SCATTER:
      return send.getBox(axes, to);
    case MESHC_ALL_GATHER:
      return send.getPlainBox(axes, from);
    case MESHC_ALL_TO_ALL:
      return getMoved(from, to).first;
    default:
      return {0, 1, 0, 1, 0, send.size()};
    }
  }
  ElementBox getReceived(int64_t from, int64_t to) const {
    switch (kind) {
    case MESHC_REDUCE_SCATTER:
      return recv.getPlainBox(axes, to);
    case MESHC_ALL_GATHER:
      return recv.getBox(axes, from);
    case MESHC_ALL_TO_ALL:
      return getMoved(from, to).second;
    default:
      return {0, 1, 0, 1, 0, recv.size()};
    }
  }

private:
  bool isEven() const {
    return areBlocksFull(send.entries, axes) &&
           areBlocksFull(recv.entries, axes);
  }
  /// Whether whole blocks of the entries of `part` are in one entry of `whole`.
  bool nestsIn(const BlockedBuffer &part, const BlockedBuffer &whole) const {
    int64_t size = getBlockStep(part.entries, axes) * part.inner;
    return size > 0 && whole.inner % size == 0;
  }

  /// Of an all_to_all: sender's and receiver's box.
  std::pair<ElementBox, ElementBox> getMoved(int64_t from, int64_t to) const {
    ElementBox sent = send.getBox(axes, to), got = recv.getBox(axes, from);
    if (isEven() || send.getBlockSize(axes) == 0)
      return {sent, got};
    if (nestsIn(send, recv)) {
      int64_t step = getBlockStep(send.entries, axes) * send.inner;
      int64_t rows = got.length / step;
      return {
          {sent.offset, got.outer, send.size() / recv.outer, rows,
           sent.outerStride, sent.length},
          {got.offset, got.outer, got.outerStride, rows, step, sent.length}};
    }
    int64_t step = getBlockStep(recv.entries, axes) * recv.inner;
    int64_t rows = sent.length / step;
    return {{sent.offset, sent.outer, sent.outerStride, rows, step, got.length},
            {got.offset, sent.outer, recv.size() / send.outer, rows,
             got.outerStride, got.length}};
  }

  uint8_t kind;
  const GroupAxes &axes;
  BlockedBuffer send, recv;
};

} // namespace meshc

#endif // MESHC_COLLECTIVEBLOCKS_H
