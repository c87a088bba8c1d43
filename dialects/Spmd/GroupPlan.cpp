//===- GroupPlan.cpp - splits and merges of uneven blocks -----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Spmd/GroupPlan.h"
#include "dialects/Spmd/Sharding.h"

namespace meshc::spmd {

using nd::TensorType;

nd::Segment getCommonSegment(int64_t a, int64_t b) {
  return {0, 0, 0, std::min(a, b)};
}

std::optional<GroupPlan> planGroups(const nd::Factor &factor,
                                    TensorType operand, TensorType result,
                                    nd::MeshAttr mesh) {
  llvm::StringRef from = factor.operandDims[0].getValue();
  llvm::StringRef to = factor.resultDims[0].getValue();
  int64_t ranks = mesh.getProduct(getAxesOf(operand, from));
  auto groups = static_cast<int64_t>(llvm::alignTo(factor.size, ranks));
  auto widen = [&](TensorType type, llvm::StringRef dim) {
    return resize(type, dim, type.getSize(dim) / factor.size * groups);
  };
  GroupPlan plan = {widen(operand, from), widen(result, to)};
  auto getWindow = [&](TensorType type, TensorType into, llvm::StringRef dim) {
    return planWindow(
        {type}, into, dim,
        {{getCommonSegment(type.getSize(dim), into.getSize(dim))}}, mesh);
  };
  auto before = getWindow(operand, plan.operand, from);
  auto after = getWindow(plan.result, result, to);
  if (!before || !after)
    return std::nullopt;
  plan.bytes = before->bytes + after->bytes;
  return plan;
}

} // namespace meshc::spmd
