//===- GpuKernel.cpp - kernels for GPUs -----------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Codegen/Gpu/GpuKernel.h"
#include "dialects/Nd/NdInterfaces.h"
#include "lib/Codegen/Gpu/GpuAttention.h"
#include "lib/Codegen/Gpu/GpuNestEmitter.h"
#include "lib/Codegen/Gpu/GpuParts.h"
#include "lib/Codegen/Gpu/GpuScatterEmitter.h"
#include "lib/Codegen/Gpu/GpuSortEmitter.h"
#include "lib/Codegen/InsertEmitter.h"
#include "lib/Codegen/KernelEntry.h"
#include "lib/Codegen/PrefixEmitter.h"
#include "lib/Codegen/SoleOp.h"
#include "lib/Codegen/SortEmitter.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace meshc::codegen {

/// Blocks of a grid along x, at most.
static constexpr int64_t maxBlocks = 2147483647;

/// The attribute that says how many threads a block has, along x, y and z.
static StringRef getThreadsAttrName() {
  return NVVM::NVVMDialect::getReqntidAttrName();
}

int64_t getBlockThreads(LLVM::LLVMFuncOp function) {
  return function->getAttrOfType<DenseI32ArrayAttr>(getThreadsAttrName())[0];
}

/// A function of the context and the buffers. What is read only, and not
/// written through another parameter, is said so.
static KernelEntry openFunction(exec::KernelOp kernel, OpBuilder &builder) {
  size_t inputCount = kernel.getInputOrders().size();
  size_t count = inputCount + kernel.getOutputOrders().size();
  auto pointer = LLVM::LLVMPointerType::get(kernel.getContext());
  SmallVector<Type> parameters(count + 1, pointer);
  KernelEntry entry;
  entry.function = LLVM::LLVMFuncOp::create(
      builder, kernel.getLoc(), kernel.getSymName(),
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(kernel.getContext()),
                                  parameters));
  entry.function->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(),
                          builder.getUnitAttr());
  auto pairs = getInPlacePairs(kernel);
  for (size_t parameter = 0; parameter <= count; ++parameter) {
    bool isShared = llvm::any_of(pairs, [&](auto pair) {
      return pair.first + 1 == parameter ||
             pair.second + inputCount + 1 == parameter;
    });
    if (isShared)
      continue;
    entry.function.setArgAttr(parameter,
                              LLVM::LLVMDialect::getNoAliasAttrName(),
                              builder.getUnitAttr());
    if (parameter <= inputCount)
      entry.function.setArgAttr(parameter,
                                LLVM::LLVMDialect::getReadonlyAttrName(),
                                builder.getUnitAttr());
  }
  builder.setInsertionPointToStart(entry.function.addEntryBlock(builder));
  entry.context = entry.function.getArgument(0);
  for (size_t buffer = 0; buffer < count; ++buffer)
    entry.buffers.push_back(entry.function.getArgument(buffer + 1));
  return entry;
}

static void setThreads(LLVM::LLVMFuncOp function, int64_t threads) {
  function->setAttr(
      getThreadsAttrName(),
      Builder(function.getContext())
          .getDenseI32ArrayAttr({static_cast<int32_t>(threads), 1, 1}));
}

static FailureOr<KernelLaunch> makeLaunch(exec::KernelOp kernel, int64_t blocks,
                                          int64_t threads, GpuFault *fault) {
  if (blocks > maxBlocks) {
    if (fault)
      *fault = GpuFault::Input;
    return kernel.emitOpError()
           << "needs " << blocks << " blocks of " << threads
           << " threads; a GPU takes up to " << maxBlocks
           << ": cut one of its dims over more ranks";
  }
  KernelLaunch launch;
  launch.blocks = blocks;
  launch.threads = threads;
  return launch;
}

/// Emits the function around code that gives the mapping it is made for.
static FailureOr<KernelLaunch> emitFunction(
    exec::KernelOp kernel, ModuleOp module, int64_t lanes, GpuFault *fault,
    llvm::function_ref<GpuMapping(KernelElements &, LLVM::LLVMFuncOp)> code) {
  GpuMapping map;
  auto fill = [&](KernelElements &emitter, const KernelEntry &entry) {
    map = code(emitter, entry.function);
    setThreads(entry.function, map.getThreads());
  };
  if (failed(emitKernelFunction(
          kernel, module, lanes,
          [&](OpBuilder &builder) { return openFunction(kernel, builder); },
          fill)))
    return failure();
  return makeLaunch(kernel, map.getBlocks(), map.getThreads(), fault);
}

/// The most lanes that divide the loop's `extent`: every vector is whole, and
/// aligned.
static int64_t chooseGpuLanes(exec::KernelOp kernel, int64_t extent) {
  return chooseLanes(kernel,
                     std::min(getWidestLanes(kernel), extent & -extent));
}

static FailureOr<KernelLaunch> emitNest(exec::KernelOp kernel, ModuleOp module,
                                        const GpuOptions &options,
                                        GpuFault *fault) {
  FailureOr<LoopNest> planned = LoopNest::of(kernel, getInPlacePairs(kernel));
  if (failed(planned))
    return failure();
  LoopNest nest = makeGpuNest(*planned);
  auto code = [&](KernelElements &emitter, LLVM::LLVMFuncOp function) {
    GpuMapping map = chooseMapping(kernel, nest, emitter.getLanes(), options);
    GpuGroup group(emitter, function, map);
    GpuNestEmitter(kernel, nest, map, emitter, group).emit();
    return map;
  };
  return emitFunction(kernel, module,
                      chooseGpuLanes(kernel, nest.getLaneExtent()), fault,
                      code);
}

static FailureOr<KernelLaunch> emitScatter(exec::KernelOp kernel,
                                           ModuleOp module,
                                           const GpuOptions &options,
                                           GpuFault *fault) {
  FailureOr<ScatterShape> shape = ScatterShape::of(kernel);
  if (failed(shape))
    return failure();
  if (!shape->summed.empty() && !shape->op.getOrder())
    return kernel.emitOpError() << "needs an order of the indices of '"
                                << shape->op->getName() << "' on GPUs";
  auto code = [&](KernelElements &emitter, LLVM::LLVMFuncOp function) {
    GpuScatterEmitter scatter(*shape, emitter, options);
    GpuGroup group(emitter, function, scatter.getMapping());
    scatter.emit(group);
    return scatter.getMapping();
  };
  return emitFunction(kernel, module, chooseGpuLanes(kernel, shape->laneExtent),
                      fault, code);
}

/// A thread has a row, or as many rows as there are lanes.
template <typename Shape, typename Emitter>
static FailureOr<KernelLaunch> emitRows(exec::KernelOp kernel, ModuleOp module,
                                        const GpuOptions &options,
                                        GpuFault *fault) {
  FailureOr<Shape> shape = Shape::of(kernel);
  if (failed(shape))
    return failure();
  auto code = [&](KernelElements &emitter, LLVM::LLVMFuncOp function) {
    Emitter rows(*shape, emitter);
    GpuMapping map = mapPoints(rows.getUnits(), options);
    GpuGroup group(emitter, function, map);
    rows.emitUnit(group.getPoint(), map.points % map.pointsPerBlock != 0);
    return map;
  };
  return emitFunction(kernel, module,
                      chooseGpuLanes(kernel, shape->rows.getWidestLanes()),
                      fault, code);
}

/// A thread has an entry, or a block has a row.
static FailureOr<KernelLaunch> emitSort(exec::KernelOp kernel, ModuleOp module,
                                        const GpuOptions &options,
                                        GpuFault *fault) {
  FailureOr<SortShape> shape = SortShape::of(kernel);
  if (failed(shape))
    return failure();
  auto sortRows = [&](KernelElements &emitter, LLVM::LLVMFuncOp function) {
    GpuSortEmitter sort(*shape, emitter);
    GpuGroup group(emitter, function, sort.getMapping());
    sort.emit(group);
    return sort.getMapping();
  };
  auto sortEntries = [&](KernelElements &emitter, LLVM::LLVMFuncOp function) {
    SortEmitter sort(*shape, emitter);
    GpuMapping map = mapPoints(sort.getPoints(), options);
    GpuGroup group(emitter, function, map);
    sort.emitPoint(group.getPoint(), map.points % map.pointsPerBlock != 0);
    return map;
  };
  if (GpuSortEmitter::isBetterFor(*shape))
    return emitFunction(kernel, module, /*lanes=*/1, fault, sortRows);
  return emitFunction(kernel, module, /*lanes=*/1, fault, sortEntries);
}

static FailureOr<KernelLaunch> emitAllParts(exec::KernelOp kernel,
                                            ModuleOp module,
                                            const GpuOptions &options,
                                            GpuFault *fault) {
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  KernelEntry entry = openFunction(kernel, builder);
  FailureOr<PartsGrid> grid = emitParts(kernel, builder, entry, options);
  if (failed(grid)) {
    entry.function.erase();
    return failure();
  }
  LLVM::ReturnOp::create(builder, kernel.getLoc(), ValueRange());
  setThreads(entry.function, grid->threads);
  return makeLaunch(kernel, grid->blocks, grid->threads, fault);
}

/// Attention: a block of threads has a tile.
static FailureOr<KernelLaunch> emitTiles(exec::KernelOp kernel, ModuleOp module,
                                         GpuFault *fault) {
  FailureOr<AttentionPlan> plan = AttentionPlan::of(kernel);
  if (failed(plan))
    return failure();
  auto code = [&](KernelElements &emitter, LLVM::LLVMFuncOp function) {
    GpuMapping map = plan->getMapping();
    GpuGroup group(emitter, function, map);
    emitAttention(*plan, emitter, group, function.getArguments().drop_front());
    return map;
  };
  return emitFunction(kernel, module, 1, fault, code);
}

FailureOr<KernelLaunch> emitGpuKernel(exec::KernelOp kernel, ModuleOp module,
                                      const GpuOptions &options,
                                      GpuFault *fault) {
  if (kernel.getParts())
    return emitAllParts(kernel, module, options, fault);
  if (exec::getAttention(kernel))
    return emitTiles(kernel, module, fault);
  if (getSoleOp<nd::ScatterAddOp>(kernel))
    return emitScatter(kernel, module, options, fault);
  if (getSoleOp<nd::InsertOpInterface>(kernel))
    return emitRows<InsertShape, InsertEmitter>(kernel, module, options, fault);
  if (getSoleOp<nd::PrefixOpInterface>(kernel))
    return emitRows<PrefixShape, PrefixEmitter>(kernel, module, options, fault);
  if (getSoleOp<nd::SortOpInterface>(kernel))
    return emitSort(kernel, module, options, fault);
  return emitNest(kernel, module, options, fault);
}

} // namespace meshc::codegen
