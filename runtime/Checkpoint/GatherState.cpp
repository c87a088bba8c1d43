//===- GatherState.cpp - the ranks' blocks as whole tensors ---------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Checkpoint/GatherState.h"

#include "runtime/Base/Parallel.h"
#include "runtime/Base/TensorBlock.h"
#include "runtime/Checkpoint/StridedCopy.h"
#include "runtime/Device/Device.h"

#include <algorithm>
#include <vector>

using namespace meshc::runtime;

/// Bytes of a tensor that rank 0 gathers at a time, if its rows allow it.
static constexpr int64_t sliceBytes = int64_t(16) << 20;

/// Bytes that justify a thread.
static constexpr int64_t grainBytes = int64_t(1) << 20;

int64_t meshc::runtime::stateBytes(const MeshcProgram &program) {
  int64_t bytes = 0;
  for (uint32_t i = 0; i < program.tensorCount; ++i)
    if (isState(program.tensors[i]))
      bytes += globalElements(program.tensors[i]) *
               sizeOf(typeOf(program.tensors[i]));
  return bytes;
}

/// The coordinates of `rank`, row-major over the axes.
static std::vector<int64_t> coordsOf(const MeshcProgram &program, int rank) {
  std::vector<int64_t> coords(program.axisCount);
  int64_t rest = rank;
  for (uint32_t i = program.axisCount; i-- > 0;) {
    coords[i] = rest % program.axes[i].size;
    rest /= program.axes[i].size;
  }
  return coords;
}

/// Of the ranks that hold the same block, the one that sends it: coordinate 0
/// on all axes that do not cut the tensor.
static bool isOwner(const MeshcProgram &program, const MeshcTensor &tensor,
                    const std::vector<int64_t> &coords) {
  std::vector<bool> cuts(program.axisCount);
  for (uint32_t i = 0; i < tensor.rank; ++i)
    for (uint32_t j = 0; j < tensor.dims[i].axisCount; ++j)
      cuts[tensor.dims[i].axes[j]] = true;
  for (uint32_t i = 0; i < program.axisCount; ++i)
    if (!cuts[i] && coords[i] != 0)
      return false;
  return true;
}

namespace {

/// The rows [begin, end) of a tensor's first dim. A tensor without dims is one
/// row.
struct Slice {
  int64_t begin, end;
};

/// How a memory lays out the elements of a box: the stride of each dim, in
/// elements, and where the box begins.
struct Order {
  std::vector<int64_t> strides;
  int64_t begin = 0;
};

/// The part of a rank's block that lies in a slice: a box, with its layout in
/// the block, in the slice, and on its own.
struct Part {
  std::vector<int64_t> sizes;
  Order inBlock, inSlice, packed;
  int64_t count = 0; ///< elements

  /// Whether a memory holds the box contiguously, in its row-major order.
  bool isPacked(const Order &order) const {
    for (size_t i = 0; i < sizes.size(); ++i)
      if (sizes[i] > 1 && order.strides[i] != packed.strides[i])
        return false;
    return true;
  }
  /// Uses all threads of the rank.
  void copy(const Order &from, const char *source, const Order &to,
            char *target, int64_t elementBytes) const {
    std::vector<CopyDim> dims;
    for (size_t i = 0; i < sizes.size(); ++i)
      dims.push_back({sizes[i], from.strides[i], to.strides[i]});
    const int64_t rows = sizes.empty() ? 1 : sizes[0];
    const int64_t grain =
        std::max<int64_t>(1, rows * grainBytes / (count * elementBytes));
    parallelFor(rows, grain, [&](int64_t begin, int64_t end) {
      std::vector<CopyDim> some = dims;
      int64_t sourceAt = from.begin, targetAt = to.begin;
      if (!some.empty()) {
        some[0].size = end - begin;
        sourceAt += begin * some[0].sourceStride;
        targetAt += begin * some[0].targetStride;
      }
      copyStrided(some, elementBytes, source + sourceAt * elementBytes,
                  target + targetAt * elementBytes);
    });
  }
};

} // namespace

static Part findPart(const MeshcProgram &program, const MeshcTensor &tensor,
                     const std::vector<int64_t> &coords, const Slice &slice) {
  Part part;
  if (!isOwner(program, tensor, coords))
    return part;
  part.sizes.resize(tensor.rank);
  for (Order *order : {&part.inBlock, &part.inSlice, &part.packed})
    order->strides.resize(tensor.rank);
  int64_t count = 1, global = 1;
  for (uint32_t i = tensor.rank; i-- > 0;) {
    const MeshcDim &dim = tensor.dims[i];
    auto [first, entries] = blockRange(program, dim, coords.data());
    int64_t begin = first, end = first + entries, base = 0;
    if (i == 0) {
      begin = std::max(begin, slice.begin);
      end = std::min(end, slice.end);
      base = slice.begin;
    }
    if (end <= begin)
      return {};
    part.sizes[i] = end - begin;
    part.inBlock.strides[i] = dim.localStride;
    part.inBlock.begin += (begin - first) * dim.localStride;
    part.inSlice.strides[i] = global;
    part.inSlice.begin += (begin - base) * global;
    part.packed.strides[i] = count;
    count *= end - begin;
    global *= dim.size;
  }
  part.count = count;
  return part;
}

/// Sends this rank's part of the slice to rank 0.
static void sendSlice(const Rank &rank, const MeshcTensor &tensor,
                      const char *block, const Slice &slice,
                      std::vector<char> &packed) {
  const int64_t bytes = sizeOf(typeOf(tensor));
  Part part = findPart(*rank.program, tensor, rank.mesh.coords(), slice);
  if (!part.count)
    return;
  const auto partBytes = static_cast<size_t>(part.count * bytes);
  if (part.isPacked(part.inBlock))
    return rank.communicator->send(block + part.inBlock.begin * bytes,
                                   partBytes, 0);
  packed.resize(partBytes);
  part.copy(part.inBlock, block, part.packed, packed.data(), bytes);
  rank.communicator->send(packed.data(), partBytes, 0);
}

/// Puts all ranks' parts of the slice into `whole`, on rank 0.
static void receiveSlice(const Rank &rank, const MeshcTensor &tensor,
                         const char *block, const Slice &slice,
                         std::vector<char> &packed, char *whole) {
  const int64_t bytes = sizeOf(typeOf(tensor));
  for (int from = 0; from < rank.communicator->size(); ++from) {
    Part part =
        findPart(*rank.program, tensor, coordsOf(*rank.program, from), slice);
    if (!part.count)
      continue;
    if (from == 0) {
      part.copy(part.inBlock, block, part.inSlice, whole, bytes);
      continue;
    }
    const auto partBytes = static_cast<size_t>(part.count * bytes);
    if (part.isPacked(part.inSlice)) {
      rank.communicator->receive(whole + part.inSlice.begin * bytes, partBytes,
                                 from);
      continue;
    }
    packed.resize(partBytes);
    rank.communicator->receive(packed.data(), partBytes, from);
    part.copy(part.packed, packed.data(), part.inSlice, whole, bytes);
  }
}

void meshc::runtime::gatherState(const Rank &rank, StateSink *sink) {
  const MeshcProgram &program = *rank.program;
  std::vector<char> packed;
  for (uint32_t i = 0; i < program.tensorCount; ++i) {
    const MeshcTensor &tensor = program.tensors[i];
    if (!isState(tensor) || globalElements(tensor) == 0)
      continue;
    const char *block = isOwner(program, tensor, rank.mesh.coords())
                            ? rank.device->read(tensor)
                            : nullptr;
    int64_t rows = tensor.rank ? tensor.dims[0].size : 1;
    int64_t rowBytes = globalElements(tensor) / rows * sizeOf(typeOf(tensor));
    int64_t step = std::max<int64_t>(1, sliceBytes / rowBytes);
    for (int64_t begin = 0; begin < rows; begin += step) {
      Slice slice{begin, std::min(rows, begin + step)};
      if (!sink) {
        sendSlice(rank, tensor, block, slice, packed);
        continue;
      }
      char *whole =
          sink->room(static_cast<size_t>((slice.end - slice.begin) * rowBytes));
      receiveSlice(rank, tensor, block, slice, packed, whole);
      sink->filled();
    }
  }
}
