//===- CollectiveCase.cpp - one collective and what it must give ----------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "CollectiveCase.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

using namespace meshc;
using namespace meshc::test;
using runtime::Group;

namespace {

constexpr char guardByte = 0x5a;
constexpr size_t guardBytes = 256;

bool isFloat(MeshcType type) {
  return type == MESHC_F32 || type == MESHC_BF16 || type == MESHC_F16;
}

/// The value of an element that a rank sends.
double sentValue(const CollectiveCase &c, int rank, size_t item,
                 int64_t index) {
  int64_t mixed = rank * 31 + static_cast<int64_t>(item) * 17 + index * 7 +
                  (index >> 8) * 3;
  if (c.type == MESHC_I1)
    return mixed % 3 != 0;
  if (c.reduction == MESHC_PROD)
    return 1 + mixed % 2;
  if (c.reduction == MESHC_SUM)
    return mixed % 7 - 3;
  // A maximum or minimum with NaN is NaN, whichever rank has it.
  if (isFloat(c.type) && mixed % 23 == 0)
    return NAN;
  return mixed % 201 - 100;
}

double combine(const CollectiveCase &c, double a, double b) {
  if (std::isnan(a) || std::isnan(b))
    return NAN;
  bool logical = c.type == MESHC_I1;
  switch (c.reduction) {
  case MESHC_SUM:
    return logical ? std::max(a, b) : a + b;
  case MESHC_MAX:
    return std::max(a, b);
  case MESHC_MIN:
    return std::min(a, b);
  case MESHC_PROD:
    return a * b;
  }
  return 0;
}

/// The reduction of the values that a group's ranks send at one place.
double reduced(const CollectiveCase &c, const Group &group, size_t item,
               int64_t index) {
  double value = sentValue(c, group.ranks[0], item, index);
  for (int p = 1; p < group.size(); ++p)
    value = combine(c, value, sentValue(c, group.ranks[p], item, index));
  return value;
}

/// The members of a group, in the order of their coordinates on its axes when
/// the axes are in this order.
std::vector<int> membersInOrder(const Group &group, const uint8_t *order) {
  std::vector<std::pair<std::vector<int64_t>, int>> members;
  for (int p = 0; p < group.size(); ++p) {
    std::vector<int64_t> coordinates(group.axes.size());
    int64_t rest = p;
    for (size_t axis = group.axes.size(); axis-- > 0;) {
      coordinates[axis] = rest % group.axes[axis];
      rest /= group.axes[axis];
    }
    std::vector<int64_t> ordered;
    for (size_t i = 0; i < group.axes.size(); ++i)
      ordered.push_back(coordinates[order[i]]);
    members.emplace_back(ordered, p);
  }
  std::sort(members.begin(), members.end());
  std::vector<int> list;
  for (const auto &member : members)
    list.push_back(member.second);
  return list;
}

/// The permutation of a PERMUTE.
MeshcPermutation makePermutation(const CollectiveCase &c, const Group &group) {
  MeshcPermutation permutation{};
  size_t axes = group.axes.size();
  bool isRound = c.round.sendBlock != 0;
  for (size_t i = 0; i < axes; ++i) {
    permutation.senders[i] = static_cast<uint8_t>(isRound ? i : (i + 1) % axes);
    permutation.receivers[i] = static_cast<uint8_t>(isRound ? i : axes - 1 - i);
  }
  permutation.shift = isRound ? 0 : c.shift % group.size();
  permutation.round = c.round;
  return permutation;
}

int64_t divideFloor(int64_t a, int64_t b) {
  return static_cast<int64_t>(std::floor(double(a) / double(b)));
}

/// Which member then sends to member `receiver`, by enumeration; -1 if none.
int senderOf(const CollectiveCase &c, const Group &group, int receiver) {
  MeshcPermutation permutation = makePermutation(c, group);
  std::vector<int> senders = membersInOrder(group, permutation.senders);
  std::vector<int> receivers = membersInOrder(group, permutation.receivers);
  const MeshcRound &round = c.round;
  for (int p = 0; p < group.size(); ++p)
    for (int q = 0; q < group.size(); ++q) {
      int64_t start = p * round.sendBlock, need = q * round.recvBlock;
      bool isPair =
          round.sendBlock == 0 ? q == (p + permutation.shift) % group.size()
          : round.sendBlock >= round.recvBlock
              ? q == divideFloor(start - round.offset, round.recvBlock) +
                         round.number
              : p == divideFloor(need + round.offset, round.sendBlock) +
                         round.number;
      if (isPair && receivers[q] == receiver)
        return senders[p];
    }
  return -1;
}

/// Element `e` of item `i`. `sender`: the member that sends to this rank in a
/// PERMUTE.
double expectedValue(const CollectiveCase &c, const Group &group, int sender,
                     size_t i, int64_t e) {
  const CollectiveCase::Item &item = c.items[i];
  int64_t size = group.size(), me = group.index;
  switch (c.kind) {
  case MESHC_ALL_REDUCE:
    return reduced(c, group, i, e);
  case MESHC_REDUCE_SCATTER:
    return reduced(c, group, i,
                   (e / item.inner * size + me) * item.inner + e % item.inner);
  case MESHC_ALL_GATHER: {
    int64_t p = e / item.inner % size, outer = e / item.inner / size;
    return sentValue(c, group.ranks[p], i, outer * item.inner + e % item.inner);
  }
  case MESHC_PERMUTE:
    return sentValue(c, group.ranks[sender], i, e);
  case MESHC_ALL_TO_ALL: {
    int64_t p = e / item.recvInner % size, outer = e / item.recvInner / size;
    int64_t k = outer * item.recvInner + e % item.recvInner;
    return sentValue(c, group.ranks[p], i,
                     (k / item.inner * size + me) * item.inner +
                         k % item.inner);
  }
  }
  return NAN;
}

/// A buffer with guards behind it.
struct Buffer {
  Buffer(const CollectiveCase &c, int64_t elements)
      : bytes(elements * bytesOf(c.type)),
        memory(bytes + guardBytes, guardByte) {}
  bool guarded() const {
    return std::all_of(memory.begin() + bytes, memory.end(),
                       [](char byte) { return byte == guardByte; });
  }
  size_t bytes;
  std::vector<char> memory;
};

} // namespace

const std::vector<MeshcRound> test::someRounds = {
    {8, 4, 0, 0}, {8, 4, 0, 1},   {8, 4, 8, 1}, {9, 4, 3, 2},  {4, 8, 0, 0},
    {4, 8, 0, 1}, {4, 9, -11, 1}, {5, 5, 3, 1}, {4, 8, 100, 0}};

size_t test::bytesOf(MeshcType type) {
  return type == MESHC_I1 ? 1 : type == MESHC_F32 || type == MESHC_I32 ? 4 : 2;
}

/// Values here are NaN or integers of few bits: halves need no rounding.
void test::setValue(MeshcType type, void *data, int64_t index, double value) {
  char *place = static_cast<char *>(data) + index * bytesOf(type);
  float f = static_cast<float>(value);
  uint32_t bits;
  std::memcpy(&bits, &f, 4);
  int32_t whole = std::isnan(value) ? 0 : static_cast<int32_t>(value);
  uint16_t half = static_cast<uint16_t>(bits >> 16);
  if (type == MESHC_F16)
    half = std::isnan(value) ? 0x7e00
           : value == 0      ? 0
                             : static_cast<uint16_t>(
                                   (bits >> 16 & 0x8000) |
                                   (((bits & 0x7fffffff) >> 13) - (112 << 10)));
  uint8_t truth = value != 0;
  const void *source = type == MESHC_F32   ? static_cast<void *>(&f)
                       : type == MESHC_I32 ? static_cast<void *>(&whole)
                       : type == MESHC_I1  ? static_cast<void *>(&truth)
                                           : static_cast<void *>(&half);
  std::memcpy(place, source, bytesOf(type));
}

double test::valueAt(MeshcType type, const void *data, int64_t index) {
  const char *place = static_cast<const char *>(data) + index * bytesOf(type);
  if (type == MESHC_I1)
    return *place;
  int32_t whole;
  float f;
  uint16_t half;
  if (type == MESHC_I32) {
    std::memcpy(&whole, place, 4);
    return whole;
  }
  if (type == MESHC_F32) {
    std::memcpy(&f, place, 4);
    return f;
  }
  std::memcpy(&half, place, 2);
  if (type == MESHC_BF16) {
    uint32_t bits = uint32_t(half) << 16;
    std::memcpy(&f, &bits, 4);
    return f;
  }
  int exponent = half >> 10 & 31;
  double fraction = half & 1023;
  double magnitude = exponent == 31 ? (fraction ? NAN : INFINITY)
                     : exponent     ? std::ldexp(1024 + fraction, exponent - 25)
                                    : std::ldexp(fraction, -24);
  return half & 0x8000 ? -magnitude : magnitude;
}

std::string CollectiveCase::text() const {
  std::string text =
      "kind " + std::to_string(kind) + " reduction " +
      std::to_string(reduction) + " type " + std::to_string(type) + " axes " +
      std::to_string(axes) + (inPlace ? " in place" : "") +
      (kind == MESHC_PERMUTE ? " by " + std::to_string(shift) : "") +
      (round.sendBlock ? " in round " + std::to_string(round.number) + " of " +
                             std::to_string(round.sendBlock) + " to " +
                             std::to_string(round.recvBlock) + " from " +
                             std::to_string(round.offset)
                       : "");
  for (const Item &item : items)
    text += " (" + std::to_string(item.outer) + " x " +
            std::to_string(item.inner) + " -> x " +
            std::to_string(item.recvInner) + ")";
  return text;
}

std::string CollectiveCase::check(const runtime::MeshView &mesh,
                                  const Runner &runner) const {
  const Group &group = mesh.group(axes);
  int64_t size = group.size();
  bool sendsBlocks = kind == MESHC_REDUCE_SCATTER || kind == MESHC_ALL_TO_ALL;
  bool receivesBlocks = kind == MESHC_ALL_GATHER || kind == MESHC_ALL_TO_ALL;
  std::vector<Buffer> sent, received;
  std::vector<MeshcCollectiveItem> described;
  for (size_t i = 0; i < items.size(); ++i) {
    const Item &item = items[i];
    int64_t block = item.outer * item.inner;
    sent.emplace_back(*this, sendsBlocks ? block * size : block);
    received.emplace_back(*this, receivesBlocks ? block * size : block);
    int64_t count = sendsBlocks ? block * size : block;
    Buffer &from = inPlace ? received[i] : sent[i];
    for (int64_t e = 0; e < count; ++e)
      setValue(type, from.memory.data(), e,
               sentValue(*this, mesh.rank(), i, e));
    int64_t recvInner = kind == MESHC_ALL_TO_ALL ? item.recvInner : item.inner;
    bool isCut = sendsBlocks || receivesBlocks;
    int64_t blocks = isCut ? size : 1;
    described.push_back({item.outer, blocks, item.inner,
                         recvInner ? block / recvInner : 0, blocks, recvInner});
  }
  std::vector<Buffers> buffers;
  for (size_t i = 0; i < items.size(); ++i)
    buffers.push_back(
        {inPlace ? &received[i].memory : &sent[i].memory, &received[i].memory});
  MeshcCollective collective{};
  collective.kind = kind;
  collective.reduction = reduction;
  collective.type = type;
  collective.axes = axes;
  collective.itemCount = static_cast<uint32_t>(items.size());
  collective.items = described.data();
  const MeshcPermutation permutation = makePermutation(*this, group);
  if (kind == MESHC_PERMUTE)
    collective.permutation = &permutation;
  runner(collective, group, buffers);

  const int sender =
      kind == MESHC_PERMUTE ? senderOf(*this, group, group.index) : 0;
  for (size_t i = 0; i < items.size(); ++i) {
    int64_t block = items[i].outer * items[i].inner;
    int64_t count = receivesBlocks ? block * size : sender >= 0 ? block : 0;
    for (int64_t e = 0; e < count; ++e) {
      double got = valueAt(type, received[i].memory.data(), e);
      double wanted = expectedValue(*this, group, sender, i, e);
      if (got != wanted && !(std::isnan(got) && std::isnan(wanted)))
        return text() + ": rank " + std::to_string(mesh.rank()) + " item " +
               std::to_string(i) + " element " + std::to_string(e) + " is " +
               std::to_string(got) + ", wanted " + std::to_string(wanted);
    }
    if (!sent[i].guarded() || !received[i].guarded())
      return text() + ": something was written behind a buffer";
  }
  return "";
}

void CollectiveCase::run(runtime::Communicator &communicator,
                         const runtime::MeshView &mesh) const {
  std::string wrong =
      check(mesh, [&](const MeshcCollective &collective, const Group &group,
                      const std::vector<Buffers> &buffers) {
        std::vector<void *> send, recv;
        for (const Buffers &item : buffers) {
          send.push_back(item.send->data());
          recv.push_back(item.receive->data());
        }
        communicator.run(collective, group, send.data(), recv.data());
      });
  if (!wrong.empty())
    ADD_FAILURE() << wrong;
}
