//===- Recorder.cpp - when a device carries out its orders ----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Device/Recorder.h"

#include "meshc/CollectiveBlocks.h"
#include "meshc/Epilogues.h"
#include "runtime/Base/TensorBlock.h"
#include "runtime/Comm/Stream.h"
#include "runtime/Device/Rank.h"

#include <chrono>

using namespace meshc;
using namespace meshc::runtime;

int64_t meshc::runtime::traceClock() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

TracedCall meshc::runtime::describeKernel(const MeshcKernel &kernel) {
  TracedCall call;
  call.kind = CallKind::Kernel;
  call.name = kernel.name;
  return call;
}

TracedCall meshc::runtime::describeProduct(const MeshcGemm &gemm,
                                           uint64_t number, uint32_t epilogue) {
  TracedCall call;
  call.kind = CallKind::Product;
  call.number = number;
  call.epilogue = epilogue;
  if (gemm.batch > 1)
    call.name = std::to_string(gemm.batch) + " of ";
  call.name += std::to_string(gemm.m) + " x " + std::to_string(gemm.n) + " x " +
               std::to_string(gemm.k) + ' ' +
               nameOf(static_cast<MeshcType>(gemm.type));
  if (const EpilogueTraits *traits = findEpilogue(epilogue))
    call.name += std::string(" + ") + traits->text;
  auto size = [](int64_t rows, int64_t columns) {
    return static_cast<double>(rows) * static_cast<double>(columns);
  };
  auto batch = static_cast<double>(gemm.batch);
  call.flops = 2 * batch * size(gemm.m, gemm.n) * static_cast<double>(gemm.k);
  auto bytes = static_cast<double>(sizeOf(static_cast<MeshcType>(gemm.type)));
  auto bytesC = static_cast<double>(sizeOf(static_cast<MeshcType>(gemm.typeC)));
  call.bytes =
      batch * (bytes * (size(gemm.m, gemm.k) + size(gemm.k, gemm.n)) +
               bytesC * size(gemm.m, gemm.n) * (gemm.accumulate ? 2 : 1));
  return call;
}

/// The total size in the ring formulas, without padding of the blocks.
static double countWhole(const ItemBlocks &item, const Group &group) {
  if (!item.sendsBlocks() || !item.receivesBlocks())
    return static_cast<double>(item.getSend().size());
  double sent = 0; // to itself, too
  for (int p = 0; p < group.size(); ++p)
    sent += static_cast<double>(item.getSent(group.index, p).size());
  return sent;
}

TracedCall meshc::runtime::describeCollective(const MeshcCollective &collective,
                                              const Rank &rank) {
  TracedCall call;
  call.kind = CallKind::Collective;
  call.number = collective.site;
  if (collective.site < rank.program->siteCount)
    call.name = rank.program->sites[collective.site].description;
  const Group &group = rank.mesh.group(collective.axes);
  double ranks = group.size(), elements = 0;
  for (uint32_t i = 0; i < collective.itemCount; ++i)
    elements += countWhole(
        ItemBlocks(collective.kind, collective.items[i], group.axes), group);
  double share = (ranks - 1) / ranks;
  if (collective.kind == MESHC_ALL_REDUCE)
    share *= 2;
  else if (collective.kind == MESHC_PERMUTE) {
    int receiver = getReceiverOf(collective, group);
    share = receiver == group.index || receiver == nobody ? 0 : 1;
  }
  call.bytes =
      elements * share *
      static_cast<double>(sizeOf(static_cast<MeshcType>(collective.type)));
  return call;
}

void StepOrders::begin(bool isRecordedStep) {
  next = nextProduct = 0;
  isRecorded = isRecordedStep;
}

uint32_t StepOrders::peek() const {
  auto found = known.find(next);
  return found == known.end() ? static_cast<uint32_t>(recording.calls.size())
                              : found->second;
}

void StepOrders::skip(const MeshcLoop &loop, int64_t iterations) {
  auto times = static_cast<uint64_t>(iterations);
  next += times * static_cast<uint64_t>(loop.launches + loop.products +
                                        loop.epilogues + loop.collectives);
  nextProduct += times * static_cast<uint64_t>(loop.products);
  recording.callsVary = true;
}
