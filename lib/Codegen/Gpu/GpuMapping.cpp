//===- GpuMapping.cpp - which thread does what of a kernel ----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Codegen/Gpu/GpuMapping.h"
#include "dialects/Nd/NdInterfaces.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace meshc::codegen {

/// Threads of an ordinary block.
static constexpr int64_t usualThreads = 256;
/// The least that a warp should find side by side in memory, in bytes.
static constexpr int64_t sectorBytes = 32;
/// What it had best find.
static constexpr int64_t cacheLineBytes = 128;

int64_t getWidestLanes(exec::KernelOp kernel) {
  int64_t ofShort = 0, ofOthers = 0;
  auto addBytes = [&](Value tensor) {
    nd::TensorType type = nd::getTensorType(tensor);
    bool isShort = type.getElementType().getIntOrFloatBitWidth() == 16;
    (isShort ? ofShort : ofOthers) +=
        type.getLocalBytes(nd::MeshAttr::of(kernel));
  };
  Block &body = kernel.getBody().front();
  llvm::for_each(body.getArguments(), addBytes);
  llvm::for_each(body.getTerminator()->getOperands(), addBytes);
  return ofShort > ofOthers ? 8 : 4;
}

LoopNest makeGpuNest(const LoopNest &nest) {
  LoopNest result = nest;
  // Threads keep the elements of a short row, and compute those of a long one
  // again: that costs less than a way through memory.
  result.kept.clear();
  if (nest.stages.empty() && nest.pointOutputs.empty()) {
    result.parallel.append(nest.reduce);
    result.reduce.clear();
    if (nest.lanes == LanesIn::Reduce)
      result.lanes = LanesIn::Parallel;
    else if (nest.lanes == LanesIn::Parallel && !nest.reduce.empty()) {
      // The lanes' loop stays the innermost.
      Loop last = nest.parallel.back();
      result.parallel.erase(result.parallel.begin() + nest.parallel.size() - 1);
      result.parallel.push_back(last);
    }
  }
  return result;
}

static int64_t countEntries(ArrayRef<Loop> loops) {
  int64_t count = 1;
  for (const Loop &loop : loops)
    count *= loop.size;
  return count;
}

static int64_t ceilTo2n(int64_t value) {
  return static_cast<int64_t>(llvm::bit_ceil<uint64_t>(value));
}

/// Whether the members of a group read neighbours in memory: along the lanes,
/// or along the innermost dim of the largest input.
static bool areStepsContiguous(exec::KernelOp kernel, const LoopNest &nest) {
  if (nest.lanes != LanesIn::Nothing)
    return nest.lanes == LanesIn::Reduce;
  exec::PlanAttr plan = kernel.getPlan();
  int64_t largest = 0;
  bool result = true;
  for (auto [input, order] :
       llvm::zip(kernel.getBody().getArguments(),
                 kernel.getInputOrders().getAsRange<ArrayAttr>())) {
    int64_t bytes =
        nd::getTensorType(input).getLocalBytes(nd::MeshAttr::of(kernel));
    if (bytes <= largest || order.empty())
      continue;
    largest = bytes;
    result = !llvm::is_contained(plan.getParallel(),
                                 cast<StringAttr>(order.getValue().back()));
  }
  return result;
}

namespace {
/// Registers of a thread, roughly, beside those for places.
struct Registers {
  int64_t sums;  ///< of the reductions
  int64_t steps; ///< what a step loads, computes and stores
};
} // namespace

/// A step's loads are all in flight before the first is used, and its outputs
/// computed before the first is stored; of long expressions, some operands wait
/// for the others.
static Registers countRegisters(exec::KernelOp kernel, const LoopNest &nest,
                                int64_t lanes) {
  constexpr int64_t opsPerOperand = 8;
  auto parallel = kernel.getPlan().getParallel();
  int64_t inputs =
      llvm::count_if(kernel.getBody().getArguments(), [&](Value input) {
        return llvm::any_of(
            nd::getTensorType(input).getDims(), [&](nd::DimAttr dim) {
              return !llvm::is_contained(parallel, dim.getName());
            });
      });
  int64_t outputs = 0, ops = 0, reductions = 0;
  for (unsigned walk = 0; walk < nest.walkOutputs.size(); ++walk) {
    outputs = std::max<int64_t>(outputs, nest.walkOutputs[walk].size());
    ops = std::max<int64_t>(ops, nest.countOps(kernel, walk));
  }
  for (const auto &stage : nest.stages)
    reductions = std::max<int64_t>(reductions, stage.size());
  return {lanes * reductions,
          lanes * std::max<int64_t>(inputs + outputs + ops / opsPerOperand, 1)};
}

/// Steps that a thread takes at once: as many as fit in registers.
static int64_t chooseUnroll(const Registers &registers) {
  constexpr int64_t registersPerThread = 80;
  int64_t steps = (registersPerThread - registers.sums) / registers.steps;
  return std::clamp<int64_t>(
      llvm::bit_floor<uint64_t>(std::max<int64_t>(steps, 1)), 1, 4);
}

/// The largest block: the more an element takes, the more registers a thread
/// needs of those that the block shares.
static int64_t getLargestBlock(exec::KernelOp kernel, const LoopNest &nest,
                               const Registers &registers, int64_t unroll) {
  constexpr int64_t registersPerBlock = 40960, registersForAddresses = 24;
  unsigned ops = 0;
  for (unsigned walk = 0; walk < nest.walkOutputs.size(); ++walk)
    ops = std::max(ops, nest.countOps(kernel, walk));
  int64_t threads = ops <= 8    ? maxThreads
                    : ops <= 24 ? maxThreads / 2
                                : usualThreads;
  int64_t each =
      registersForAddresses + registers.sums + unroll * registers.steps;
  while (threads > usualThreads && threads * each > registersPerBlock)
    threads /= 2;
  return threads;
}

/// A group's members are neighbours: a part of a warp, or some warps.
static void mapRows(GpuMapping &map, int64_t largestBlock,
                    const GpuOptions &options) {
  map.membersAreNeighbours = true;
  map.members = std::min(ceilTo2n(map.steps), warpSize);
  // A row of up to `unroll` steps for each thread stays in registers. Of one
  // that does not, a small block is as good, and others hide its barriers.
  int64_t wanted = map.steps <= largestBlock * map.unroll
                       ? llvm::divideCeil(map.steps, map.unroll)
                       : usualThreads;
  while (map.members < largestBlock &&
         (map.members < wanted ||
          (map.points * map.members < options.threadsToFill &&
           map.steps > map.members)))
    map.members *= 2;
  map.pointsPerBlock = std::max<int64_t>(usualThreads / 2 / map.members, 1);
}

/// Whether blocks may share points: there is one walk, and what the last block
/// writes at the end is nothing that others read in it.
static bool canShare(exec::KernelOp kernel, const LoopNest &nest) {
  return nest.stages.size() == 1 && !nest.needsLastWalk() &&
         llvm::none_of(getInPlacePairs(kernel), [&](auto pair) {
           Value input = kernel.getBody().getArgument(pair.first);
           return llvm::is_contained(nest.pointOutputs, pair.second) &&
                  nest.usesInWalk(kernel, 0, input);
         });
}

/// Neighbours are at neighbouring points; members that share them are a block's
/// rows of threads, as many as it takes to fill the GPU. Where other blocks may
/// help with that, a row of threads is wider and blocks are smaller.
static void mapColumns(GpuMapping &map, int64_t bytes, int64_t largestBlock,
                       bool isShared, const GpuOptions &options) {
  constexpr int64_t minSteps = 4;
  int64_t width =
      std::max<int64_t>((isShared ? cacheLineBytes : sectorBytes) / bytes, 1);
  if (isShared)
    largestBlock = std::min(largestBlock, 2 * usualThreads);
  while (map.members < largestBlock / width &&
         map.points * map.members < options.threadsToFill &&
         map.steps >= 2 * minSteps * map.members)
    map.members *= 2;
  map.pointsPerBlock = std::max(usualThreads / map.members, width);
}

GpuMapping mapPoints(int64_t points, const GpuOptions &options) {
  GpuMapping map;
  map.points = points;
  map.pointsPerBlock = usualThreads;
  while (map.pointsPerBlock > warpSize &&
         map.getTeams() < options.threadsToFill / maxThreads)
    map.pointsPerBlock /= 2;
  return map;
}

GpuMapping chooseMapping(exec::KernelOp kernel, const LoopNest &nest,
                         int64_t lanes, const GpuOptions &options) {
  GpuMapping map;
  map.points = countEntries(nest.parallel);
  map.steps = countEntries(nest.reduce);
  if (nest.lanes == LanesIn::Parallel)
    map.points /= lanes;
  else if (nest.lanes == LanesIn::Reduce)
    map.steps /= lanes;
  Registers registers = countRegisters(kernel, nest, lanes);
  map.unroll = chooseUnroll(registers);
  int64_t largestBlock = getLargestBlock(kernel, nest, registers, map.unroll);
  if (map.steps == 1)
    map.pointsPerBlock = usualThreads;
  else if (areStepsContiguous(kernel, nest))
    mapRows(map, largestBlock, options);
  else
    mapColumns(map, lanes * 16 / getWidestLanes(kernel), largestBlock,
               canShare(kernel, nest), options);
  // Many small blocks rather than few large ones, whole warps, and not many
  // more than there are points.
  while (map.getThreads() > 2 * warpSize && map.pointsPerBlock > 1 &&
         map.points * map.members < options.threadsToFill &&
         map.getTeams() < options.threadsToFill / maxThreads &&
         (map.membersAreNeighbours || map.members == 1))
    map.pointsPerBlock /= 2;
  while (map.pointsPerBlock > 1 && map.pointsPerBlock / 2 >= map.points)
    map.pointsPerBlock /= 2;
  while (map.getThreads() < warpSize)
    map.pointsPerBlock *= 2;
  constexpr int64_t maxSharers = 128;
  while (map.steps > 1 && map.sharers < maxSharers &&
         map.getBlocks() * map.getThreads() < options.threadsToFill &&
         map.steps >= 2 * options.leastSteps * map.getWorkers() &&
         canShare(kernel, nest))
    map.sharers *= 2;
  return map;
}

} // namespace meshc::codegen
