//===- StepTime.cpp - predicted time of a step function -------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Cost/StepTime.h"
#include "lib/Cost/KernelCost.h"
#include "llvm/ADT/DenseMap.h"
#include <deque>

using namespace mlir;

namespace meshc::cost {

/// Iterations of a loop that are simulated: what runs ahead of its iteration
/// has a steady state after the first ones.
static constexpr int64_t simulatedIterations = 4;

namespace {
class Simulation {
public:
  Simulation(const Machine &machine, nd::MeshAttr mesh)
      : mesh(mesh), model(machine, mesh) {}

  void run(ArrayRef<exec::StepOpInterface> steps, bool isLastIteration);
  StepTime takeResult();

private:
  void runLoop(exec::LoopOp loop);
  void compute(exec::StepOpInterface step);
  void begin(exec::CollectiveOp op);
  void await(Value token);
  void repeat(const StepTime &before, double busyBefore, int64_t times);
  size_t getNumber(exec::CollectiveOp op);
  double getCollectiveSeconds(exec::CollectiveOp op);
  MemoryTraffic access(ArrayRef<Value> buffers, ArrayRef<double> bytes);
  const KernelCost &getKernelCost(exec::StepOpInterface step);

  nd::MeshAttr mesh;
  CostModel model;
  StepTime time; ///< `seconds` is now
  double networkFree = 0;
  llvm::DenseMap<Operation *, size_t> numbers; ///< in time.collectives
  /// The ends of what runs under a token, the first one first.
  struct InFlight {
    double end;
    size_t number;
  };
  llvm::DenseMap<Value, std::deque<InFlight>> inFlight;
  llvm::DenseMap<Operation *, KernelCost> kernels;
  /// By the first byte of a piece of the arena: of all bytes accessed so far,
  /// the number after its last access.
  llvm::DenseMap<int64_t, double> lastAccess;
  double accessed = 0;
};
} // namespace

const KernelCost &Simulation::getKernelCost(exec::StepOpInterface step) {
  auto kernel = SymbolTable::lookupNearestSymbolFrom<exec::KernelOp>(
      step, step.getKernelUse().kernel);
  auto [known, isNew] = kernels.try_emplace(kernel);
  if (isNew)
    known->second = KernelCost::of(kernel);
  return known->second;
}

/// Divides the bytes that a call accesses in its buffers between memory and
/// cache.
MemoryTraffic Simulation::access(ArrayRef<Value> buffers,
                                 ArrayRef<double> bytes) {
  MemoryTraffic traffic;
  double limit = model.getCacheBytes();
  for (auto [buffer, count] : llvm::zip(buffers, bytes)) {
    int64_t begin = exec::ArenaPiece::of(buffer, mesh).begin;
    auto piece = buffer.getDefiningOp<exec::BufferOp>();
    bool moves = piece && !piece.getStrides().empty();
    auto last = lastAccess.find(begin);
    bool isCached = !moves && last != lastAccess.end() &&
                    accessed - last->second + count <= limit;
    (isCached ? traffic.cache : traffic.memory) += count;
    accessed += count;
    lastAccess[begin] = accessed;
  }
  return traffic;
}

void Simulation::compute(exec::StepOpInterface step) {
  exec::Accesses accesses = step.getAccesses();
  SmallVector<Value> buffers(accesses.reads);
  llvm::append_range(buffers, accesses.writes);
  SmallVector<double> bytes;
  double seconds = 0;
  if (auto product = step.describe().product) {
    for (Value buffer : buffers)
      bytes.push_back(cast<exec::BufferType>(buffer.getType())
                          .getTensor()
                          .getLocalBytes(mesh));
    double flops = 2.0 * double(product->m) * double(product->n) *
                   double(product->k) * double(product->batch);
    Type element = cast<exec::BufferType>(product->a.getType())
                       .getTensor()
                       .getElementType();
    seconds = model.getProductSeconds(flops, access(buffers, bytes), element);
    time.products += seconds;
  } else if (step.getKernelUse().kernel) {
    const KernelCost &cost = getKernelCost(step);
    llvm::append_range(bytes, cost.read);
    llvm::append_range(bytes, cost.written);
    MemoryTraffic traffic = access(buffers, bytes);
    bool isProduct = cost.productFlops > 0;
    seconds = cost.sort.rows > 0
                  ? model.getSortSeconds(cost.sort, traffic)
                  : model.getKernelSeconds(
                        cost.work, isProduct ? MemoryTraffic() : traffic,
                        cost.element);
    if (isProduct)
      seconds +=
          model.getProductSeconds(cost.productFlops, traffic, cost.element);
    (isProduct ? time.products : time.kernels) += seconds;
  }
  time.seconds += seconds;
}

size_t Simulation::getNumber(exec::CollectiveOp op) {
  auto [known, isNew] = numbers.try_emplace(op, time.collectives.size());
  if (isNew)
    time.collectives.push_back({op});
  return known->second;
}

double Simulation::getCollectiveSeconds(exec::CollectiveOp op) {
  SmallVector<StringAttr> axes;
  for (nd::AxisAttr axis : mesh.getAxes())
    if (llvm::is_contained(op.getAxes(), axis.getName()))
      axes.push_back(axis.getName());
  bool gathers = op.getKind() == spmd::CollectiveKind::AllGather;
  double bytes = 0;
  for (Value buffer : gathers ? op.getRecv() : op.getSend())
    bytes += cast<exec::BufferType>(buffer.getType())
                 .getTensor()
                 .getLocalBytes(mesh);
  return model.getCollectiveSeconds(op.getKind(), axes, bytes);
}

void Simulation::begin(exec::CollectiveOp op) {
  size_t number = getNumber(op);
  double seconds = getCollectiveSeconds(op);
  double occupied = seconds * (1 - model.getMachine().overlap);
  networkFree = std::max(time.seconds, networkFree) + seconds;
  inFlight[op.getToken()].push_back({networkFree, number});
  time.collectives[number].seconds += seconds;
  time.collectives[number].exposed += occupied;
  time.exposed += occupied;
  time.seconds += occupied;
}

void Simulation::await(Value token) {
  std::deque<InFlight> &running = inFlight[token];
  if (running.empty())
    return;
  InFlight first = running.front();
  running.pop_front();
  double waits = std::max(0.0, first.end - time.seconds);
  time.collectives[first.number].exposed += waits;
  time.exposed += waits;
  time.seconds += waits;
}

/// Adds what has happened since `before`, again and again.
void Simulation::repeat(const StepTime &before, double networkBefore,
                        int64_t times) {
  auto extend = [&](double &now, double then) {
    double more = (now - then) * static_cast<double>(times);
    now += more;
    return more;
  };
  double shift = extend(time.seconds, before.seconds);
  extend(time.products, before.products);
  extend(time.kernels, before.kernels);
  extend(time.exposed, before.exposed);
  for (auto [number, collective] : llvm::enumerate(time.collectives)) {
    bool wasThere = number < before.collectives.size();
    CollectiveTime then =
        wasThere ? before.collectives[number] : CollectiveTime();
    extend(collective.seconds, then.seconds);
    extend(collective.exposed, then.exposed);
  }
  extend(networkFree, networkBefore);
  for (auto &[token, running] : inFlight)
    for (InFlight &collective : running)
      collective.end += shift;
}

void Simulation::runLoop(exec::LoopOp loop) {
  for (exec::CollectiveOp ahead : loop.getBegunAhead())
    begin(ahead);
  auto size = static_cast<int64_t>(loop.getSize());
  int64_t simulated = std::min(size, simulatedIterations);
  SmallVector<exec::StepOpInterface> steps = loop.getSteps();
  for (int64_t iteration = 0; iteration < simulated; ++iteration) {
    StepTime before = time;
    double networkBefore = networkFree;
    run(steps, iteration + 1 == simulated);
    if (iteration + 2 == simulated)
      repeat(before, networkBefore, size - simulated);
  }
  // What the last iteration began and no other awaits ends with the loop.
  for (exec::StepOpInterface step : steps)
    if (auto collective = dyn_cast<exec::CollectiveOp>(step.getOperation()))
      await(collective.getToken());
}

void Simulation::run(ArrayRef<exec::StepOpInterface> steps,
                     bool isLastIteration) {
  for (exec::StepOpInterface step : steps) {
    Operation *op = step;
    if (auto loop = dyn_cast<exec::LoopOp>(op)) {
      runLoop(loop);
    } else if (auto collective = dyn_cast<exec::CollectiveOp>(op)) {
      if (!collective.getAhead() || !isLastIteration)
        begin(collective);
    } else if (auto wait = dyn_cast<exec::WaitOp>(op)) {
      await(wait.getToken());
    } else {
      compute(step);
    }
  }
}

StepTime Simulation::takeResult() { return std::move(time); }

StepTime predictStep(exec::FuncOp function, const Machine &machine) {
  Simulation simulation(machine, nd::MeshAttr::of(function));
  simulation.run(function.getSteps(), /*isLastIteration=*/false);
  return simulation.takeResult();
}

} // namespace meshc::cost
