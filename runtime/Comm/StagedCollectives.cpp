//===- StagedCollectives.cpp - collectives by bounded messages ------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Comm/StagedCollectives.h"

#include <algorithm>

using namespace meshc::runtime;

namespace {

/// Up to this size an all-reduce is one step: the sum over the group of what
/// each rank reads.
constexpr int64_t oneStepBytes = 65536;

/// A message's content as a stream of n elements.
Stream streamOf(MeshcType type, const char *data, int64_t n) {
  Stream stream(type);
  stream.append(const_cast<char *>(data), 1, n, n);
  return stream;
}

/// Elements of `type` that fit if each slot holds `parts` messages.
int64_t elementCapacity(const Exchange &exchange, size_t parts,
                        MeshcType type) {
  return static_cast<int64_t>(exchange.capacity(parts) / elementBytes(type));
}

/// Posts the first message of the slot to all others.
void postToAll(Exchange &exchange, const Group &among, size_t bytes) {
  forOthers(among, [&](int p) { exchange.expect(among.ranks[p]); });
  forOthers(among,
            [&](int p) { exchange.post(among.ranks[p], 0, bytes, bytes); });
}

/// Fills a slot with one message per other member, with elements [begin,
/// begin + n) of send(p), and posts them. n may differ by member.
template <class Range>
void postToEach(Exchange &exchange, const Group &among,
                const std::vector<Stream> &send, size_t capacity, Range range) {
  size_t bytesOfOne = elementBytes(send[0].type());
  forOthers(among, [&](int p) { exchange.expect(among.ranks[p]); });
  exchange.begin();
  size_t part = 0;
  forOthers(among, [&](int p) {
    auto [begin, n] = range(p);
    const Stream &from = send[send.size() == 1 ? 0 : p];
    from.read(begin, n, exchange.content(part, capacity));
    exchange.post(among.ranks[p], part++, capacity, n * bytesOfOne);
  });
}

/// Takes a message of `n` elements from every other member and reduces them
/// with `own`, in the order of the members.
void reduceFromAll(Exchange &exchange, const Group &among,
                   MeshcReduction reduction, const Stream &own,
                   const std::vector<Stream> &destinations) {
  std::vector<Stream> sources;
  sources.reserve(among.size());
  int64_t n = own.size();
  for (int p = 0; p < among.size(); ++p)
    sources.push_back(
        p == among.index
            ? own
            : streamOf(
                  own.type(),
                  exchange.await(among.ranks[p], n * elementBytes(own.type())),
                  n));
  reduceStreams(reduction, sources, destinations);
  forOthers(among, [&](int p) { exchange.release(among.ranks[p]); });
}

/// Every rank reduces everything.
void allReduceInOneStep(Exchange &exchange, const Group &among,
                        MeshcReduction reduction, const Stream &send,
                        const Stream &recv) {
  size_t bytesOfOne = elementBytes(send.type());
  int64_t limit = elementCapacity(exchange, 1, send.type());
  forPieces(send.size(), limit, [&](int64_t begin, int64_t n) {
    exchange.begin();
    send.read(begin, n, exchange.content(0, 0));
    postToAll(exchange, among, n * bytesOfOne);
    reduceFromAll(exchange, among, reduction, send.slice(begin, n),
                  {recv.slice(begin, n)});
  });
}

/// Each rank reduces a slice, then all gather the slices.
void allReduceInSlices(Exchange &exchange, const Group &among,
                       MeshcReduction reduction, const Stream &send,
                       const Stream &recv) {
  size_t parts = among.size() - 1;
  size_t capacity = exchange.capacity(parts);
  int64_t sliceLimit = std::min(elementCapacity(exchange, parts, send.type()),
                                elementCapacity(exchange, 1, recv.type()));
  size_t resultBytes = elementBytes(recv.type());
  auto line = static_cast<int64_t>(64 / elementBytes(send.type()));
  forPieces(
      send.size(), sliceLimit * among.size(), [&](int64_t begin, int64_t n) {
        // Slices are equal except for the last ones, and whole cache lines if
        // possible.
        int64_t fair = (n + among.size() - 1) / among.size();
        int64_t slice = std::min(sliceLimit, (fair + line - 1) / line * line);
        auto range = [&](int p) {
          int64_t from = std::min(n, p * slice), to = std::min(n, from + slice);
          return std::pair<int64_t, int64_t>(begin + from, to - from);
        };
        postToEach(exchange, among, {send}, capacity, range);
        auto [ownBegin, own] = range(among.index);
        exchange.begin();
        reduceFromAll(exchange, among, reduction, send.slice(ownBegin, own),
                      {recv.slice(ownBegin, own),
                       streamOf(recv.type(), exchange.content(0, 0), own)});
        postToAll(exchange, among, own * resultBytes);
        forOthers(among, [&](int p) {
          auto [from, count] = range(p);
          recv.write(from, count,
                     exchange.await(among.ranks[p], count * resultBytes));
          exchange.release(among.ranks[p]);
        });
      });
}

} // namespace

void meshc::runtime::allGather(Exchange &exchange, const Group &among,
                               const Stream &send,
                               const std::vector<Stream> &recv) {
  size_t bytesOfOne = elementBytes(send.type());
  int64_t limit = elementCapacity(exchange, 1, send.type());
  copyStream(send, recv[among.index]);
  if (among.size() == 1)
    return;
  forPieces(longestOf(recv), limit, [&](int64_t begin, int64_t n) {
    int64_t own = countIn(send, begin, n);
    exchange.begin();
    send.read(begin, own, exchange.content(0, 0));
    postToAll(exchange, among, own * bytesOfOne);
    forOthers(among, [&](int p) {
      int64_t count = countIn(recv[p], begin, n);
      recv[p].write(begin, count,
                    exchange.await(among.ranks[p], count * bytesOfOne));
      exchange.release(among.ranks[p]);
    });
  });
}

void meshc::runtime::allToAll(Exchange &exchange, const Group &among,
                              const std::vector<Stream> &send,
                              const std::vector<Stream> &recv,
                              int64_t longest) {
  copyStream(send[among.index], recv[among.index]);
  if (among.size() == 1)
    return;
  size_t parts = among.size() - 1;
  size_t bytesOfOne = elementBytes(send[0].type());
  int64_t limit = elementCapacity(exchange, parts, send[0].type());
  forPieces(longest, limit, [&](int64_t begin, int64_t n) {
    postToEach(exchange, among, send, exchange.capacity(parts), [&](int p) {
      return std::pair<int64_t, int64_t>(begin, countIn(send[p], begin, n));
    });
    forOthers(among, [&](int p) {
      int64_t count = countIn(recv[p], begin, n);
      recv[p].write(begin, count,
                    exchange.await(among.ranks[p], count * bytesOfOne));
      exchange.release(among.ranks[p]);
    });
  });
}

void meshc::runtime::permute(Exchange &exchange, const Group &among, int sender,
                             int receiver, const Stream &send,
                             const Stream &recv) {
  if (sender == among.index)
    return copyStream(send, recv);
  size_t bytesOfOne = elementBytes(send.type());
  int64_t limit = elementCapacity(exchange, 1, send.type());
  forPieces(send.size(), limit, [&](int64_t begin, int64_t n) {
    size_t bytes = n * bytesOfOne;
    if (sender != nobody)
      exchange.expect(among.ranks[sender]);
    if (receiver != nobody) {
      exchange.begin();
      send.read(begin, n, exchange.content(0, bytes));
      exchange.post(among.ranks[receiver], 0, bytes, bytes);
    }
    if (sender != nobody) {
      int from = among.ranks[sender];
      recv.write(begin, n, exchange.await(from, bytes));
      exchange.release(from);
    }
  });
}

void meshc::runtime::reduceScatter(Exchange &exchange, const Group &among,
                                   MeshcReduction reduction,
                                   const std::vector<Stream> &send,
                                   const Stream &recv) {
  if (among.size() == 1)
    return reduceStreams(reduction, send, {recv});
  size_t parts = among.size() - 1;
  int64_t limit = elementCapacity(exchange, parts, send[0].type());
  forPieces(longestOf(send), limit, [&](int64_t begin, int64_t n) {
    postToEach(exchange, among, send, exchange.capacity(parts), [&](int p) {
      return std::pair<int64_t, int64_t>(begin, countIn(send[p], begin, n));
    });
    int64_t own = countIn(recv, begin, n);
    reduceFromAll(exchange, among, reduction,
                  send[among.index].slice(begin, own),
                  {recv.slice(begin, own)});
  });
}

void meshc::runtime::allReduce(Exchange &exchange, const Group &among,
                               MeshcReduction reduction, const Stream &send,
                               const Stream &recv) {
  int64_t bytes = send.size() * elementBytes(send.type());
  if (among.size() == 1)
    return reduceStreams(reduction, {send}, {recv});
  if (bytes * (among.size() - 1) <= oneStepBytes)
    return allReduceInOneStep(exchange, among, reduction, send, recv);
  allReduceInSlices(exchange, among, reduction, send, recv);
}
