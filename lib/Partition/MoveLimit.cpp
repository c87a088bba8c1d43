//===- MoveLimit.cpp - how readily axes move to other dims ----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Partition/MoveLimit.h"
#include "mlir/IR/Builders.h"
#include <cmath>

using namespace mlir;

namespace meshc::partition {

static constexpr llvm::StringLiteral moveShareName = "spmd.move_share",
                                     refusedShareName = "spmd.refused_share";

static void set(ModuleOp module, StringRef name, double share) {
  Builder builder(module.getContext());
  module->setAttr(name, builder.getF64FloatAttr(share));
}

static std::optional<double> get(ModuleOp module, StringRef name) {
  auto share = module->getAttrOfType<FloatAttr>(name);
  if (!share || !(share.getValueAsDouble() >= 0))
    return std::nullopt;
  return share.getValueAsDouble();
}

void setMoveShare(ModuleOp module, double share) {
  set(module, moveShareName, share);
}

MoveLimit readMoveLimit(ModuleOp module) {
  MoveLimit limit;
  limit.share = get(module, moveShareName).value_or(limit.share);
  return limit;
}

void setRefusedShare(ModuleOp module, const MoveLimit &limit) {
  module->removeAttr(refusedShareName);
  if (std::isfinite(limit.refused))
    set(module, refusedShareName, limit.refused);
}

std::optional<double> takeRefusedShare(ModuleOp module) {
  std::optional<double> share = get(module, refusedShareName);
  module->removeAttr(moveShareName);
  module->removeAttr(refusedShareName);
  return share;
}

} // namespace meshc::partition
