//===- Traffic.cpp - bytes that collectives move --------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Spmd/Traffic.h"

using namespace mlir;

namespace meshc::spmd {

llvm::SmallVector<AxisTraffic> getRingTraffic(CollectiveKind kind,
                                              ArrayRef<StringAttr> axes,
                                              double wholeBytes,
                                              nd::MeshAttr mesh) {
  if (kind == CollectiveKind::Permute) {
    llvm::SmallVector<AxisTraffic> traffic;
    for (StringAttr axis : axes)
      traffic.push_back({axis, axis == axes.front() ? wholeBytes : 0});
    return traffic;
  }
  double passes = kind == CollectiveKind::AllReduce ? 2 : 1;
  llvm::SmallVector<AxisTraffic> traffic(axes.size());
  double rest = wholeBytes;
  for (size_t i = axes.size(); i-- > 0;) {
    double size = mesh.getAxisSize(axes[i]);
    traffic[i] = {axes[i], passes * rest * (size - 1) / size};
    rest /= size;
  }
  return traffic;
}

double getRingBytes(CollectiveKind kind, ArrayRef<StringAttr> axes,
                    double wholeBytes, nd::MeshAttr mesh) {
  double bytes = 0;
  for (const AxisTraffic &level : getRingTraffic(kind, axes, wholeBytes, mesh))
    bytes += level.bytes;
  return bytes;
}

} // namespace meshc::spmd
