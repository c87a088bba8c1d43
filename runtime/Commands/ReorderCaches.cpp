//===- ReorderCaches.cpp - caches that follow their texts -----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Commands/ReorderCaches.h"

#include "runtime/Base/TensorBlock.h"
#include "runtime/Checkpoint/StridedCopy.h"

#include <cstring>
#include <string_view>

using namespace meshc::runtime;

namespace {
/// One cache whose texts change places.
class CacheOrder {
public:
  CacheOrder(Session &session, const MeshcTensor &cache, uint32_t textDim,
             const std::vector<int32_t> &parents)
      : session(session), cache(cache), texts(cache.dims[textDim]),
        parents(parents), bytes(sizeOf(typeOf(cache))) {
    for (uint32_t i = 0; i < cache.rank; ++i)
      if (i != textDim)
        others.push_back({cache.dims[i].localSize, cache.dims[i].localStride,
                          cache.dims[i].localStride});
    textNumber = textDim;
  }

  void run();

private:
  /// The entries of `dim` that the rank of these coordinates has.
  BlockRange rangeOf(const MeshcDim &dim, const int64_t *coords) const {
    return blockRange(session.program(), dim, coords);
  }
  bool hasSameOthers(const int64_t *coords) const;
  /// Takes from the block of the rank of these coordinates what this rank's
  /// texts need.
  void take(const char *block, const int64_t *coords, char *target) const;

  Session &session;
  const MeshcTensor &cache;
  const MeshcDim &texts;
  const std::vector<int32_t> &parents;
  int64_t bytes; ///< of an element
  uint32_t textNumber;
  std::vector<CopyDim> others; ///< the other dims
};
} // namespace

bool CacheOrder::hasSameOthers(const int64_t *coords) const {
  for (uint32_t i = 0; i < cache.rank; ++i) {
    if (i == textNumber)
      continue;
    // An empty block may begin where another one does.
    const BlockRange other = rangeOf(cache.dims[i], coords),
                     own = rangeOf(cache.dims[i], session.coords());
    if (other.first != own.first || other.count != own.count)
      return false;
  }
  return true;
}

void CacheOrder::take(const char *block, const int64_t *coords,
                      char *target) const {
  const BlockRange other = rangeOf(texts, coords),
                   own = rangeOf(texts, session.coords());
  for (int64_t i = 0; i < own.count; ++i) {
    int64_t from = parents[static_cast<size_t>(own.first + i)] - other.first;
    if (from >= 0 && from < other.count)
      copyStrided(others, bytes, block + from * texts.localStride * bytes,
                  target + i * texts.localStride * bytes);
  }
}

void CacheOrder::run() {
  auto size = static_cast<size_t>(localElements(cache) * bytes);
  std::vector<char> block(size), reordered(size);
  auto readOwn = [&](std::vector<char> &into) {
    std::memcpy(into.data(), session.device().read(cache), size);
  };
  readOwn(reordered);
  if (texts.axisCount == 0) {
    readOwn(block);
    take(block.data(), session.coords(), reordered.data());
  } else {
    Communicator &communicator = session.communicator();
    std::vector<int64_t> axes;
    for (uint32_t i = 0; i < session.program().axisCount; ++i)
      axes.push_back(session.program().axes[i].size);
    for (int rank = 0; rank < communicator.size(); ++rank) {
      if (rank == communicator.rank())
        readOwn(block);
      communicator.broadcast(block.data(), size, rank);
      MeshView view(axes, rank);
      if (hasSameOthers(view.coords().data()))
        take(block.data(), view.coords().data(), reordered.data());
    }
  }
  session.device().write(cache, [&](char *target) {
    std::memcpy(target, reordered.data(), size);
  });
}

void meshc::runtime::reorderCaches(Session &session,
                                   const std::vector<int32_t> &parents) {
  const MeshcProgram &program = session.program();
  std::string_view textDim;
  for (uint32_t i = 0; i < program.tensorCount; ++i)
    if (program.tensors[i].role == MESHC_TOKEN)
      textDim = program.tensors[i].dims[0].name;
  for (uint32_t i = 0; i < program.tensorCount; ++i) {
    const MeshcTensor &cache = program.tensors[i];
    if (cache.role != MESHC_CACHE)
      continue;
    // A cache without the texts, such as of positions alone, is the same for
    // all.
    for (uint32_t dim = 0; dim < cache.rank; ++dim)
      if (cache.dims[dim].name == textDim)
        CacheOrder(session, cache, dim, parents).run();
  }
}
