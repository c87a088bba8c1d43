//===- BoundSizes.cpp - what a rank stores fits into its address space ----===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/Ops/LoopOps.h"
#include "dialects/Nd/TensorAttributes.h"
#include "dialects/Nd/TensorSizes.h"
#include "lib/Schedule/Passes.h"

using namespace mlir;

namespace meshc::schedule {

#define GEN_PASS_DEF_BOUNDSIZES
#include "lib/Schedule/Passes.h.inc"

namespace {
struct BoundSizes : impl::BoundSizesBase<BoundSizes> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    mesh = nd::MeshAttr::of(function);
    if (function.isDeclaration())
      return;
    auto result = function.walk<WalkOrder::PreOrder>([&](Operation *op) {
      for (Region &region : op->getRegions())
        for (Block &block : region)
          if (isa<func::FuncOp, nd::ScanOp>(op))
            for (BlockArgument argument : block.getArguments())
              if (failed(add(argument)))
                return WalkResult::interrupt();
      for (Value value : op->getResults())
        if (failed(add(value)))
          return WalkResult::interrupt();
      // What is in the regions of other ops is not in memory.
      return isa<func::FuncOp, nd::ScanOp>(op) ? WalkResult::advance()
                                               : WalkResult::skip();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }

private:
  LogicalResult add(Value value);

  nd::MeshAttr mesh;
  double bytes = 0; ///< of all values of the function
};
} // namespace

LogicalResult BoundSizes::add(Value value) {
  auto type = dyn_cast<nd::TensorType>(value.getType());
  if (!type)
    return success();
  int64_t count = type.getLocalElementCount(mesh);
  StringAttr name = nd::TensorAttributes::of(value).getName();
  std::string text = name ? "'" + name.str() + "'" : "a value";
  if (count > nd::maxStoredElements)
    return emitError(value.getLoc())
           << text << " would have " << count
           << " elements on each rank, and a rank stores at most 2**48 of a "
              "tensor; cut it over more ranks, or make its dims smaller";
  // Offsets in the arena.
  bytes += static_cast<double>(type.getLocalBytes(mesh));
  if (bytes > 0x1p60)
    return emitError(value.getLoc())
           << "the values of '" << getOperation().getName() << "' up to "
           << text
           << " have more than 2**60 bytes on each rank; cut them over more "
              "ranks, or make their dims smaller";
  return success();
}

} // namespace meshc::schedule
