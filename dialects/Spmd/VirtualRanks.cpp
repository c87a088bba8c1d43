//===- VirtualRanks.cpp - blocks of all ranks in one process --------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Spmd/VirtualRanks.h"

using namespace mlir;

namespace meshc::spmd {

using nd::HostTensor;
using nd::MeshAttr;

int64_t getRankAt(ArrayRef<int64_t> coordinates, MeshAttr mesh) {
  int64_t rank = 0;
  for (auto [axis, coordinate] : llvm::zip(mesh.getAxes(), coordinates))
    rank = rank * axis.getSize() + coordinate;
  return rank;
}

llvm::SmallVector<int64_t> getGroup(int64_t rank, ArrayRef<StringAttr> axes,
                                    MeshAttr mesh) {
  llvm::SmallVector<int64_t> coordinates = mesh.getCoordinates(rank);
  llvm::SmallVector<int64_t> group;
  for (int64_t i = 0, count = mesh.getProduct(axes); i < count; ++i) {
    int64_t rest = i;
    for (StringAttr axis : llvm::reverse(axes)) {
      int64_t size = mesh.getAxisSize(axis);
      coordinates[mesh.getAxisIndex(axis)] = rest % size;
      rest /= size;
    }
    group.push_back(getRankAt(coordinates, mesh));
  }
  return group;
}

int64_t getPositionInGroup(int64_t rank, ArrayRef<StringAttr> axes,
                           MeshAttr mesh) {
  llvm::SmallVector<int64_t> coordinates = mesh.getCoordinates(rank);
  int64_t position = 0;
  for (StringAttr axis : axes)
    position = position * mesh.getAxisSize(axis) +
               coordinates[mesh.getAxisIndex(axis)];
  return position;
}

void copyBox(const HostTensor &source, ArrayRef<int64_t> from,
             HostTensor &target, ArrayRef<int64_t> to,
             ArrayRef<int64_t> sizes) {
  llvm::SmallVector<int64_t> fromStrides = source.getStrides();
  llvm::SmallVector<int64_t> toStrides = target.getStrides();
  int64_t fromStart = 0, toStart = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    fromStart += from[i] * fromStrides[i];
    toStart += to[i] * toStrides[i];
  }
  nd::forEachIndex(sizes, {fromStrides, toStrides},
                   [&](ArrayRef<int64_t>, ArrayRef<int64_t> offsets) {
                     target.data[toStart + offsets[1]] =
                         source.data[fromStart + offsets[0]];
                   });
}

} // namespace meshc::spmd
