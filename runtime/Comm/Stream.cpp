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

using namespace meshc;
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

void Stream::append(void *base, const ElementBox &box) {
  if (box.size() == 0) // where it begins may be behind the buffer
    return;
  ElementBox flat = box.flat();
  for (int64_t o = 0; o < flat.outer; ++o)
    append(static_cast<char *>(base) +
               (flat.offset + o * flat.outerStride) * bytesOfElement,
           flat.rows, flat.length, flat.rowStride);
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

static Failure contradiction(uint32_t number, const ItemBlocks &item) {
  auto text = [](const BlockedBuffer &side) {
    return std::to_string(side.outer) + " x " + std::to_string(side.entries) +
           " x " + std::to_string(side.inner);
  };
  return Failure(ExitCode::Internal,
                 "item " + std::to_string(number) + " of a collective sends " +
                     text(item.getSend()) + " elements and receives " +
                     text(item.getRecv()));
}

int meshc::runtime::getSenderOf(const MeshcCollective &collective,
                                const Group &group) {
  return static_cast<int>(
      getSender(*collective.permutation, group.axes, group.index));
}

int meshc::runtime::getReceiverOf(const MeshcCollective &collective,
                                  const Group &group) {
  return static_cast<int>(
      getReceiver(*collective.permutation, group.axes, group.index));
}

CollectiveStreams meshc::runtime::makeStreams(const MeshcCollective &collective,
                                              const Group &group, int index,
                                              void *const *send,
                                              void *const *recv) {
  auto type = static_cast<MeshcType>(collective.type);
  bool sendsBlocks = collective.kind == MESHC_REDUCE_SCATTER ||
                     collective.kind == MESHC_ALL_TO_ALL;
  bool receivesBlocks = collective.kind == MESHC_ALL_GATHER ||
                        collective.kind == MESHC_ALL_TO_ALL;
  if (collective.kind == MESHC_PERMUTE &&
      !(collective.permutation &&
        isValidPermutation(*collective.permutation, group.axes)))
    throw Failure(ExitCode::Internal,
                  "a permute does not say which rank sends to which");
  CollectiveStreams streams;
  streams.send.assign(sendsBlocks ? group.size() : 1, Stream(type));
  streams.recv.assign(receivesBlocks ? group.size() : 1, Stream(type));
  for (uint32_t i = 0; i < collective.itemCount; ++i) {
    ItemBlocks item(collective.kind, collective.items[i], group.axes);
    if (!item.isValid())
      throw contradiction(i, item);
    for (size_t p = 0; p < streams.send.size(); ++p)
      streams.send[p].append(send[i], item.getSent(index, p));
    for (size_t p = 0; p < streams.recv.size(); ++p)
      streams.recv[p].append(recv[i], item.getReceived(p, index));
    streams.sendSize += item.getSendSize();
    streams.longest += item.getBlockSize();
  }
  return streams;
}
