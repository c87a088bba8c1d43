//===- TieForms.cpp - forms at the border of loops ------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Partition/TieForms.h"

using namespace mlir;

namespace meshc::partition {

std::optional<DesiredSharding> TieForms::getDesired(OpResult result) const {
  auto known = desired.find(result);
  return known == desired.end() ? readDesired(result) : known->second;
}

void TieForms::setDesired(OpResult result, nd::TensorType type,
                          spmd::AxisList open) {
  desired[result] = DesiredSharding(type, std::move(open));
}

void TieForms::addSharedAxis(Operation *loop, StringAttr axis) {
  spmd::AxisList &axes = shared[loop];
  if (!llvm::is_contained(axes, axis))
    axes.push_back(axis);
  spmd::sortByMesh(axes, nd::MeshAttr::of(loop));
}

} // namespace meshc::partition
