//===- HostKernel.cpp - loops of kernels for CPUs -------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Codegen/Host/HostKernel.h"
#include "dialects/Nd/NdOps.h"
#include "lib/Codegen/Host/HostNest.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace meshc::codegen {

/// Work below which a piece of a kernel is not worth another thread, in the
/// unit of `getWork`: a few microseconds.
static constexpr double kWorkPerPiece = 48 * 1024;

/// A rough measure of the kernel's time: an addition, a quarter of a division
/// or so of an exponential, four bytes moved count one each.
static double getWork(exec::KernelOp kernel) {
  nd::MeshAttr mesh = nd::MeshAttr::of(kernel);
  Block &body = kernel.getBody().front();
  double work = 0;
  auto addBytes = [&](Value tensor) {
    work += nd::getTensorType(tensor).getLocalBytes(mesh) / 4.0;
  };
  llvm::for_each(body.getArguments(), addBytes);
  llvm::for_each(body.getTerminator()->getOperands(), addBytes);
  for (Operation &op : body)
    if (auto named = dyn_cast<nd::NamedOpInterface>(op)) {
      nd::OpCost cost = named.getCost();
      work += cost.flops + 8 * cost.transcendentals;
    }
  return work;
}

/// Vectors handled at once where lanes run along a loop of a kernel with
/// reductions: enough to hide the latency of adding where bodies are short.
static int64_t chooseUnroll(exec::KernelOp kernel, const KernelShape &shape) {
  if (shape.stages.empty())
    return 1;
  auto ops = llvm::count_if(kernel.getBody().front(), [](Operation &op) {
    return op.getNumOperands() != 0;
  });
  int64_t unroll = ops <= 6 ? 4 : ops <= 12 ? 2 : 1;
  // Columns: the more of a row is read at once, the better for the caches.
  return shape.lanes == LanesIn::Parallel ? 2 * unroll : unroll;
}

/// Elements in a vector of this kernel: at most `lanes`, at most the loop's
/// size, as many as its ops can give; 1 for scalar code.
static int64_t chooseLanes(exec::KernelOp kernel, const KernelShape &shape,
                           int64_t lanes) {
  if (shape.lanes == LanesIn::Nothing)
    return 1;
  const auto &loops =
      shape.lanes == LanesIn::Reduce ? shape.reduce : shape.parallel;
  lanes =
      std::min<int64_t>(lanes, llvm::bit_floor<uint64_t>(loops.back().size));
  while (lanes > 1 && !supportsLanes(kernel, lanes))
    lanes /= 2;
  return lanes;
}

namespace {
/// One try at a kernel with a number of lanes.
struct Attempt {
  LLVM::LLVMFuncOp function;
  HostGrid grid;
  Operation *withoutLanes, *withoutElement;
};
} // namespace

static Attempt tryEmit(exec::KernelOp kernel, ModuleOp module,
                       const KernelShape &shape, int64_t lanes,
                       ArrayRef<std::pair<unsigned, unsigned>> inPlace) {
  Location loc = kernel.getLoc();
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  auto pointer = LLVM::LLVMPointerType::get(kernel.getContext());
  Type number = builder.getI64Type();
  auto type =
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(kernel.getContext()),
                                  {pointer, pointer, number, number});
  auto function = LLVM::LLVMFuncOp::create(builder, loc, kernel.getSymName(),
                                           type, LLVM::Linkage::Internal);
  builder.setInsertionPointToStart(function.addEntryBlock(builder));
  int64_t unroll = lanes > 1 ? chooseUnroll(kernel, shape) : 1;
  HostGrid grid = chooseGrid(shape, lanes * unroll);
  KernelEmitter emitter(builder, kernel, function.getArgument(0),
                        function.getArgument(1), lanes, inPlace);
  Value begin = arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                           function.getArgument(2));
  Value end = arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                         function.getArgument(3));
  HostNest(kernel, shape, grid, emitter, unroll).emit(begin, end);
  LLVM::ReturnOp::create(builder, loc, ValueRange());
  return {function, grid, emitter.withoutLanes, emitter.withoutElement};
}

FailureOr<HostLaunch> emitHostKernel(exec::KernelOp kernel, ModuleOp module,
                                     int64_t lanes) {
  auto inPlace = getInPlacePairs(kernel);
  FailureOr<KernelShape> shape = KernelShape::of(kernel, inPlace);
  if (failed(shape))
    return failure();
  lanes = chooseLanes(kernel, *shape, lanes);
  if (lanes == 1)
    shape->lanes = LanesIn::Nothing;
  Attempt attempt = tryEmit(kernel, module, *shape, lanes, inPlace);
  if (attempt.withoutLanes && lanes > 1) {
    attempt.function.erase();
    shape->lanes = LanesIn::Nothing;
    attempt = tryEmit(kernel, module, *shape, 1, inPlace);
  }
  if (Operation *op = attempt.withoutLanes ? attempt.withoutLanes
                                           : attempt.withoutElement) {
    attempt.function.erase();
    return op->emitOpError() << "has no element at the place where kernel '"
                             << kernel.getSymName() << "' wants one";
  }
  int64_t extent = attempt.grid.extent;
  double pieces = std::max(1.0, getWork(kernel) / kWorkPerPiece);
  auto grain = static_cast<int64_t>(std::ceil(extent / pieces));
  return HostLaunch{extent, std::clamp<int64_t>(grain, 1, extent)};
}

} // namespace meshc::codegen
