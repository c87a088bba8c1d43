//===- Stream.h - elements of a collective, as one sequence -----*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The items of a collective, blocked or plain, become one sequence of elements
/// per member of the group. Algorithms move and reduce ranges of sequences
/// without knowing about items and blocks.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_COMM_STREAM_H
#define MESHC_RUNTIME_COMM_STREAM_H

#include "meshc/CollectiveBlocks.h"
#include "runtime/Comm/MeshView.h"
#include "runtime/Comm/Reduction.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace meshc::runtime {

/// A sequence of elements stored as runs of equal length at equal distances, or
/// several such sequences, one after the other. Owns no elements.
class Stream {
public:
  explicit Stream(MeshcType type = MESHC_F32)
      : elementType(type), bytesOfElement(elementBytes(type)) {}

  /// Appends `runs` runs of `runLength` elements; run r starts r·stride
  /// elements after `base`.
  void append(void *base, int64_t runs, int64_t runLength, int64_t stride);
  /// Appends the elements of a box in the buffer at `base`.
  void append(void *base, const ElementBox &box);
  /// Appends all of `other`, which has the same type.
  void append(const Stream &other);

  MeshcType type() const { return elementType; }
  /// The number of elements.
  int64_t size() const { return count; }

  /// The stream of elements [begin, begin + n).
  Stream slice(int64_t begin, int64_t n) const;

  /// Copies elements [begin, begin + n) to contiguous memory, or from it.
  void read(int64_t begin, int64_t n, void *to) const;
  void write(int64_t begin, int64_t n, const void *from) const;

  /// A position in the stream from which contiguous elements can be read.
  class Cursor {
  public:
    Cursor(const Stream &stream, int64_t begin);
    char *data() const;
    /// Contiguous elements from here; 0 only at the end of the stream.
    int64_t left() const;
    /// Advances by 0 ≤ n ≤ left() elements.
    void advance(int64_t n);

  private:
    const Stream *stream;
    size_t segment = 0;
    int64_t run = 0, offset = 0;
  };

private:
  struct Segment {
    char *base;
    int64_t runs, runLength, stride;
  };

  MeshcType elementType;
  size_t bytesOfElement;
  std::vector<Segment> segments;
  int64_t count = 0;
};

/// The size of the longest stream.
inline int64_t longestOf(const std::vector<Stream> &streams) {
  int64_t size = 0;
  for (const Stream &stream : streams)
    size = std::max(size, stream.size());
  return size;
}

/// How much of [begin, begin + n) lies within a stream.
inline int64_t countIn(const Stream &stream, int64_t begin, int64_t n) {
  return std::max<int64_t>(0, std::min(n, stream.size() - begin));
}

/// Calls `visit(begin, n)` for pieces of at most `limit` of `size` elements, in
/// their order. No elements are one empty piece, so that ranks still meet.
template <class Visit>
void forPieces(int64_t size, int64_t limit, Visit visit) {
  int64_t begin = 0;
  do {
    int64_t n = std::min(limit, size - begin);
    visit(begin, n);
    begin += n;
  } while (begin < size);
}

/// Copies `from` to `to`, which have the same type and size; does nothing if
/// they are the same memory.
void copyStream(const Stream &from, const Stream &to);

/// Reduces streams of one size, in their order, into every destination (see
/// reduce()). All sources have one type, and all destinations have one type.
void reduceStreams(MeshcReduction reduction, const std::vector<Stream> &sources,
                   const std::vector<Stream> &destinations);

/// The streams of a collective: for each member of the group (or just one, if
/// the buffer is plain) what is sent to it and what is received from it.
/// Only elements that exist belong to them: they may have different sizes, and
/// those of other ranks may be different again.
struct CollectiveStreams {
  std::vector<Stream> send, recv;
  // The same on all ranks of the group, with padding:
  int64_t sendSize = 0; ///< elements of the buffers that a rank sends from
  int64_t longest = 0;  ///< no rank sends more to another one
};

/// Of a PERMUTE: the member of the group from which this rank receives, and the
/// one to which it sends.
int getSenderOf(const MeshcCollective &collective, const Group &group);
int getReceiverOf(const MeshcCollective &collective, const Group &group);

/// Reads `collective`'s items at `send` and `recv`, the buffers of member
/// `index` of `group`. ALL_REDUCE and PERMUTE give one stream for each
/// direction, REDUCE_SCATTER one for recv, ALL_GATHER one for send. Throws
/// Failure (Internal) if the items' sizes contradict each other, or a PERMUTE
/// has no valid permutation.
CollectiveStreams makeStreams(const MeshcCollective &collective,
                              const Group &group, int index, void *const *send,
                              void *const *recv);

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_COMM_STREAM_H
