//===- UnevenCase.cpp - collectives of blocks that are not full -----------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "UnevenCase.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <numeric>

using namespace meshc;
using namespace meshc::test;
using runtime::Group;

namespace {

constexpr char guardByte = 0x5a;
constexpr size_t guardBytes = 256;
constexpr int64_t padding = -1;

using Item = UnevenCase::Item;
using Entries = std::vector<int64_t>;

int64_t divideUp(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// The blocks into which the axes, from number `axis` on, cut the entries: each
/// axis cuts the blocks of `step` entries that it finds.
std::vector<Entries> cutEntries(const Entries &entries, int64_t step,
                                const std::vector<int64_t> &axes,
                                size_t axis = 0) {
  if (axis == axes.size()) {
    Entries block = entries;
    block.resize(step, padding);
    return {block};
  }
  std::vector<Entries> blocks;
  size_t part = divideUp(step, axes[axis]);
  for (int64_t i = 0; i < axes[axis]; ++i) {
    size_t begin = std::min(entries.size(), i * part);
    size_t end = std::min(entries.size(), begin + part);
    for (const Entries &block :
         cutEntries({entries.begin() + begin, entries.begin() + end},
                    static_cast<int64_t>(part), axes, axis + 1))
      blocks.push_back(block);
  }
  return blocks;
}

/// A dim in a group: the entries of the whole, and those of each block.
struct Dim {
  Dim(int64_t size, const Group &group) : whole(size) {
    std::iota(whole.begin(), whole.end(), 0);
    blocks = cutEntries(whole, size, group.axes);
  }
  /// The member that has the entry.
  int ownerOf(int64_t entry) const {
    for (size_t p = 0; p < blocks.size(); ++p)
      if (std::count(blocks[p].begin(), blocks[p].end(), entry))
        return static_cast<int>(p);
    return -1;
  }
  Entries whole;
  std::vector<Entries> blocks;
};

/// One item in a group: which elements of the tensor a buffer has.
struct Tensor {
  Tensor(const UnevenCase &c, const Item &item, const Group &group)
      : item(item), first(item.first, group), second(item.second, group),
        sendsFirst(c.kind == MESHC_ALL_GATHER ||
                   (c.kind == MESHC_ALL_TO_ALL && item.joinsFirst)),
        moves(c.kind == MESHC_ALL_TO_ALL) {}

  /// Calls visit(place in the buffer, index in the tensor, entries) for each
  /// element of what member `p` sends or receives; the index of padding is -1.
  template <class Visit> void forEach(int p, bool isSent, Visit visit) const {
    bool cutsFirst = sendsFirst == isSent;
    bool cutsSecond = moves && !cutsFirst;
    const Entries &rows = cutsFirst ? first.blocks[p] : first.whole;
    const Entries &columns = cutsSecond ? second.blocks[p] : second.whole;
    int64_t place = 0;
    for (int64_t o = 0; o < item.outer; ++o)
      for (int64_t a : rows)
        for (int64_t m = 0; m < item.middle; ++m)
          for (int64_t b : columns)
            for (int64_t i = 0; i < item.inner; ++i) {
              int64_t index =
                  (((o * item.first + a) * item.middle + m) * item.second + b) *
                      item.inner +
                  i;
              visit(place++, a < 0 || b < 0 ? -1 : index, a, b);
            }
  }
  int64_t count(int p, bool isSent) const {
    int64_t elements = 0;
    forEach(p, isSent, [&](int64_t, int64_t, int64_t, int64_t) { ++elements; });
    return elements;
  }
  MeshcCollectiveItem describe() const {
    int64_t a = static_cast<int64_t>(first.blocks[0].size());
    int64_t b = static_cast<int64_t>(second.blocks[0].size());
    int64_t after = item.second * item.inner;
    if (!moves)
      return {item.outer, item.first, item.middle * after,
              item.outer, item.first, item.middle * after};
    MeshcCollectiveItem found = {item.outer * a * item.middle,
                                 item.second,
                                 item.inner,
                                 item.outer,
                                 item.first,
                                 item.middle * b * item.inner};
    if (!sendsFirst) {
      std::swap(found.sendOuter, found.recvOuter);
      std::swap(found.sendEntries, found.recvEntries);
      std::swap(found.sendInner, found.recvInner);
    }
    return found;
  }

  Item item;
  Dim first, second;
  bool sendsFirst, moves;
};

/// Small, so that every sum is exact.
double valueOf(int rank, size_t item, int64_t index) {
  int64_t mixed = rank * 31 + static_cast<int64_t>(item) * 17 + index * 7 +
                  (index >> 8) * 3;
  return static_cast<double>(mixed % 7 - 3);
}

double wantedValue(const UnevenCase &c, const Group &group,
                   const Tensor &tensor, size_t item, int64_t index, int64_t a,
                   int64_t b) {
  if (c.kind != MESHC_REDUCE_SCATTER)
    return valueOf(group.ranks[tensor.sendsFirst ? tensor.first.ownerOf(a)
                                                 : tensor.second.ownerOf(b)],
                   item, index);
  double sum = 0, largest = -INFINITY;
  for (int rank : group.ranks) {
    sum += valueOf(rank, item, index);
    largest = std::max(largest, valueOf(rank, item, index));
  }
  return c.reduction == MESHC_SUM ? sum : largest;
}

std::vector<char> makeBuffer(MeshcType type, int64_t elements) {
  return std::vector<char>(elements * bytesOf(type) + guardBytes, guardByte);
}

bool isGuarded(const std::vector<char> &buffer) {
  return std::all_of(buffer.end() - guardBytes, buffer.end(),
                     [](char byte) { return byte == guardByte; });
}

double paddingOf(MeshcType type) {
  return type == MESHC_I32 ? (1 << 30) : type == MESHC_I1 ? 1 : NAN;
}

} // namespace

std::string UnevenCase::text() const {
  std::string text = "kind " + std::to_string(kind) + " reduction " +
                     std::to_string(reduction) + " type " +
                     std::to_string(type) + " axes " + std::to_string(axes);
  for (const Item &item : items) {
    text += item.joinsFirst ? " (joined first:" : " (cut first:";
    for (int64_t size :
         {item.outer, item.first, item.middle, item.second, item.inner})
      text += " " + std::to_string(size);
    text += ")";
  }
  return text;
}

std::string UnevenCase::check(const runtime::MeshView &mesh,
                              const CollectiveCase::Runner &runner) const {
  const Group &group = mesh.group(axes);
  std::vector<Tensor> tensors;
  std::vector<std::vector<char>> sent, received;
  std::vector<MeshcCollectiveItem> described;
  for (size_t i = 0; i < items.size(); ++i) {
    tensors.emplace_back(*this, items[i], group);
    const Tensor &tensor = tensors.back();
    sent.push_back(makeBuffer(type, tensor.count(group.index, true)));
    received.push_back(makeBuffer(type, tensor.count(group.index, false)));
    tensor.forEach(group.index, true,
                   [&](int64_t place, int64_t index, int64_t, int64_t) {
                     setValue(type, sent[i].data(), place,
                              index < 0 ? paddingOf(type)
                                        : valueOf(mesh.rank(), i, index));
                   });
    described.push_back(tensor.describe());
  }
  const std::vector<std::vector<char>> before = sent;
  std::vector<CollectiveCase::Buffers> buffers;
  for (size_t i = 0; i < items.size(); ++i)
    buffers.push_back({&sent[i], &received[i]});
  MeshcCollective collective{};
  collective.kind = kind;
  collective.reduction = reduction;
  collective.type = type;
  collective.axes = axes;
  collective.itemCount = static_cast<uint32_t>(items.size());
  collective.items = described.data();
  runner(collective, group, buffers);

  std::string wrong;
  for (size_t i = 0; i < items.size(); ++i) {
    tensors[i].forEach(
        group.index, false,
        [&](int64_t place, int64_t index, int64_t a, int64_t b) {
          if (index < 0 || !wrong.empty())
            return;
          double got = valueAt(type, received[i].data(), place);
          double wanted = wantedValue(*this, group, tensors[i], i, index, a, b);
          if (got != wanted)
            wrong = text() + ": rank " + std::to_string(mesh.rank()) +
                    " item " + std::to_string(i) + " element " +
                    std::to_string(place) + " is " + std::to_string(got) +
                    ", wanted " + std::to_string(wanted);
        });
    if (!isGuarded(received[i]))
      return text() + ": something was written behind a buffer";
    if (sent[i] != before[i])
      return text() + ": what was sent has changed";
  }
  return wrong;
}

void UnevenCase::run(runtime::Communicator &communicator,
                     const runtime::MeshView &mesh) const {
  std::string wrong =
      check(mesh, [&](const MeshcCollective &collective, const Group &group,
                      const std::vector<CollectiveCase::Buffers> &buffers) {
        std::vector<void *> send, recv;
        for (const CollectiveCase::Buffers &item : buffers) {
          send.push_back(item.send->data());
          recv.push_back(item.receive->data());
        }
        communicator.run(collective, group, send.data(), recv.data());
      });
  if (!wrong.empty())
    ADD_FAILURE() << wrong;
}

std::vector<UnevenCase> test::unevenCases(uint32_t axes) {
  std::vector<UnevenCase> cases;
  UnevenCase c;
  c.axes = axes;
  auto addTypes = [&](std::initializer_list<MeshcType> types) {
    for (MeshcType type : types) {
      c.type = type;
      cases.push_back(c);
    }
  };
  for (MeshcCollectiveKind kind :
       {MESHC_REDUCE_SCATTER, MESHC_ALL_GATHER, MESHC_ALL_TO_ALL}) {
    c.kind = kind;
    c.reduction = MESHC_SUM;
    std::vector<bool> directions = {true};
    if (kind == MESHC_ALL_TO_ALL)
      directions.push_back(false);
    // Fewer entries than ranks, as many, and more.
    for (int64_t entries : {1, 2, 3, 4, 5, 6, 7, 9, 13})
      for (bool joinsFirst : directions) {
        c.items = {{1, entries, 1, 7, 1, joinsFirst}};
        addTypes({MESHC_F32});
        c.items = {{3, entries, 2, 5, 4, joinsFirst}};
        addTypes({MESHC_F32, MESHC_BF16, MESHC_I32});
      }
    // Parts of messages, and messages of many parts.
    for (bool joinsFirst : directions) {
      c.items = {{11, 17, 1, 13, 10, joinsFirst}};
      addTypes({MESHC_F32, MESHC_BF16});
      c.items = {{1, 5, 1, 1, 20011, joinsFirst}};
      addTypes({MESHC_I32});
      c.items = {{2, 5, 1, 8, 16, joinsFirst}, {1, 1, 1, 1, 3, joinsFirst},
                 {0, 5, 1, 5, 1, joinsFirst},  {4, 12, 1, 12, 8, !joinsFirst},
                 {3, 7, 5, 3, 2, joinsFirst},  {7, 2, 1, 9, 100, !joinsFirst}};
      addTypes({MESHC_F32, MESHC_BF16, MESHC_I32});
    }
    c.reduction = MESHC_MAX;
    c.items = {{3, 5, 1, 1, 9}};
    addTypes({MESHC_F32});
  }
  return cases;
}
