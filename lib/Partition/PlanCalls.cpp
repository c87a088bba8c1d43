//===- PlanCalls.cpp - the calls that a plan leads to ---------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/Ops/IndexingOps.h"
#include "lib/Partition/BlockCalls.h"
#include "lib/Partition/BuildOp.h"
#include "lib/Partition/FactorChoice.h"
#include "lib/Reshard/ExchangePlan.h"

using namespace mlir;

namespace meshc::partition {

using nd::TensorType;
using spmd::StepKind;

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

/// The part of the op's iteration space that a rank computes, padding included.
static double getShare(const PlanStep &step, nd::MeshAttr mesh) {
  if (step.kind != StepKind::Make) {
    TensorType made = step.results.front();
    return double(made.getLocalElementCount(mesh)) /
           std::max(1.0, double(made.getGlobal().getElementCount()));
  }
  double share = 1;
  nd::PartitionRule rule = nd::joinAlternatives(
      cast<nd::NamedOpInterface>(step.op).getPartitionRule());
  for (auto [factor, axes] : llvm::zip(rule.factors, step.axes))
    if (!axes.empty() && factor.size > 0)
      share *= double(llvm::divideCeil(factor.size, mesh.getProduct(axes))) /
               double(factor.size);
  return share;
}

/// Reads a piece once more.
static void read(llvm::MapVector<int64_t, double> &reads, int64_t piece,
                 double bytes) {
  if (piece >= 0)
    reads[piece] += bytes;
}

/// Adds a step to a kernel.
void BlockCalls::addPart(size_t index, Call &kernel,
                         llvm::MapVector<int64_t, double> &reads) {
  const PlanStep &step = plan.steps[index];
  const Step &info = steps[index];
  const bool isMove = step.kind == StepKind::Move;
  double share = 1, readBytes = 0;
  Value table;
  if (!isMove) {
    nd::OpCost cost = cast<nd::NamedOpInterface>(step.op).getCost();
    share = getShare(step, mesh);
    kernel.work.kernel->flops += cost.flops * share;
    kernel.work.kernel->transcendentals += cost.transcendentals * share;
    readBytes = cost.bytes;
    for (Value result : step.op->getResults())
      readBytes -= double(nd::getTensorType(result).getLocalBytes(mesh));
    readBytes = std::max(readBytes, 0.0) * share;
    table = nd::getChangedTable(step.op);
  }
  double changed = 0; ///< of a table
  if (table)
    if (auto scatter = dyn_cast<nd::ScatterOpInterface>(step.op))
      changed =
          double(nd::getTensorType(scatter.getUpdates()).getLocalBytes(mesh)) *
          share;
  for (const Form &form : info.used) {
    auto producer = producers.find(form);
    if (producer != producers.end() &&
        getUnit(producer->second) == getUnit(index))
      continue;
    read(reads, getPiece(form),
         isMove                ? getBytes(step.results[0])
         : form.value == table ? changed
                               : std::min(readBytes, getBytes(form.type)));
  }
  for (const Form &form : info.made) {
    int64_t piece = getPiece(form);
    if (piece < 0)
      continue;
    double bytes = getBytes(form.type);
    kernel.writes.push_back(piece);
    kernel.bytes.push_back(table && changed > 0 ? std::min(bytes, changed)
                                                : bytes);
  }
}

void BlockCalls::addKernel(ArrayRef<size_t> ofKernel) {
  Call kernel;
  kernel.work.kernel.emplace();
  kernel.work.element = Float32Type::get(block.getParentOp()->getContext());
  llvm::MapVector<int64_t, double> reads;
  for (size_t index : ofKernel)
    addPart(index, kernel, reads);
  llvm::SmallVector<double, 4> bytes;
  for (auto [piece, count] : reads) {
    kernel.reads.push_back(piece);
    bytes.push_back(std::min(count, all.pieces[piece].bytes));
  }
  llvm::append_range(bytes, kernel.bytes);
  kernel.bytes = std::move(bytes);
  list.calls.push_back(std::move(kernel));
}

void BlockCalls::addProduct(size_t index) {
  const PlanStep &step = plan.steps[index];
  Call call;
  nd::OpCost cost = cast<nd::NamedOpInterface>(step.op).getCost();
  const double share = getShare(step, mesh);
  if (auto sort = dyn_cast<nd::SortOpInterface>(step.op)) {
    call.work.sort =
        nd::SortWork::of(step.op, sort.getDimAttr(), sort.getIntoAttr());
    call.work.sort.rows *= share;
    call.work.element = Float32Type::get(step.op->getContext());
  } else if (hasMostPoints(step.op)) {
    call.work.productFlops = cost.flops * share;
    call.work.element =
        nd::getTensorType(step.op->getOperand(0)).getElementType();
  } else {
    call.work.kernel =
        nd::OpCost{cost.flops * share, cost.transcendentals * share};
    call.work.element = Float32Type::get(step.op->getContext());
  }
  for (const Form &form : steps[index].used)
    if (int64_t piece = getPiece(form);
        piece >= 0 && !llvm::is_contained(call.reads, piece)) {
      call.reads.push_back(piece);
      call.bytes.push_back(getBytes(form.type));
    }
  for (const Form &form : steps[index].made)
    if (int64_t piece = getPiece(form); piece >= 0) {
      call.writes.push_back(piece);
      call.bytes.push_back(getBytes(form.type));
    }
  list.calls.push_back(std::move(call));
}

Call &BlockCalls::addCollective(spmd::CollectiveKind kind, spmd::AxisList axes,
                                double wholeBytes, int64_t from, int64_t to) {
  Call call;
  call.kind = Call::Kind::Collective;
  call.collective = kind;
  spmd::sortByMesh(axes, mesh);
  call.axes = std::move(axes);
  call.wholeBytes = wholeBytes;
  call.number = all.collectives++;
  if (from >= 0)
    call.reads.push_back(from);
  if (to >= 0)
    call.writes.push_back(to);
  return list.calls.emplace_back(std::move(call));
}

/// The op, and before it what it needs of other ranks' blocks.
void BlockCalls::addExchange(size_t index) {
  const PlanStep &step = plan.steps[index];
  nd::PartitionRule rule = nd::joinAlternatives(
      cast<nd::NamedOpInterface>(step.op).getPartitionRule());
  auto exchange =
      reshard::planExchange(rule, step.axes, step.operands, step.results, mesh);
  llvm::SmallVector<int64_t, 2> received;
  if (exchange)
    for (auto [axes, traffic] : llvm::zip(step.axes, exchange->traffic)) {
      if (traffic.bytes <= 0)
        continue;
      received.push_back(makePiece(traffic.bytes));
      int64_t from =
          steps[index].used.empty() ? -1 : getPiece(steps[index].used[0]);
      addCollective(spmd::CollectiveKind::Permute, axes, traffic.bytes, from,
                    received.back());
    }
  addProduct(index);
  Call &call = list.calls.back();
  for (int64_t piece : received) {
    call.bytes.insert(call.bytes.begin() + call.reads.size(),
                      all.pieces[piece].bytes);
    call.reads.push_back(piece);
  }
}

void BlockCalls::addCopy(int64_t from, int64_t to, double bytes) {
  Call call;
  call.work.kernel.emplace();
  call.work.element = Float32Type::get(block.getParentOp()->getContext());
  if (from >= 0) {
    call.reads.push_back(from);
    call.bytes.push_back(bytes);
  }
  call.writes.push_back(to);
  call.bytes.push_back(bytes);
  list.calls.push_back(std::move(call));
}

void BlockCalls::addMove(const PlanStep &step) {
  const auto &moves = planner.plan(step.operands[0], step.results[0]).steps;
  Form source = resolve({step.value, step.operands[0]});
  int64_t from = getPiece(source);
  TensorType type = step.operands[0];
  const bool isAhead = parent && moves.size() == 1 &&
                       !producers.contains(source) && from >= 0 &&
                       all.pieces[from].stack >= 0;
  for (const reshard::ReshardStep &move : moves) {
    int64_t to = &move == &moves.back()
                     ? getPiece({step.value, step.results[0]})
                     : makePiece(getBytes(move.result));
    if (to < 0)
      to = makePiece(getBytes(move.result));
    if (move.kind)
      addCollective(*move.kind, move.axes,
                    getBytes(*move.kind == spmd::CollectiveKind::AllGather
                                 ? move.result
                                 : type),
                    from, to)
          .isAhead = isAhead;
    else
      addCopy(from, to, getBytes(move.result));
    from = to;
    type = move.result;
  }
}

void BlockCalls::addLoop(size_t index) {
  const PlanStep &step = plan.steps[index];
  auto loop = cast<nd::ScanOp>(step.op);
  const BlockPlan &body = *step.body;
  BlockCalls inside(body, loop.getBlock(), all, planner, mesh, this);
  Call call;
  call.kind = Call::Kind::Loop;
  call.size = static_cast<int64_t>(loop.getSize());
  auto add = [&](int64_t piece) {
    if (piece >= 0 && !llvm::is_contained(call.reads, piece))
      call.reads.push_back(piece);
  };
  size_t next = 0;
  inside.endStacks.assign(body.ends.size(), -1);
  for (const nd::Tie &tie : loop.getTies()) {
    if (tie.kind == nd::TieKind::Carried) {
      TensorType type = body.arguments[next++];
      add(getPiece({tie.operand, type}));
      int64_t piece = makePiece(getBytes(type));
      pieces[{tie.result, body.ends[tie.result.getResultNumber()]}] = piece;
      inside.pieces[{tie.argument, type}] = piece;
      inside.list.carried.push_back(piece);
      call.writes.push_back(piece);
    } else if (tie.kind == nd::TieKind::StackedOperand) {
      TensorType type = body.arguments[next++];
      int64_t stack = getPiece(
          {tie.operand, nd::getStackedType(type, loop.getDim(), call.size)});
      add(stack);
      inside.pieces[{tie.argument, type}] = makePiece(getBytes(type), stack);
    } else if (tie.kind == nd::TieKind::StackedResult) {
      unsigned number = tie.result.getResultNumber();
      TensorType type =
          nd::getStackedType(body.ends[number], loop.getDim(), call.size);
      int64_t piece = makePiece(getBytes(type));
      pieces[{tie.result, type}] = piece;
      inside.endStacks[number] = piece;
      call.writes.push_back(piece);
    }
  }
  for (const PlanStep &each : body.steps)
    if (each.kind == StepKind::Keep) {
      int64_t piece = makePiece(getBytes(each.results[0]) * double(call.size));
      keptStacks[{each.value, each.results[0]}] = piece;
      call.writes.push_back(piece);
    } else if (each.kind == StepKind::Take) {
      auto stack = keptStacks.find({each.source, each.results[0]});
      if (stack != keptStacks.end())
        add(stack->second);
    }
  for (const Form &form : steps[index].used)
    add(getPiece(form));
  call.body = std::make_shared<CallList>(inside.run());
  list.calls.push_back(std::move(call));
}

void BlockCalls::addCall(size_t index) {
  const PlanStep &step = plan.steps[index];
  if (step.kind == StepKind::Loop)
    return addLoop(index);
  if (step.kind == StepKind::Move)
    return addMove(step);
  if (isExchanged(*step.op, step.axes, mesh))
    return addExchange(index);
  addProduct(index);
}

void BlockCalls::addUnit(size_t unit) {
  ArrayRef<size_t> ofUnit = parts[unit];
  for (size_t index : ofUnit)
    steps[index].isDone = true;
  if (steps[unit].becomes == Becomes::Kernel)
    addKernel(ofUnit);
  else
    addCall(unit);
}

/// Adds the step's call, and before it those that it needs.
void BlockCalls::require(size_t index) {
  llvm::SmallVector<size_t> waiting = {index};
  while (!waiting.empty()) {
    size_t unit = getUnit(waiting.back());
    if (steps[unit].isDone) {
      waiting.pop_back();
      continue;
    }
    const size_t before = waiting.size();
    for (size_t part : parts[unit])
      for (const Form &form : steps[part].used)
        if (auto known = producers.find(form); known != producers.end())
          if (!steps[known->second].isDone && getUnit(known->second) != unit)
            waiting.push_back(known->second);
    if (waiting.size() > before)
      continue;
    addUnit(unit);
    waiting.pop_back();
  }
}

CallList BlockCalls::run() {
  if (!parent)
    addArguments();
  steps.resize(plan.steps.size());
  for (size_t index = 0; index < steps.size(); ++index)
    describe(index);
  findStored();
  if (parent)
    placeEnds();
  // Kernels are computed once they are needed.
  for (size_t index = 0; index < steps.size(); ++index)
    if (steps[index].becomes == Becomes::Call)
      require(index);
  auto ends = block.getTerminator()->getOperands();
  for (auto [number, operand] : llvm::enumerate(ends)) {
    if (number >= plan.ends.size())
      break;
    Form form = resolve({operand, plan.ends[number]});
    if (auto known = producers.find(form); known != producers.end())
      require(known->second);
    int64_t piece = getPiece(form);
    const int64_t stack =
        number < endStacks.size() ? endStacks[number] : int64_t(-1);
    // An entry that is yielded twice, or that the body does not make.
    if (stack >= 0 && piece >= 0 && all.pieces[piece].stack != stack)
      addCopy(piece, makePiece(getBytes(form.type), stack),
              getBytes(form.type));
    list.ends.push_back(piece);
  }
  for (size_t index = 0; index < steps.size(); ++index)
    if (plan.steps[index].kind == StepKind::Keep)
      if (auto known = producers.find(steps[index].used[0]);
          known != producers.end())
        require(known->second);
  return std::move(list);
}

FunctionCalls getCalls(const BlockPlan &plan, Block &block,
                       reshard::ReshardPlanner &planner, nd::MeshAttr mesh) {
  FunctionCalls calls;
  calls.list = BlockCalls(plan, block, calls, planner, mesh).run();
  return calls;
}

} // namespace meshc::partition
