//===- Collectives.cpp - collectives of a device --------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Suite.h"
#include "test/runtime/Comm/UnevenCase.h"

using namespace meshc;
using namespace meshc::test;
using namespace meshc::runtime;

namespace {

using Buffers = CollectiveCase::Buffers;

/// Copies the buffers to the arena, runs the collective there, and copies them
/// back.
template <class AnyCase> std::string check(Subject &subject, const AnyCase &c) {
  return c.check(subject.rank.mesh, [&](const MeshcCollective &collective,
                                        const Group &,
                                        const std::vector<Buffers> &buffers) {
    int64_t used = 0;
    auto place = [&](const std::vector<char> &bytes) {
      int64_t offset = used;
      used += static_cast<int64_t>((bytes.size() + 255) / 256 * 256);
      subject.put(offset, bytes);
      return offset;
    };
    std::vector<int64_t> sendAt, recvAt;
    for (const Buffers &item : buffers) {
      bool inPlace = item.send == item.receive;
      sendAt.push_back(place(*item.send));
      recvAt.push_back(inPlace ? sendAt.back() : place(*item.receive));
    }
    subject.run([&](MeshcContext *ctx) {
      std::vector<void *> send, recv;
      for (size_t i = 0; i < buffers.size(); ++i) {
        send.push_back(ctx->arena + sendAt[i]);
        recv.push_back(ctx->arena + recvAt[i]);
      }
      meshc_collective(ctx, &collective, send.data(), recv.data());
      meshc_wait(ctx, &collective);
    });
    for (size_t i = 0; i < buffers.size(); ++i) {
      subject.get(sendAt[i], *buffers[i].send);
      subject.get(recvAt[i], *buffers[i].receive);
    }
  });
}

template <class AnyCase>
void add(std::vector<Case> &cases, const char *topic, const AnyCase &c) {
  cases.push_back({topic, [c](Subject &subject) { return check(subject, c); }});
}

} // namespace

void test::addCollectives(std::vector<Case> &cases, uint32_t axisCount) {
  const uint32_t all = (1u << axisCount) - 1;
  CollectiveCase c;
  c.items = {{3, 7, 21}};
  for (c.axes = 0; c.axes <= all; ++c.axes)
    for (MeshcCollectiveKind kind : allKinds)
      for (MeshcReduction reduction : allReductions)
        for (MeshcType type : allTypes) {
          c.kind = kind;
          c.reduction = reduction;
          c.type = type;
          add(cases, "collectives: kinds", c);
        }
  c.reduction = MESHC_SUM;
  c.axes = all;
  for (int64_t n : {0, 1, 2, 15, 16, 17, 1023, 16384, 81919})
    for (MeshcCollectiveKind kind : allKinds)
      for (MeshcType type : {MESHC_F32, MESHC_BF16, MESHC_I1}) {
        c.kind = kind;
        c.type = type;
        c.items = {{1, n, n}};
        add(cases, "collectives: sizes", c);
      }
  const CollectiveCase::Item layouts[] = {
      {5, 1, 5},       {1, 5, 1},      {64, 3, 12},    {12, 16, 192},
      {300, 128, 256}, {2000, 33, 66}, {1, 66000, 33}, {8, 8, 16}};
  for (const CollectiveCase::Item &item : layouts)
    for (MeshcCollectiveKind kind : allKinds)
      for (MeshcType type : {MESHC_F32, MESHC_BF16}) {
        c.kind = kind;
        c.type = type;
        c.items = {item};
        add(cases, "collectives: blocks", c);
      }
  for (c.axes = 1; c.axes <= all; ++c.axes)
    for (MeshcCollectiveKind kind : allKinds)
      for (MeshcType type : {MESHC_F32, MESHC_F16}) {
        c.kind = kind;
        c.type = type;
        c.items = {{1, 1, 1},       {0, 4, 4},       {37, 100, 50},
                   {1, 4000, 1000}, {700, 64, 6400}, {1, 3, 1}};
        add(cases, "collectives: items", c);
      }
  c.kind = MESHC_PERMUTE;
  for (c.axes = 0; c.axes <= all; ++c.axes)
    for (c.shift = 0; c.shift < 4; ++c.shift)
      for (int64_t n : {1, 257, 100003}) {
        c.items = {{1, n, n}, {3, 5, 5}};
        add(cases, "collectives: permutes", c);
      }
  for (c.axes = 0; c.axes <= all; ++c.axes)
    for (const MeshcRound &round : someRounds)
      for (int64_t n : {1, 40009}) {
        c.round = round;
        c.items = {{1, n, n}, {3, 5, 5}};
        add(cases, "collectives: rounds", c);
      }
  c.round = {};
  for (uint32_t axes = 1; axes <= all; ++axes)
    for (const UnevenCase &uneven : unevenCases(axes))
      add(cases, "collectives: padding", uneven);
  c.kind = MESHC_ALL_REDUCE;
  c.inPlace = true;
  for (c.axes = 1; c.axes <= all; ++c.axes)
    for (MeshcType type : allTypes)
      for (int64_t n : {1, 1000, 70001}) {
        c.type = type;
        c.items = {{1, n, n}, {3, 5, 5}};
        add(cases, "collectives: in place", c);
      }
}
