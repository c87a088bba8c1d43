//===- StepTime.cpp - predicted time of a step function -------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Cost/StepTime.h"
#include "lib/Cost/KernelCost.h"
#include "llvm/ADT/DenseMap.h"

using namespace mlir;

namespace meshc::cost {

namespace {
/// Makes the calls of a step function after the schedule phase.
class Calls {
public:
  Calls(const Machine &machine, nd::MeshAttr mesh)
      : mesh(mesh), model(machine, mesh), simulation(model) {}

  void run(ArrayRef<exec::StepOpInterface> steps, bool isLastIteration);
  StepTime takeResult();

private:
  void runLoop(exec::LoopOp loop);
  void compute(exec::StepOpInterface step);
  void begin(exec::CollectiveOp op);
  void await(Value token);
  double getCollectiveSeconds(exec::CollectiveOp op);
  MemoryAccess getAccess(Value buffer, double bytes) const;
  double getBytes(Value buffer) const;
  const KernelCost &getKernelCost(exec::StepOpInterface step);

  nd::MeshAttr mesh;
  CostModel model;
  StepSimulation simulation;
  llvm::DenseMap<Operation *, size_t> numbers; ///< in `collectives`
  std::vector<exec::CollectiveOp> collectives; ///< in order of first calls
  llvm::DenseMap<Value, int64_t> tokens;
  llvm::DenseMap<Operation *, KernelCost> kernels;
};
} // namespace

const KernelCost &Calls::getKernelCost(exec::StepOpInterface step) {
  auto kernel = SymbolTable::lookupNearestSymbolFrom<exec::KernelOp>(
      step, step.getKernelUse().kernel);
  auto [known, isNew] = kernels.try_emplace(kernel);
  if (isNew)
    known->second = KernelCost::of(kernel);
  return known->second;
}

double Calls::getBytes(Value buffer) const {
  return cast<exec::BufferType>(buffer.getType())
      .getTensor()
      .getLocalBytes(mesh);
}

/// What a call accesses, by the first byte of a piece of the arena.
MemoryAccess Calls::getAccess(Value buffer, double bytes) const {
  auto piece = buffer.getDefiningOp<exec::BufferOp>();
  return {exec::ArenaPiece::of(buffer, mesh).begin, bytes,
          piece && !piece.getStrides().empty()};
}

void Calls::compute(exec::StepOpInterface step) {
  exec::Accesses accesses = step.getAccesses();
  SmallVector<Value> buffers(accesses.reads);
  llvm::append_range(buffers, accesses.writes);
  SmallVector<MemoryAccess> accessed;
  CallWork work;
  if (auto product = step.describe().product) {
    for (Value buffer : buffers)
      accessed.push_back(getAccess(buffer, getBytes(buffer)));
    work.productFlops = 2.0 * double(product->m) * double(product->n) *
                        double(product->k) * double(product->batch);
    work.element = cast<exec::BufferType>(product->a.getType())
                       .getTensor()
                       .getElementType();
  } else if (step.getKernelUse().kernel) {
    const KernelCost &cost = getKernelCost(step);
    SmallVector<double> bytes(cost.read);
    llvm::append_range(bytes, cost.written);
    for (auto [buffer, count] : llvm::zip(buffers, bytes))
      accessed.push_back(getAccess(buffer, count));
    work = {cost.work, cost.productFlops, cost.sort, cost.element};
  } else {
    return;
  }
  simulation.compute(work, accessed);
}

double Calls::getCollectiveSeconds(exec::CollectiveOp op) {
  SmallVector<StringAttr> axes;
  for (nd::AxisAttr axis : mesh.getAxes())
    if (llvm::is_contained(op.getAxes(), axis.getName()))
      axes.push_back(axis.getName());
  bool gathers = op.getKind() == spmd::CollectiveKind::AllGather;
  double bytes = 0;
  for (Value buffer : gathers ? op.getRecv() : op.getSend())
    bytes += getBytes(buffer);
  return model.getCollectiveSeconds(op.getKind(), axes, bytes);
}

void Calls::begin(exec::CollectiveOp op) {
  auto [known, isNew] = numbers.try_emplace(op, collectives.size());
  if (isNew)
    collectives.push_back(op);
  int64_t token =
      tokens.try_emplace(op.getToken(), tokens.size()).first->second;
  simulation.begin(token, known->second, getCollectiveSeconds(op));
}

void Calls::await(Value token) {
  if (auto known = tokens.find(token); known != tokens.end())
    simulation.await(known->second);
}

void Calls::runLoop(exec::LoopOp loop) {
  for (exec::CollectiveOp ahead : loop.getBegunAhead())
    begin(ahead);
  SmallVector<exec::StepOpInterface> steps = loop.getSteps();
  simulation.runLoop(static_cast<int64_t>(loop.getSize()),
                     [&](bool isLast) { run(steps, isLast); });
  // What the last iteration began and no other awaits ends with the loop.
  for (exec::StepOpInterface step : steps)
    if (auto collective = dyn_cast<exec::CollectiveOp>(step.getOperation()))
      await(collective.getToken());
}

void Calls::run(ArrayRef<exec::StepOpInterface> steps, bool isLastIteration) {
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

StepTime Calls::takeResult() {
  StepTime time{simulation.getTime(), {}};
  for (auto [op, ofCalls] : llvm::zip(collectives, simulation.getCollectives()))
    time.collectives.push_back({ofCalls, op});
  return time;
}

StepTime predictStep(exec::FuncOp function, const Machine &machine) {
  Calls calls(machine, nd::MeshAttr::of(function));
  calls.run(function.getSteps(), /*isLastIteration=*/false);
  return calls.takeResult();
}

} // namespace meshc::cost
