//===- PlanPrice.cpp - what a plan costs ----------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Partition/PlanPrice.h"
#include "dialects/Nd/TensorAttributes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace meshc::partition {

//===----------------------------------------------------------------------===//
// Time and bytes
//===----------------------------------------------------------------------===//

namespace {
/// Simulates the calls, and counts what they send.
class PricedCalls {
public:
  PricedCalls(const FunctionCalls &calls, const cost::CostModel &model,
              nd::MeshAttr mesh)
      : calls(calls), model(model), mesh(mesh), simulation(model),
        isCounted(calls.collectives, false) {}

  void run() { run(calls.list, /*runs=*/1, /*isLast=*/true); }
  PlanPrice takePrice() const;

private:
  /// A collective that others of its kind join.
  struct Combined {
    const Call *first = nullptr;
    double wholeBytes = 0;
  };

  void run(const CallList &list, double runs, bool isLast);
  void compute(const Call &call);
  void begin(const Call &call, double runs);
  void runLoop(const Call &call, double runs);
  void await(int64_t piece);

  const FunctionCalls &calls;
  const cost::CostModel &model;
  nd::MeshAttr mesh;
  cost::StepSimulation simulation;
  std::vector<bool> isCounted;      ///< by the numbers of the collectives
  llvm::DenseSet<int64_t> inFlight; ///< pieces that collectives write
  Combined combined;
  llvm::DenseMap<StringAttr, AxisPrice> axes;
};
} // namespace

void PricedCalls::await(int64_t piece) {
  if (!inFlight.contains(piece))
    return;
  simulation.await(piece);
  combined = {};
}

void PricedCalls::compute(const Call &call) {
  llvm::SmallVector<cost::MemoryAccess, 8> accesses;
  size_t next = 0;
  for (int64_t piece : llvm::concat<const int64_t>(call.reads, call.writes))
    accesses.push_back({calls.getOwner(piece), call.bytes[next++],
                        calls.pieces[piece].stack >= 0});
  simulation.compute(call.work, accesses);
}

/// Of several collectives over the same axes that nothing has waited for, later
/// phases make one call: the further ones add no messages.
void PricedCalls::begin(const Call &call, double runs) {
  const bool joins = combined.first &&
                     combined.first->collective == call.collective &&
                     combined.first->axes == call.axes;
  if (!joins)
    combined = {&call, 0};
  const double before = combined.wholeBytes;
  combined.wholeBytes += call.wholeBytes;
  double cost = model.getCollectiveSeconds(call.collective, call.axes,
                                           combined.wholeBytes);
  if (joins)
    cost -= model.getCollectiveSeconds(call.collective, call.axes, before);
  const int64_t piece = call.writes.front();
  simulation.begin(piece, call.number, cost);
  inFlight.insert(piece);
  if (isCounted[call.number])
    return;
  isCounted[call.number] = true;
  for (const spmd::AxisTraffic &level : spmd::getRingTraffic(
           call.collective, call.axes, call.wholeBytes, mesh)) {
    AxisPrice &price = axes[level.axis];
    price.bytes += level.bytes * runs;
    price.seconds += cost * runs;
  }
}

/// What collectives of the body write and nothing in it reads.
static llvm::SmallVector<int64_t> findUnread(const CallList &body) {
  llvm::DenseSet<int64_t> read;
  for (const Call &call : body.calls)
    read.insert_range(call.reads);
  llvm::SmallVector<int64_t> unread;
  for (const Call &call : body.calls)
    if (call.kind == Call::Kind::Collective && !read.contains(call.writes[0]))
      unread.push_back(call.writes[0]);
  return unread;
}

/// What nothing in an iteration reads may arrive while the next one runs.
void PricedCalls::runLoop(const Call &call, double runs) {
  const CallList &body = *call.body;
  const double inside = runs * double(call.size);
  const llvm::SmallVector<int64_t> unread = findUnread(body);
  for (const Call &each : body.calls)
    if (each.isAhead)
      begin(each, inside);
  bool isFirst = true;
  simulation.runLoop(call.size, [&](bool isLast) {
    run(body, inside, isLast);
    if (!std::exchange(isFirst, false))
      llvm::for_each(unread, [&](int64_t piece) { await(piece); });
  });
  llvm::for_each(unread, [&](int64_t piece) { await(piece); });
}

void PricedCalls::run(const CallList &list, double runs, bool isLast) {
  combined = {};
  for (const Call &call : list.calls) {
    if (call.isAhead) {
      if (!isLast)
        begin(call, runs);
      continue;
    }
    for (int64_t piece : call.reads)
      await(piece);
    switch (call.kind) {
    case Call::Kind::Compute:
      compute(call);
      break;
    case Call::Kind::Collective:
      begin(call, runs);
      break;
    case Call::Kind::Loop:
      runLoop(call, runs);
      break;
    }
  }
  combined = {};
}

PlanPrice PricedCalls::takePrice() const {
  PlanPrice price;
  price.time = simulation.getTime();
  for (nd::AxisAttr axis : mesh.getAxes())
    if (AxisPrice sent = axes.lookup(axis.getName()); sent.bytes > 0) {
      sent.axis = axis.getName();
      price.axes.push_back(sent);
    }
  return price;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

namespace {
/// The memory of the pieces of a block, and of what is in its loops.
class LivePieces {
public:
  explicit LivePieces(const FunctionCalls &calls) : calls(calls) {}
  /// The most that is alive at one time, but for the pieces of `outside`.
  double getPeak(const CallList &list, const llvm::DenseSet<int64_t> &outside);
  /// Places in the arena begin at multiples of a cache line.
  double getBytes(int64_t piece) const {
    constexpr double line = 64;
    return std::ceil(calls.pieces[piece].bytes / line) * line;
  }

private:
  /// By piece: the numbers of the calls that make it and that use it last.
  using Ranges = llvm::MapVector<int64_t, std::pair<int64_t, int64_t>>;
  void dropCarried(const CallList &list, Ranges &ranges) const;
  const FunctionCalls &calls;
};
} // namespace

/// What a body carries on is written over what it was, unless that is needed
/// later.
void LivePieces::dropCarried(const CallList &list, Ranges &ranges) const {
  for (auto [before, after] : llvm::zip(list.carried, list.ends)) {
    auto *made = ranges.find(after);
    if (made == ranges.end())
      continue;
    const auto number = static_cast<size_t>(made->second.first);
    int64_t lastUse = -1;
    for (auto [index, call] : llvm::enumerate(list.calls))
      if (llvm::is_contained(call.reads, before))
        lastUse = static_cast<int64_t>(index);
    const bool isOver = lastUse < made->second.first ||
                        (lastUse == made->second.first &&
                         list.calls[number].kind != Call::Kind::Collective &&
                         list.calls[number].work.productFlops == 0);
    if (isOver)
      ranges.erase(made);
  }
}

double LivePieces::getPeak(const CallList &list,
                           const llvm::DenseSet<int64_t> &outside) {
  const auto end = static_cast<int64_t>(list.calls.size());
  Ranges ranges;
  auto use = [&](int64_t piece, int64_t at) {
    if (piece < 0)
      return;
    piece = calls.getOwner(piece);
    if (outside.contains(piece))
      return;
    auto [range, isNew] = ranges.insert({piece, {at, at}});
    range->second.second = std::max(range->second.second, at);
  };
  for (auto [number, call] : llvm::enumerate(list.calls)) {
    for (int64_t piece : call.writes)
      use(piece, int64_t(number));
    for (int64_t piece : call.reads)
      use(piece, int64_t(number));
  }
  for (int64_t piece : list.ends)
    use(piece, end);
  dropCarried(list, ranges);
  // Changes of what is alive: before a call, and after it.
  std::vector<double> begins(end + 1, 0), ends(end + 1, 0);
  for (const auto &[piece, range] : ranges) {
    begins[range.first] += getBytes(piece);
    ends[range.second] += getBytes(piece);
  }
  double alive = 0, peak = 0;
  for (int64_t number = 0; number <= end; ++number) {
    double during = alive + begins[number], inside = 0;
    if (number < end) {
      const Call &call = list.calls[number];
      // A kernel writes over what it reads last, and so does a loop with what
      // it carries.
      if (call.kind != Call::Kind::Collective && call.work.productFlops == 0)
        during -= std::min(begins[number], ends[number]);
      if (call.body) {
        llvm::DenseSet<int64_t> known = outside;
        for (int64_t piece : llvm::make_first_range(ranges))
          known.insert(piece);
        inside = getPeak(*call.body, known);
      }
    }
    peak = std::max(peak, during + inside);
    alive += begins[number] - ends[number];
  }
  return peak;
}

/// The pieces that are there all the time: arguments, and the results of a step
/// function that replace them.
static llvm::DenseSet<int64_t> findPersistent(const FunctionCalls &calls,
                                              Block &block) {
  llvm::DenseSet<int64_t> persistent(calls.list.arguments.begin(),
                                     calls.list.arguments.end());
  auto function = dyn_cast<FunctionOpInterface>(block.getParentOp());
  for (auto [number, piece] : llvm::enumerate(calls.list.ends))
    if (piece >= 0 && function && number < function.getNumResults() &&
        nd::TensorAttributes::ofResult(function, number).getRole() &&
        nd::isCarriedBetweenSteps(
            nd::TensorAttributes::ofResult(function, number).getRole()))
      persistent.insert(piece);
  return persistent;
}

PlanPrice getPrice(const BlockPlan &plan, Block &block,
                   reshard::ReshardPlanner &planner,
                   const cost::CostModel &model) {
  auto mesh = nd::MeshAttr::of(block.getParentOp());
  FunctionCalls calls = getCalls(plan, block, planner, mesh);
  PricedCalls priced(calls, model, mesh);
  priced.run();
  PlanPrice price = priced.takePrice();
  const llvm::DenseSet<int64_t> persistent = findPersistent(calls, block);
  LivePieces live(calls);
  for (int64_t piece : calls.list.arguments)
    price.arenaBytes += live.getBytes(piece);
  price.arenaBytes += live.getPeak(calls.list, persistent);
  return price;
}

} // namespace meshc::partition
