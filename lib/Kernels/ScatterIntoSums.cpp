//===- ScatterIntoSums.cpp - scatters add to what is there ----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/Ops/IndexingOps.h"
#include "dialects/Nd/Ops/PointwiseOps.h"
#include "dialects/Nd/TensorAttributes.h"
#include "lib/Kernels/Passes.h"

using namespace mlir;

namespace meshc::kernels {

#define GEN_PASS_DEF_SCATTERINTOSUMS
#include "lib/Kernels/Passes.h.inc"

/// The operand of the sum that is a scattered tensor without a table, for this
/// sum alone, of the sum's type; null if there is none. In 16 bits the
/// scattered tensor is rounded before the sum, and one op would not do that
/// [L2.7].
static nd::ScatterAddOp findScatter(nd::AddOp sum, unsigned operand) {
  auto scatter = sum->getOperand(operand).getDefiningOp<nd::ScatterAddOp>();
  bool fits = scatter && !scatter.getTable() && scatter->hasOneUse() &&
              scatter->getBlock() == sum->getBlock() &&
              scatter.getType() == sum.getType() &&
              sum->getOperand(1 - operand).getType() == sum.getType() &&
              !sum.getType().isShortFloat();
  return fits ? scatter : nd::ScatterAddOp();
}

namespace {
struct ScatterIntoSums : impl::ScatterIntoSumsBase<ScatterIntoSums> {
  static void rewrite(nd::AddOp sum) {
    for (unsigned operand : {0U, 1U}) {
      nd::ScatterAddOp scatter = findScatter(sum, operand);
      if (!scatter)
        continue;
      OpBuilder builder(sum);
      Location loc =
          FusedLoc::get(builder.getContext(), {sum.getLoc(), scatter.getLoc()});
      auto into = nd::ScatterAddOp::create(
          builder, loc, sum.getType(), scatter.getUpdates(),
          scatter.getIndices(), sum->getOperand(1 - operand),
          scatter.getOrder(), scatter.getDimAttr(), scatter.getAlongAttr());
      nd::copyName(sum, into);
      nd::copyClass(sum, into);
      nd::copyParameter(sum, into);
      sum.replaceAllUsesWith(into.getResult());
      sum.erase();
      scatter.erase();
      return;
    }
  }

  void runOnOperation() override {
    getOperation().walk([](Operation *op) {
      if (auto sum = dyn_cast<nd::AddOp>(op))
        rewrite(sum);
    });
  }
};
} // namespace

} // namespace meshc::kernels
