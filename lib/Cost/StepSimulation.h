//===- StepSimulation.h - the calls of a step, in time ----------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Simulates the calls of a step, in their order, on two resources: the rank's
/// device and its network. Whoever knows the calls makes them: predictStep
/// those of a scheduled program, the price of a plan those that the plan leads
/// to.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_COST_STEPSIMULATION_H
#define MESHC_LIB_COST_STEPSIMULATION_H

#include "lib/Cost/CostModel.h"
#include "llvm/ADT/DenseMap.h"
#include <deque>

namespace meshc::cost {

/// What a call does on one rank.
struct CallWork {
  /// Operations of a generated kernel, if there is one; `bytes` does not count.
  std::optional<nd::OpCost> kernel = {};
  /// Additions and multiplications that a library computes.
  double productFlops = 0;
  /// What is sorted. A sort is all that its call does.
  nd::SortWork sort;
  mlir::Type element; ///< on which the call computes
};

/// Bytes that a call reads or writes in one place.
struct MemoryAccess {
  int64_t place = 0; ///< the same number for the same contents
  double bytes = 0;
  /// The place is another one in each iteration of the loop around the call, so
  /// that no cache holds it.
  bool moves = false;
};

/// Seconds of all calls of a collective in one step.
struct NetworkTime {
  double seconds = 0; ///< on the network
  /// In which the rank computes nothing because of it.
  double exposed = 0;
};

/// Seconds of a step. `products`, `kernels` and `exposed` add up to `seconds`.
struct SimulatedTime {
  double seconds = 0;
  double products = 0; ///< matrix products and what else a library computes
  double kernels = 0;  ///< generated ones
  double exposed = 0;  ///< of all collectives
};

/// A call occupies the device. A collective occupies the network from its
/// beginning or from the end of the collective before it; for 1 - overlap of
/// its seconds it also occupies the device. A wait lasts until its collective
/// has ended. A cache, if the machine has one, holds the last bytes that calls
/// have accessed.
class StepSimulation {
public:
  explicit StepSimulation(const CostModel &model) : model(model) {}

  void compute(const CallWork &work, llvm::ArrayRef<MemoryAccess> accesses);
  /// Begins collective `number`, which takes so many seconds, under a token.
  void begin(int64_t token, size_t number, double seconds);
  /// Waits for the collective that was begun first under the token, if any.
  void await(int64_t token);
  /// Runs a loop of `size` iterations: a few of them, while those between the
  /// first and the last ones take the same time each. `iterate` makes the calls
  /// of one; its argument says whether it is the last.
  void runLoop(int64_t size, llvm::function_ref<void(bool)> iterate);

  const SimulatedTime &getTime() const { return time; }
  /// By the numbers of the collectives.
  llvm::ArrayRef<NetworkTime> getCollectives() const { return collectives; }

private:
  MemoryTraffic access(llvm::ArrayRef<MemoryAccess> accesses);
  void repeat(const SimulatedTime &before,
              llvm::ArrayRef<NetworkTime> collectivesBefore,
              double networkBefore, int64_t times);

  const CostModel &model;
  SimulatedTime time; ///< `seconds` is now
  double networkFree = 0;
  std::vector<NetworkTime> collectives;
  /// The ends of what runs under a token, the first one first.
  struct InFlight {
    double end;
    size_t number;
  };
  llvm::DenseMap<int64_t, std::deque<InFlight>> inFlight;
  /// By place: of all bytes accessed so far, the number after its last access.
  llvm::DenseMap<int64_t, double> lastAccess;
  double accessed = 0;
};

} // namespace meshc::cost

#endif // MESHC_LIB_COST_STEPSIMULATION_H
