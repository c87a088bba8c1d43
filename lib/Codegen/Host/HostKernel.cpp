//===- HostKernel.cpp - loops of kernels for CPUs -------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Codegen/Host/HostKernel.h"
#include "dialects/Nd/NdOps.h"
#include "lib/Codegen/Host/HostNest.h"
#include "lib/Codegen/Host/HostScatter.h"
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
  unsigned ops = 0;
  for (unsigned walk = 0; walk <= shape.stages.size(); ++walk)
    ops = std::max(ops, shape.countOps(kernel, walk));
  int64_t unroll = ops <= 6 ? 4 : ops <= 12 ? 2 : 1;
  // Columns: the more of a row is read at once, the better for the caches.
  return shape.lanes == LanesIn::Parallel ? 2 * unroll : unroll;
}

/// Entries of the loop along which the lanes run; 1 where there is none.
static int64_t getLaneExtent(const KernelShape &shape) {
  switch (shape.lanes) {
  case LanesIn::Nothing:
    return 1;
  case LanesIn::Parallel:
    return shape.parallel.back().size;
  case LanesIn::Reduce:
    return shape.reduce.back().size;
  }
  llvm_unreachable("all groups are above");
}

/// Elements in a vector of this kernel: at most `lanes`, at most the loop's
/// `extent`, as many as its ops can give; 1 for scalar code.
static int64_t chooseLanes(exec::KernelOp kernel, int64_t extent,
                           int64_t lanes) {
  lanes = std::min<int64_t>(lanes, llvm::bit_floor<uint64_t>(extent));
  while (lanes > 1 && !supportsLanes(kernel, lanes))
    lanes /= 2;
  return lanes;
}

namespace {
/// Emits kernels' functions with some number of lanes.
class FunctionEmitter {
public:
  FunctionEmitter(exec::KernelOp kernel, ModuleOp module)
      : kernel(kernel), module(module), inPlace(getInPlacePairs(kernel)) {}

  /// Code for units [begin, end) by the emitter; gives the number of all units.
  using Code = llvm::function_ref<int64_t(KernelEmitter &emitter, Value begin,
                                          Value end)>;
  /// Emits the function with `lanes`, or with fewer where ops turn out to have
  /// no lanes; gives the number of units.
  FailureOr<int64_t> emit(int64_t lanes, Code code);

  exec::KernelOp kernel;
  ModuleOp module;
  SmallVector<std::pair<unsigned, unsigned>> inPlace;
};
} // namespace

FailureOr<int64_t> FunctionEmitter::emit(int64_t lanes, Code code) {
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
  KernelEmitter emitter(builder, kernel, function.getArgument(0),
                        function.getArgument(1), lanes, inPlace);
  Value begin = arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                           function.getArgument(2));
  Value end = arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                         function.getArgument(3));
  int64_t extent = code(emitter, begin, end);
  LLVM::ReturnOp::create(builder, loc, ValueRange());
  if (!emitter.withoutLanes && !emitter.withoutElement)
    return extent;
  function.erase();
  if (emitter.withoutLanes && lanes > 1)
    return emit(1, code);
  Operation *op =
      emitter.withoutLanes ? emitter.withoutLanes : emitter.withoutElement;
  return op->emitOpError() << "has no element at the place where kernel '"
                           << kernel.getSymName() << "' wants one";
}

/// Emits a kernel of element ops and reductions.
static FailureOr<int64_t> emitNest(FunctionEmitter &function, int64_t lanes) {
  exec::KernelOp kernel = function.kernel;
  FailureOr<KernelShape> planned = KernelShape::of(kernel, function.inPlace);
  if (failed(planned))
    return failure();
  lanes = chooseLanes(kernel, getLaneExtent(*planned), lanes);
  return function.emit(
      lanes, [&](KernelEmitter &emitter, Value begin, Value end) {
        KernelShape shape = *planned;
        int64_t unroll = 1;
        if (emitter.getLanes() > 1)
          unroll = chooseUnroll(kernel, shape);
        else
          shape.lanes = LanesIn::Nothing;
        HostGrid grid = chooseGrid(shape, emitter.getLanes() * unroll);
        HostNest(kernel, shape, grid, emitter, unroll).emit(begin, end);
        return grid.extent;
      });
}

static FailureOr<int64_t> emitScatter(FunctionEmitter &function,
                                      int64_t lanes) {
  exec::KernelOp kernel = function.kernel;
  if (failed(HostScatter::verify(kernel)))
    return failure();
  lanes = chooseLanes(kernel, HostScatter::getLaneExtent(kernel), lanes);
  return function.emit(lanes,
                       [&](KernelEmitter &emitter, Value begin, Value end) {
                         HostScatter(kernel, emitter).emit(begin, end);
                         return HostScatter::getExtent(kernel);
                       });
}

FailureOr<HostLaunch> emitHostKernel(exec::KernelOp kernel, ModuleOp module,
                                     int64_t lanes) {
  FunctionEmitter function(kernel, module);
  FailureOr<int64_t> extent = getScatter(kernel) ? emitScatter(function, lanes)
                                                 : emitNest(function, lanes);
  if (failed(extent))
    return failure();
  double pieces = std::max(1.0, getWork(kernel) / kWorkPerPiece);
  auto grain = static_cast<int64_t>(std::ceil(*extent / pieces));
  return HostLaunch{*extent, std::clamp<int64_t>(grain, 1, *extent)};
}

} // namespace meshc::codegen
