//===- StepSimulation.cpp - the calls of a step, in time ------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Cost/StepSimulation.h"

using namespace mlir;

namespace meshc::cost {

/// Iterations of a loop that are simulated: what runs ahead of its iteration
/// has a steady state after the first ones.
static constexpr int64_t simulatedIterations = 4;

/// Divides the bytes that a call accesses between memory and cache.
MemoryTraffic StepSimulation::access(ArrayRef<MemoryAccess> accesses) {
  MemoryTraffic traffic;
  const double limit = model.getCacheBytes();
  for (const MemoryAccess &each : accesses) {
    auto last = lastAccess.find(each.place);
    bool isCached = !each.moves && last != lastAccess.end() &&
                    accessed - last->second + each.bytes <= limit;
    (isCached ? traffic.cache : traffic.memory) += each.bytes;
    accessed += each.bytes;
    lastAccess[each.place] = accessed;
  }
  return traffic;
}

void StepSimulation::compute(const CallWork &work,
                             ArrayRef<MemoryAccess> accesses) {
  const MemoryTraffic traffic = access(accesses);
  const bool isProduct = work.productFlops > 0;
  double seconds = 0;
  if (work.sort.rows > 0)
    seconds += model.getSortSeconds(work.sort, traffic);
  else if (work.kernel)
    seconds += model.getKernelSeconds(
        *work.kernel, isProduct ? MemoryTraffic() : traffic, work.element);
  if (isProduct)
    seconds +=
        model.getProductSeconds(work.productFlops, traffic, work.element);
  (isProduct ? time.products : time.kernels) += seconds;
  time.seconds += seconds;
}

void StepSimulation::begin(int64_t token, size_t number, double seconds) {
  if (collectives.size() <= number)
    collectives.resize(number + 1);
  double occupied = seconds * (1 - model.getMachine().overlap);
  networkFree = std::max(time.seconds, networkFree) + seconds;
  inFlight[token].push_back({networkFree, number});
  collectives[number].seconds += seconds;
  collectives[number].exposed += occupied;
  time.exposed += occupied;
  time.seconds += occupied;
}

void StepSimulation::await(int64_t token) {
  std::deque<InFlight> &running = inFlight[token];
  if (running.empty())
    return;
  InFlight first = running.front();
  running.pop_front();
  double waits = std::max(0.0, first.end - time.seconds);
  collectives[first.number].exposed += waits;
  time.exposed += waits;
  time.seconds += waits;
}

/// Adds what has happened since `before`, again and again.
void StepSimulation::repeat(const SimulatedTime &before,
                            ArrayRef<NetworkTime> collectivesBefore,
                            double networkBefore, int64_t times) {
  auto extend = [&](double &now, double then) {
    double more = (now - then) * static_cast<double>(times);
    now += more;
    return more;
  };
  double shift = extend(time.seconds, before.seconds);
  extend(time.products, before.products);
  extend(time.kernels, before.kernels);
  extend(time.exposed, before.exposed);
  for (auto [number, collective] : llvm::enumerate(collectives)) {
    NetworkTime then = number < collectivesBefore.size()
                           ? collectivesBefore[number]
                           : NetworkTime();
    extend(collective.seconds, then.seconds);
    extend(collective.exposed, then.exposed);
  }
  extend(networkFree, networkBefore);
  for (auto &[token, running] : inFlight)
    for (InFlight &collective : running)
      collective.end += shift;
}

void StepSimulation::runLoop(int64_t size,
                             llvm::function_ref<void(bool)> iterate) {
  const int64_t simulated = std::min(size, simulatedIterations);
  for (int64_t iteration = 0; iteration < simulated; ++iteration) {
    const SimulatedTime before = time;
    const std::vector<NetworkTime> collectivesBefore = collectives;
    const double networkBefore = networkFree;
    iterate(iteration + 1 == simulated);
    if (iteration + 2 == simulated)
      repeat(before, collectivesBefore, networkBefore, size - simulated);
  }
}

} // namespace meshc::cost
