//===- HostKernel.cpp - loops of kernels for CPUs -------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Codegen/Host/HostKernel.h"
#include "dialects/Nd/NdInterfaces.h"
#include "dialects/Nd/Ops/IndexingOps.h"
#include "lib/Codegen/Host/HostCall.h"
#include "lib/Codegen/Host/HostNestEmitter.h"
#include "lib/Codegen/Host/HostScatterEmitter.h"
#include "lib/Codegen/InsertEmitter.h"
#include "lib/Codegen/PrefixEmitter.h"
#include "lib/Codegen/SoleOp.h"
#include "lib/Codegen/SortEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <cmath>

using namespace mlir;

namespace meshc::codegen {

/// Work below which a piece of a kernel is not worth another thread, in the
/// unit of `getWork`: a few microseconds.
static constexpr double workPerPiece = 48 * 1024;

/// A rough measure of the kernel's time: an addition, a quarter of a division
/// or so of an exponential, four bytes moved count one each.
static double getWork(exec::KernelOp kernel) {
  nd::MeshAttr mesh = nd::MeshAttr::of(kernel);
  Block &body = kernel.getBody().front();
  double work = 0;
  Operation *result = body.getTerminator()->getOperand(0).getDefiningOp();
  Value table = nd::getChangedTable(result);
  auto addBytes = [&](Value tensor) {
    // Mostly in place, so that only the entries of the updates are written.
    if (table && (tensor == table || tensor.getDefiningOp() == result))
      return;
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
static int64_t chooseUnroll(exec::KernelOp kernel, const LoopNest &nest) {
  if (nest.stages.empty())
    return 1;
  unsigned ops = 0;
  for (unsigned walk = 0; walk <= nest.stages.size(); ++walk)
    ops = std::max(ops, nest.countOps(kernel, walk));
  int64_t unroll = ops <= 6 ? 4 : ops <= 12 ? 2 : 1;
  // Columns: the more of a row is read at once, the better for the caches.
  return nest.lanes == LanesIn::Parallel ? 2 * unroll : unroll;
}

KernelEntry openHostKernel(exec::KernelOp kernel, OpBuilder &builder,
                           StringRef name, ArrayRef<StringAttr> streams) {
  auto pointer = LLVM::LLVMPointerType::get(kernel.getContext());
  Type number = builder.getI64Type();
  SmallVector<Type> arguments = {pointer, pointer, number, number};
  arguments.append(streams.size(), builder.getI32Type());
  auto type = LLVM::LLVMFunctionType::get(
      LLVM::LLVMVoidType::get(kernel.getContext()), arguments);
  KernelEntry entry;
  entry.function = LLVM::LLVMFuncOp::create(builder, kernel.getLoc(), name,
                                            type, LLVM::Linkage::Internal);
  builder.setInsertionPointToStart(entry.function.addEntryBlock(builder));
  entry.context = entry.function.getArgument(0);
  for (auto [index, stream] : llvm::enumerate(streams))
    entry.streams[stream] = entry.function.getArgument(4 + index);
  return entry;
}

void loadBuffers(exec::KernelOp kernel, KernelEntry &entry,
                 OpBuilder &builder) {
  Location loc = kernel.getLoc();
  auto pointer = LLVM::LLVMPointerType::get(kernel.getContext());
  size_t count =
      kernel.getInputOrders().size() + kernel.getOutputOrders().size();
  for (size_t buffer = 0; buffer < count; ++buffer) {
    Value slot = LLVM::GEPOp::create(
        builder, loc, pointer, pointer, entry.function.getArgument(1),
        ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(buffer)});
    auto load = LLVM::LoadOp::create(builder, loc, pointer, slot, 8);
    load.setInvariant(true);
    entry.buffers.push_back(load);
  }
}

namespace {
/// What a kernel's function is called, and the streams that it is given.
struct FunctionHead {
  StringRef name;
  ArrayRef<StringAttr> streams;
};
} // namespace

/// Emits the function around code for units [begin, end).
static LogicalResult emitFunction(
    exec::KernelOp kernel, ModuleOp module, int64_t lanes, FunctionHead head,
    llvm::function_ref<void(KernelElements &, Value begin, Value end)> code) {
  return emitKernelFunction(
      kernel, module, lanes,
      [&](OpBuilder &builder) {
        KernelEntry entry =
            openHostKernel(kernel, builder, head.name, head.streams);
        loadBuffers(kernel, entry, builder);
        return entry;
      },
      [&](KernelElements &emitter, KernelEntry entry) {
        auto toIndex = [&](unsigned argument) -> Value {
          return arith::IndexCastOp::create(
              emitter.builder, emitter.loc, emitter.builder.getIndexType(),
              entry.function.getArgument(argument));
        };
        Value begin = toIndex(2);
        code(emitter, begin, toIndex(3));
      });
}

/// Emits a kernel of element ops and reductions; gives the number of units.
static FailureOr<int64_t> emitNest(exec::KernelOp kernel, ModuleOp module,
                                   int64_t lanes, FunctionHead head) {
  FailureOr<LoopNest> planned = LoopNest::of(kernel, getInPlacePairs(kernel));
  if (failed(planned))
    return failure();
  lanes = chooseLanes(kernel, std::min(lanes, planned->getLaneExtent()));
  int64_t extent = 0;
  auto code = [&](KernelElements &emitter, Value begin, Value end) {
    LoopNest nest = *planned;
    int64_t unroll = 1;
    if (emitter.getLanes() > 1)
      unroll = chooseUnroll(kernel, nest);
    else
      nest.lanes = LanesIn::Nothing;
    HostGrid grid = chooseGrid(nest, emitter.getLanes() * unroll);
    HostNestEmitter(kernel, nest, grid, emitter, unroll).emit(begin, end);
    extent = grid.extent;
  };
  if (failed(emitFunction(kernel, module, lanes, head, code)))
    return failure();
  return extent;
}

static FailureOr<int64_t> emitScatter(exec::KernelOp kernel, ModuleOp module,
                                      int64_t lanes, FunctionHead head) {
  FailureOr<ScatterShape> shape = ScatterShape::of(kernel);
  if (failed(shape))
    return failure();
  lanes = chooseLanes(kernel, std::min(lanes, shape->laneExtent));
  auto code = [&](KernelElements &emitter, Value begin, Value end) {
    HostScatterEmitter(*shape, emitter).emit(begin, end);
  };
  if (failed(emitFunction(kernel, module, lanes, head, code)))
    return failure();
  return shape->entries;
}

/// A unit of work is a row, or as many rows as there are lanes.
template <typename Shape, typename Emitter>
static FailureOr<int64_t> emitRows(exec::KernelOp kernel, ModuleOp module,
                                   int64_t lanes, FunctionHead head) {
  FailureOr<Shape> shape = Shape::of(kernel);
  if (failed(shape))
    return failure();
  lanes = chooseLanes(kernel, std::min(lanes, shape->rows.getWidestLanes()));
  int64_t units = 0;
  auto code = [&](KernelElements &emitter, Value begin, Value end) {
    Emitter rows(*shape, emitter);
    units = rows.getUnits();
    rows.emitUnits(begin, end);
  };
  if (failed(emitFunction(kernel, module, lanes, head, code)))
    return failure();
  return units;
}

/// A unit of work is a row.
static FailureOr<int64_t> emitSort(exec::KernelOp kernel, ModuleOp module,
                                   FunctionHead head) {
  FailureOr<SortShape> shape = SortShape::of(kernel);
  if (failed(shape))
    return failure();
  int64_t rows = 0;
  auto code = [&](KernelElements &emitter, Value begin, Value end) {
    SortEmitter sort(*shape, emitter);
    rows = sort.getRows();
    sort.emitRows(begin, end);
  };
  if (failed(emitFunction(kernel, module, /*lanes=*/1, head, code)))
    return failure();
  return rows;
}

static FailureOr<int64_t> emitCode(exec::KernelOp kernel, ModuleOp module,
                                   int64_t lanes, FunctionHead head) {
  if (getSoleOp<nd::ScatterAddOp>(kernel))
    return emitScatter(kernel, module, lanes, head);
  if (getSoleOp<nd::InsertOpInterface>(kernel))
    return emitRows<InsertShape, InsertEmitter>(kernel, module, lanes, head);
  if (getSoleOp<nd::PrefixOpInterface>(kernel))
    return emitRows<PrefixShape, PrefixEmitter>(kernel, module, lanes, head);
  if (getSoleOp<nd::SortOpInterface>(kernel))
    return emitSort(kernel, module, head);
  return emitNest(kernel, module, lanes, head);
}

FailureOr<KernelLaunch> emitHostKernel(exec::KernelOp kernel, ModuleOp module,
                                       int64_t lanes, StringRef name,
                                       ArrayRef<StringAttr> streams) {
  FunctionHead head{name.empty() ? kernel.getSymName() : name, streams};
  if (isHostCall(kernel)) {
    emitHostCall(kernel, module, head.name);
    return KernelLaunch{1, 1};
  }
  FailureOr<int64_t> extent = emitCode(kernel, module, lanes, head);
  if (failed(extent))
    return failure();
  double pieces = std::max(1.0, getWork(kernel) / workPerPiece);
  auto grain = static_cast<int64_t>(std::ceil(*extent / pieces));
  return KernelLaunch{*extent, std::clamp<int64_t>(grain, 1, *extent)};
}

} // namespace meshc::codegen
