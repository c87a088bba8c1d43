//===- CostModel.cpp - seconds of computations and collectives ------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Cost/CostModel.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>

using namespace mlir;

namespace meshc::cost {

static double getRate(const Rates &rates, Type element) {
  std::string name;
  llvm::raw_string_ostream(name) << element;
  auto rate = rates.find(name);
  return rate == rates.end() ? rates.at("f32") : rate->second;
}

CostModel::CostModel(const Machine &machine, nd::MeshAttr mesh)
    : machine(machine), mesh(mesh) {
  auto ranks = static_cast<double>(
      std::min(machine.nodeRanks, mesh ? mesh.getRankCount() : 1));
  if (machine.nodeCores > 0) {
    cores = static_cast<double>(machine.nodeCores) / ranks;
    // Threads of a rank are whole cores.
    cores = cores > 1 ? std::floor(cores) : cores;
  }
  memoryLimit = machine.nodeMemory / ranks;
  cacheBytes = machine.cacheBytes / ranks;
}

/// On so many cores of the rank.
double CostModel::getMemorySeconds(const MemoryTraffic &traffic,
                                   double cores) const {
  double memory = machine.memory * cores;
  if (memoryLimit > 0)
    memory = std::min(memory, memoryLimit);
  double seconds = traffic.memory / memory;
  if (traffic.cache > 0)
    seconds += traffic.cache / std::max(machine.cacheMemory * cores, memory);
  return seconds;
}

/// Of a call that computes for so many seconds on one core.
double CostModel::getCallSeconds(double computing,
                                 const MemoryTraffic &traffic) const {
  return getCallSeconds(
      computing, computing / (cores * machine.threadEfficiency), traffic);
}

/// Of a call that computes for so many seconds on one core, and on all cores of
/// the rank.
double CostModel::getCallSeconds(double alone, double together,
                                 const MemoryTraffic &traffic) const {
  if (cores <= 1)
    return machine.launch +
           std::max(alone / cores, getMemorySeconds(traffic, cores));
  alone = std::max(alone, getMemorySeconds(traffic, 1));
  together = machine.threadStart +
             std::max(together, getMemorySeconds(traffic, cores));
  return machine.launch + std::min(alone, together);
}

double CostModel::getProductSeconds(double flops, const MemoryTraffic &traffic,
                                    Type element) const {
  return getCallSeconds(flops / getRate(machine.products, element), traffic);
}

double CostModel::getKernelSeconds(const nd::OpCost &cost,
                                   const MemoryTraffic &traffic,
                                   Type element) const {
  return getCallSeconds(cost.flops / getRate(machine.kernels, element) +
                            cost.transcendentals / machine.functions,
                        traffic);
}

/// On a GPU (lib/Codegen/Gpu/GpuSortEmitter.h). Of long rows, all are sorted at
/// the same time: a block of threads counts and moves the entries of one, for
/// each digit. Of others, each entry has a thread, which compares it with all
/// entries of its row.
double CostModel::getDeviceSortSeconds(const nd::SortWork &work) const {
  constexpr double longRow = 1024, mostEntries = 1 << 20;
  constexpr double stepsOfEntry = 2 * 8; // by eight digits
  double entries = work.rows * work.entries;
  if (work.entries > longRow && entries <= mostEntries)
    return stepsOfEntry * work.entries / machine.sorting;
  // A comparison loads and orders an entry. Alone, it takes some 35 cycles.
  constexpr double operationsOfComparison = 16, secondsOfComparison = 2e-8;
  return std::max(entries * work.entries * operationsOfComparison /
                      machine.kernels.at("f32"),
                  work.entries * secondsOfComparison);
}

double CostModel::getSortSeconds(const nd::SortWork &work,
                                 const MemoryTraffic &traffic) const {
  if (machine.nodeCores == 0)
    return getCallSeconds(getDeviceSortSeconds(work), traffic);
  double row = work.getHeapSteps() / machine.sorting;
  return getCallSeconds(row * work.rows,
                        row * std::ceil(work.rows / std::max(cores, 1.0)),
                        traffic);
}

const Link &CostModel::getLink(StringAttr axis) const {
  int64_t reach = mesh.getAxisSize(axis);
  int64_t index = mesh.getAxisIndex(axis);
  for (nd::AxisAttr later : mesh.getAxes().drop_front(index + 1))
    reach *= later.getSize();
  // The axis is one of groups of `reach` neighbours.
  bool isInNodes = mesh.getRankCount() <= machine.nodeRanks ||
                   machine.nodeRanks % reach == 0;
  return isInNodes ? machine.node : machine.network;
}

double CostModel::getFastestBandwidth() const {
  double fastest = 0;
  for (nd::AxisAttr axis : mesh.getAxes())
    fastest = std::max(fastest, getLink(axis.getName()).bandwidth);
  return fastest;
}

reshard::ByteCosts CostModel::getByteCosts() const {
  double fastest = getFastestBandwidth();
  reshard::ByteCosts costs;
  bool differ = false;
  for (nd::AxisAttr axis : mesh.getAxes()) {
    costs[axis.getName()] = fastest / getLink(axis.getName()).bandwidth;
    differ |= getLink(axis.getName()).bandwidth != fastest;
  }
  return differ ? costs : reshard::ByteCosts();
}

double CostModel::getPointCost() const {
  double slowest = std::numeric_limits<double>::infinity();
  for (nd::AxisAttr axis : mesh.getAxes())
    slowest = std::min(slowest, getLink(axis.getName()).bandwidth);
  double efficiency = cores > 1 ? machine.threadEfficiency : 1;
  double computing = 1 / (machine.kernels.at("f32") * cores * efficiency);
  double seconds = std::max(computing, getMemorySeconds({4, 0}, cores));
  return std::isfinite(slowest) ? seconds * slowest : 1;
}

reshard::CallCosts CostModel::getCallCosts() const {
  reshard::CallCosts costs;
  costs.overlap = machine.overlap;
  double fastest = getFastestBandwidth();
  for (nd::AxisAttr axis : mesh.getAxes()) {
    const Link &link = getLink(axis.getName());
    costs.latencyBytes[axis.getName()] = link.latency * link.bandwidth;
  }
  for (const auto &[type, rate] : machine.products)
    if (fastest > 0)
      costs.flopsPerByte[type] = rate * std::max(cores, 1.0) / fastest;
  return costs;
}

double CostModel::getCollectiveSeconds(spmd::CollectiveKind kind,
                                       ArrayRef<StringAttr> axes,
                                       double wholeBytes) const {
  double passes = kind == spmd::CollectiveKind::AllReduce ? 2 : 1;
  double seconds = 0;
  for (const spmd::AxisTraffic &level :
       spmd::getRingTraffic(kind, axes, wholeBytes, mesh)) {
    const Link &link = getLink(level.axis);
    auto size = static_cast<double>(mesh.getAxisSize(level.axis));
    // A permute is one message; the others go around a ring.
    double messages =
        kind == spmd::CollectiveKind::Permute ? 1 : passes * (size - 1);
    seconds += messages * link.latency + level.bytes / link.bandwidth;
  }
  return seconds;
}

} // namespace meshc::cost
