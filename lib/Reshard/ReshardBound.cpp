//===- ReshardBound.cpp - bytes that no reshard avoids --------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Reshard/ReshardBound.h"
#include "llvm/ADT/EquivalenceClasses.h"

using namespace mlir;

namespace meshc::reshard {

using nd::DimAttr;
using nd::MeshAttr;
using nd::TensorType;
using spmd::AxisList;
using spmd::getFurtherPartial;
using spmd::getUsedAxes;

static double getElementBytes(TensorType type) {
  return llvm::divideCeil(type.getElementType().getIntOrFloatBitWidth(),
                          unsigned(8));
}

/// Bytes of a rank's block without padding, on the average of all ranks.
static double getMeanBytes(TensorType type, MeshAttr mesh) {
  double bytes = getElementBytes(type);
  for (DimAttr dim : type.getDims())
    bytes *= static_cast<double>(dim.getSize()) /
             static_cast<double>(mesh.getProduct(dim.getAxes()));
  return bytes;
}

/// What a rank has of its new block already: on average at most this part.
/// Along a dim the smaller block may lie in the larger one. Where axes of one
/// size cut both, one after the other, it does so only on ranks that have the
/// same coordinate on both axes. No block has padding.
static double getOverlap(TensorType from, TensorType to, MeshAttr mesh) {
  double overlap = 1;
  llvm::EquivalenceClasses<StringAttr> equal;
  for (auto [source, target] : llvm::zip(from.getDims(), to.getDims())) {
    overlap *= std::min(
        1.0, static_cast<double>(mesh.getProduct(target.getAxes())) /
                 static_cast<double>(mesh.getProduct(source.getAxes())));
    for (auto [a, b] : llvm::zip(source.getAxes(), target.getAxes())) {
      int64_t size = mesh.getAxisSize(a);
      if (size != mesh.getAxisSize(b))
        break;
      if (a == b || equal.isEquivalent(a, b))
        continue;
      equal.unionSets(a, b);
      overlap /= static_cast<double>(size);
    }
  }
  return overlap;
}

/// Of a reshard that ends no sum.
static double getLeastOfMove(TensorType from, TensorType to, MeshAttr mesh) {
  double wanted = getMeanBytes(to, mesh);
  if (from.hasPadding(mesh) || to.hasPadding(mesh))
    return std::max(0.0, wanted - from.getLocalBytes(mesh));
  return wanted * (1 - getOverlap(from, to, mesh));
}

/// How many ranks have a term of each sum that ends.
static double countTerms(TensorType from, TensorType to, MeshAttr mesh) {
  return static_cast<double>(mesh.getProduct(getFurtherPartial(from, to)));
}

double getLeastBytes(TensorType from, TensorType to, MeshAttr mesh) {
  double wanted = getMeanBytes(to, mesh);
  double terms = countTerms(from, to, mesh);
  if (terms == 1)
    return getLeastOfMove(from, to, mesh);
  // First a rank may drop what the target cuts off over unused axes.
  double held = getMeanBytes(from, mesh);
  AxisList used = getUsedAxes(from);
  for (DimAttr dim : to.getDims())
    for (StringAttr axis : dim.getAxes())
      if (!llvm::is_contained(used, axis))
        held /= static_cast<double>(mesh.getAxisSize(axis));
  // What is summed may be of f32, and what comes of it of 16 bits.
  double rounded = held * getElementBytes(to) / getElementBytes(from);
  return held * (terms - 1) / terms + std::max(0.0, wanted - rounded / terms);
}

double getLeastBytesOverAll(TensorType from, TensorType to, MeshAttr mesh) {
  double terms = countTerms(from, to, mesh);
  if (terms == 1)
    return getLeastOfMove(from, to, mesh);
  // Of k + m - 2 messages for each element of each sum, m - 1 and one more are
  // what ranks have in the end.
  double sums = getMeanBytes(to.getGlobal(), mesh) * getElementBytes(from) /
                getElementBytes(to) *
                static_cast<double>(mesh.getProduct(to.getPartialAxes()));
  return getMeanBytes(to, mesh) +
         sums * (terms - 2) / static_cast<double>(mesh.getRankCount());
}

} // namespace meshc::reshard
