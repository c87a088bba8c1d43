//===- SumWindows.cpp - scatters of windows become sums -------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/Interfaces/AffineIndex.h"
#include "dialects/Nd/Ops/IndexingOps.h"
#include "dialects/Nd/Ops/PointwiseOps.h"
#include "dialects/Nd/Ops/ReductionOps.h"
#include "dialects/Nd/Ops/SourceOps.h"
#include "dialects/Nd/TensorAttributes.h"
#include "lib/Kernels/Passes.h"

using namespace mlir;

namespace meshc::kernels {

#define GEN_PASS_DEF_SUMWINDOWS
#include "lib/Kernels/Passes.h.inc"

using nd::DimAttr;
using nd::TensorType;

/// A sum reads as many entries as the scatter, but for what lies beyond the
/// border: so many times more are too many.
static constexpr int64_t mostReads = 2;

namespace {
/// Indices by which each entry of the result gets at most one entry of each
/// window.
struct Windows {
  nd::AffineIndex index;
  DimAttr place;                      ///< its step is 1 or -1
  llvm::SmallVector<DimAttr> entries; ///< the other dims of the steps
};
} // namespace

/// The windows that the op scatters; nothing if it scatters something else, or
/// if ranks hold blocks of what the windows span.
static std::optional<Windows> findWindows(nd::ScatterAddOp scatter) {
  TensorType updates = nd::getTensorType(scatter.getUpdates());
  TensorType indices = nd::getTensorType(scatter.getIndices());
  TensorType result = scatter.getType();
  if (scatter.getTable() || scatter.getOrder() || scatter.getAlong() ||
      updates.isPartial() || result.isPartial() ||
      !result.getDim(scatter.getDim()).getAxes().empty())
    return std::nullopt;
  std::optional<nd::AffineIndex> index =
      nd::findAffineIndex(scatter.getIndices());
  if (!index)
    return std::nullopt;
  Windows windows{*index, {}, {}};
  for (DimAttr dim : indices.getDims()) {
    const int64_t step = index->getStep(dim.getName());
    if (step == 0 || result.hasDim(dim.getName()) || !dim.getAxes().empty())
      return std::nullopt;
    const bool mayBePlace = step == 1 || step == -1;
    if (mayBePlace &&
        (!windows.place || dim.getSize() > windows.place.getSize())) {
      if (windows.place)
        windows.entries.push_back(windows.place);
      windows.place = dim;
    } else {
      windows.entries.push_back(dim);
    }
  }
  const bool fits =
      windows.place && !windows.entries.empty() &&
      result.getSize(scatter.getDim()) <= mostReads * windows.place.getSize();
  return fits ? std::optional(std::move(windows)) : std::nullopt;
}

/// i32: the index along the dim times a number.
static Value makeMultiple(OpBuilder &builder, Location loc, DimAttr dim,
                          int64_t factor) {
  auto type = TensorType::get(builder.getI32Type(), {dim});
  Value iota = nd::IotaOp::create(builder, loc, type);
  if (factor == 1)
    return iota;
  auto number = nd::ConstantOp::create(
      builder, loc, TensorType::get(builder.getI32Type(), {}),
      static_cast<double>(factor));
  return nd::MulOp::create(builder, loc, iota, number);
}

static void rewrite(nd::ScatterAddOp scatter, const Windows &windows) {
  OpBuilder builder(scatter);
  Location loc = scatter.getLoc();
  TensorType result = scatter.getType();
  // place = (index - constant - the other steps) / its step
  const int64_t sign = windows.index.getStep(windows.place.getName());
  Value place =
      makeMultiple(builder, loc, result.getDim(scatter.getDim()), sign);
  for (DimAttr entry : windows.entries)
    place = nd::AddOp::create(
        builder, loc, place,
        makeMultiple(builder, loc, entry,
                     -sign * windows.index.getStep(entry.getName())));
  if (windows.index.constant != 0)
    place = nd::AddOp::create(
        builder, loc, place,
        nd::ConstantOp::create(
            builder, loc, TensorType::get(builder.getI32Type(), {}),
            static_cast<double>(-sign * windows.index.constant)));
  llvm::SmallVector<DimAttr> dims(result.getDims());
  dims.append(windows.entries);
  llvm::SmallVector<Attribute> summed;
  for (DimAttr entry : windows.entries)
    summed.push_back(entry.getName());
  auto gathered = nd::GatherOp::create(builder, loc, scatter.getUpdates(),
                                       place, windows.place.getName());
  gathered.getResult().setType(result.withDims(dims));
  auto sum = nd::ReduceSumOp::create(builder, loc, gathered,
                                     builder.getArrayAttr(summed));
  sum.getResult().setType(result);
  for (Operation *made : {gathered.getOperation(), sum.getOperation()})
    nd::copyClass(scatter, made);
  nd::copyName(scatter, sum);
  nd::copyParameter(scatter, sum);
  scatter.replaceAllUsesWith(sum.getResult());
  scatter.erase();
}

namespace {
struct SumWindows : impl::SumWindowsBase<SumWindows> {
  void runOnOperation() override {
    getOperation().walk([](nd::ScatterAddOp scatter) {
      if (std::optional<Windows> windows = findWindows(scatter))
        rewrite(scatter, *windows);
    });
  }
};
} // namespace

} // namespace meshc::kernels
