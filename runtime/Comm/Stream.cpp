//===- Stream.cpp - elements of a collective, as one sequence -------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Comm/Stream.h"

#include "runtime/Base/Failure.h"

#include <algorithm>
#include <cstring>
#include <string>

using namespace meshc::runtime;

void Stream::append(void *base, int64_t runs, int64_t runLength,
                    int64_t stride) {
  if (runs == 0 || runLength == 0)
    return;
  if (runLength == stride) {
    runLength *= runs;
    runs = 1;
  }
  segments.push_back({static_cast<char *>(base), runs, runLength, stride});
  count += runs * runLength;
}

void Stream::append(const Stream &other) {
  segments.insert(segments.end(), other.segments.begin(), other.segments.end());
  count += other.count;
}

Stream::Cursor::Cursor(const Stream &stream, int64_t begin) : stream(&stream) {
  while (segment < stream.segments.size()) {
    const Segment &here = stream.segments[segment];
    if (begin < here.runs * here.runLength) {
      run = begin / here.runLength;
      offset = begin % here.runLength;
      return;
    }
    begin -= here.runs * here.runLength;
    ++segment;
  }
}

char *Stream::Cursor::data() const {
  const Segment &here = stream->segments[segment];
  return here.base + (run * here.stride + offset) * stream->bytesOfElement;
}

int64_t Stream::Cursor::left() const {
  if (segment == stream->segments.size())
    return 0;
  return stream->segments[segment].runLength - offset;
}

void Stream::Cursor::advance(int64_t n) {
  offset += n;
  if (offset < stream->segments[segment].runLength)
    return;
  offset = 0;
  if (++run < stream->segments[segment].runs)
    return;
  run = 0;
  ++segment;
}

void Stream::read(int64_t begin, int64_t n, void *to) const {
  char *out = static_cast<char *>(to);
  Cursor cursor(*this, begin);
  while (n > 0) {
    int64_t piece = std::min(n, cursor.left());
    copyBytes(out, cursor.data(), piece * bytesOfElement);
    out += piece * bytesOfElement;
    cursor.advance(piece);
    n -= piece;
  }
}

void Stream::write(int64_t begin, int64_t n, const void *from) const {
  const char *in = static_cast<const char *>(from);
  Cursor cursor(*this, begin);
  while (n > 0) {
    int64_t piece = std::min(n, cursor.left());
    copyBytes(cursor.data(), in, piece * bytesOfElement);
    in += piece * bytesOfElement;
    cursor.advance(piece);
    n -= piece;
  }
}

Stream Stream::slice(int64_t begin, int64_t n) const {
  Stream part(elementType);
  int64_t end = begin + n, first = 0;
  for (const Segment &here : segments) {
    int64_t last = first + here.runs * here.runLength;
    int64_t from = std::max(begin, first) - first;
    int64_t to = std::min(end, last) - first;
    first = last;
    // The rest of a run that was already started, whole runs, then the start of
    // the last one.
    while (from < to) {
      int64_t inRun = from % here.runLength;
      char *base = here.base + (from / here.runLength * here.stride + inRun) *
                                   bytesOfElement;
      int64_t whole = inRun ? 0 : (to - from) / here.runLength;
      int64_t length = std::min(here.runLength - inRun, to - from);
      part.append(base, whole ? whole : 1, length, here.stride);
      from += whole ? whole * here.runLength : length;
    }
  }
  return part;
}

void meshc::runtime::copyStream(const Stream &from, const Stream &to) {
  size_t bytes = elementBytes(from.type());
  Stream::Cursor in(from, 0), out(to, 0);
  for (int64_t left = from.size(); left > 0;) {
    int64_t piece = std::min(in.left(), out.left());
    if (in.data() != out.data())
      copyBytes(out.data(), in.data(), piece * bytes);
    in.advance(piece);
    out.advance(piece);
    left -= piece;
  }
}

void meshc::runtime::reduceStreams(MeshcReduction reduction,
                                   const std::vector<Stream> &sources,
                                   const std::vector<Stream> &destinations) {
  std::vector<Stream::Cursor> cursors;
  cursors.reserve(sources.size() + destinations.size());
  for (const Stream &source : sources)
    cursors.emplace_back(source, 0);
  for (const Stream &destination : destinations)
    cursors.emplace_back(destination, 0);
  std::vector<void *> places(cursors.size());
  ReductionKind kind{reduction, sources[0].type(), destinations[0].type()};
  for (int64_t left = sources[0].size(); left > 0;) {
    int64_t piece = left;
    for (size_t i = 0; i < cursors.size(); ++i) {
      piece = std::min(piece, cursors[i].left());
      places[i] = cursors[i].data();
    }
    reduce(kind, places.data(), static_cast<int>(sources.size()),
           places.data() + sources.size(),
           static_cast<int>(destinations.size()), piece);
    for (Stream::Cursor &cursor : cursors)
      cursor.advance(piece);
    left -= piece;
  }
}

namespace {

/// One item's buffers and how they are cut among the group.
class ItemStreams {
public:
  ItemStreams(CollectiveStreams &streams, int groupSize)
      : streams(streams), groupSize(groupSize) {}

  void sendPlain(void *base, int64_t outer, int64_t inner) {
    streams.send[0].append(base, 1, outer * inner, outer * inner);
  }
  void sendBlocked(void *base, int64_t outer, int64_t inner) {
    blocked(streams.send, base, outer, inner);
  }
  void recvPlain(void *base, int64_t outer, int64_t inner) {
    streams.recv[0].append(base, 1, outer * inner, outer * inner);
  }
  void recvBlocked(void *base, int64_t outer, int64_t inner) {
    blocked(streams.recv, base, outer, inner);
  }

private:
  void blocked(std::vector<Stream> &members, void *base, int64_t outer,
               int64_t inner) {
    for (int p = 0; p < groupSize; ++p)
      members[p].append(static_cast<char *>(base) +
                            p * inner * elementBytes(members[p].type()),
                        outer, inner, inner * groupSize);
  }

  CollectiveStreams &streams;
  int groupSize;
};

} // namespace

CollectiveStreams meshc::runtime::makeStreams(const MeshcCollective &collective,
                                              int groupSize, void *const *send,
                                              void *const *recv) {
  auto type = static_cast<MeshcType>(collective.type);
  bool sendsBlocks = collective.kind == MESHC_REDUCE_SCATTER ||
                     collective.kind == MESHC_ALL_TO_ALL;
  bool receivesBlocks = collective.kind == MESHC_ALL_GATHER ||
                        collective.kind == MESHC_ALL_TO_ALL;
  CollectiveStreams streams;
  streams.send.assign(sendsBlocks ? groupSize : 1, Stream(type));
  streams.recv.assign(receivesBlocks ? groupSize : 1, Stream(type));
  ItemStreams add(streams, groupSize);
  for (uint32_t i = 0; i < collective.itemCount; ++i) {
    MeshcCollectiveItem item = collective.items[i];
    // A plain side takes its size from the blocked one, as the ABI specifies.
    bool recvCounts = collective.kind == MESHC_ALL_GATHER;
    int64_t outer = recvCounts ? item.recvOuter : item.sendOuter;
    int64_t inner = recvCounts ? item.recvInner : item.sendInner;
    if (outer < 0 || inner < 0 ||
        (collective.kind == MESHC_ALL_TO_ALL &&
         outer * inner != item.recvOuter * item.recvInner))
      throw Failure(ExitCode::Internal,
                    "item " + std::to_string(i) + " of a collective sends " +
                        std::to_string(outer) + " x " + std::to_string(inner) +
                        " elements and receives " +
                        std::to_string(item.recvOuter) + " x " +
                        std::to_string(item.recvInner));
    if (sendsBlocks)
      add.sendBlocked(send[i], outer, inner);
    else
      add.sendPlain(send[i], outer, inner);
    if (collective.kind == MESHC_ALL_TO_ALL)
      add.recvBlocked(recv[i], item.recvOuter, item.recvInner);
    else if (receivesBlocks)
      add.recvBlocked(recv[i], outer, inner);
    else
      add.recvPlain(recv[i], outer, inner);
  }
  return streams;
}
