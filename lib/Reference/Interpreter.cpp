//===- Interpreter.cpp - programs run by their reference semantics --------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Reference/Interpreter.h"
#include "dialects/Nd/NdInterfaces.h"
#include "dialects/Nd/Ops/LoopOps.h"
#include "dialects/Spmd/SpmdOps.h"
#include "lib/Reference/RoundingNoise.h"
#include <limits>

using namespace mlir;
using meshc::nd::EvaluationContext;
using meshc::nd::HostTensor;

namespace meshc::reference {

namespace {

class Interpreter {
public:
  Interpreter(nd::MeshAttr mesh, const RunOptions &options)
      : rankCount(mesh.getRankCount()), noise(options.noise) {
    context.mesh = mesh;
    context.seed = options.seed;
    context.step = options.step;
    context.roundToType = options.roundToType;
  }

  /// Runs the block; its terminator's operands are the results.
  FailureOr<std::vector<RankTensors>> run(Block &block,
                                          std::vector<RankTensors> arguments);

private:
  LogicalResult execute(Operation *op);
  LogicalResult executeLocal(nd::NamedOpInterface op);
  LogicalResult executeOnAll(spmd::SpmdOpInterface op);
  LogicalResult executeRegion(Operation *op);
  LogicalResult executeScan(nd::ScanOp scan);
  FailureOr<bool> goesOn(nd::ScanOp scan, const RankTensors &condition);
  std::vector<RankTensors> takeArguments(nd::ScanOp scan, int64_t iteration);
  LogicalResult setResults(Operation *op, int64_t rank,
                           SmallVector<HostTensor> tensors);
  /// The operands of `op` on one rank.
  SmallVector<const HostTensor *> getOperands(Operation *op, int64_t rank);

  EvaluationContext context;
  int64_t rankCount;
  RoundingNoise *noise;
  DenseMap<Value, RankTensors> values;
};

} // namespace

/// For each value that the block's ops use, the last op that does: the value
/// can be dropped after it.
static DenseMap<Operation *, SmallVector<Value>> getLastUses(Block &block) {
  llvm::MapVector<Value, Operation *> last;
  for (Operation &op : block)
    op.walk([&](Operation *nested) {
      for (Value operand : nested->getOperands())
        last[operand] = &op;
    });
  DenseMap<Operation *, SmallVector<Value>> dead;
  for (auto [value, op] : last)
    if (value.getParentBlock() == &block)
      dead[op].push_back(value);
  return dead;
}

FailureOr<std::vector<RankTensors>>
Interpreter::run(Block &block, std::vector<RankTensors> arguments) {
  for (auto [argument, tensors] : llvm::zip(block.getArguments(), arguments))
    values[argument] = std::move(tensors);
  DenseMap<Operation *, SmallVector<Value>> dead = getLastUses(block);
  for (Operation &op : block.without_terminator()) {
    if (failed(execute(&op)))
      return failure();
    for (Value value : dead[&op])
      values.erase(value);
    for (Value result : op.getResults())
      if (result.use_empty())
        values.erase(result);
  }
  std::vector<RankTensors> results;
  for (Value value : block.getTerminator()->getOperands())
    results.push_back(values[value]);
  return results;
}

LogicalResult Interpreter::execute(Operation *op) {
  if (auto spmdOp = dyn_cast<spmd::SpmdOpInterface>(op))
    return executeOnAll(spmdOp);
  if (auto ndOp = dyn_cast<nd::NamedOpInterface>(op))
    return executeLocal(ndOp);
  if (auto scan = dyn_cast<nd::ScanOp>(op))
    return executeScan(scan);
  if (op->getNumRegions() == 1 && op->getNumOperands() == 0 &&
      op->getRegion(0).hasOneBlock())
    return executeRegion(op);
  return op->emitError() << "op '" << op->getName()
                         << "' has no reference semantics";
}

SmallVector<const HostTensor *> Interpreter::getOperands(Operation *op,
                                                         int64_t rank) {
  return llvm::map_to_vector(op->getOperands(),
                             [&](Value operand) -> const HostTensor * {
                               return &values.find(operand)->second[rank];
                             });
}

LogicalResult Interpreter::setResults(Operation *op, int64_t rank,
                                      SmallVector<HostTensor> tensors) {
  if (tensors.size() != op->getNumResults())
    return op->emitError() << "reference semantics of '" << op->getName()
                           << "' gave " << tensors.size() << " results";
  for (auto [result, tensor] : llvm::zip(op->getResults(), tensors)) {
    HostTensor wanted = context.makeTensor(result.getType());
    if (tensor.sizes != wanted.sizes ||
        tensor.data.size() != wanted.data.size())
      return op->emitError()
             << "reference semantics of '" << op->getName()
             << "' gave a block of another size than " << result.getType();
    tensor.type = wanted.type;
    context.spoilPadding(tensor);
    RankTensors &blocks = values[result];
    blocks.resize(rankCount);
    blocks[rank] = std::move(tensor);
  }
  return success();
}

LogicalResult Interpreter::executeLocal(nd::NamedOpInterface op) {
  for (int64_t rank = 0; rank < rankCount; ++rank) {
    context.coordinates = context.mesh.getCoordinates(rank);
    SmallVector<const HostTensor *> operands = getOperands(op, rank);
    if (failed(setResults(op, rank,
                          noise ? noise->evaluate(op, operands, context)
                                : op.evaluate(operands, context))))
      return failure();
  }
  return success();
}

LogicalResult Interpreter::executeOnAll(spmd::SpmdOpInterface op) {
  SmallVector<SmallVector<const HostTensor *>> operands;
  for (int64_t rank = 0; rank < rankCount; ++rank)
    operands.push_back(getOperands(op, rank));
  SmallVector<SmallVector<HostTensor>> results =
      op.evaluateAll(operands, context);
  if (static_cast<int64_t>(results.size()) != rankCount)
    return op->emitError() << "reference semantics of '" << op->getName()
                           << "' gave results for " << results.size()
                           << " ranks of " << rankCount;
  for (auto [rank, tensors] : llvm::enumerate(results)) {
    context.coordinates = context.mesh.getCoordinates(rank);
    if (failed(setResults(op, rank, std::move(tensors))))
      return failure();
  }
  return success();
}

LogicalResult Interpreter::executeRegion(Operation *op) {
  FailureOr<std::vector<RankTensors>> results =
      run(op->getRegion(0).front(), {});
  if (failed(results))
    return failure();
  for (auto [result, tensors] : llvm::zip(op->getResults(), *results))
    values[result] = std::move(tensors);
  return success();
}

/// The arguments of the body in an iteration, except the carried ones.
std::vector<RankTensors> Interpreter::takeArguments(nd::ScanOp scan,
                                                    int64_t iteration) {
  std::vector<RankTensors> arguments;
  for (BlockArgument argument :
       scan.getBlock().getArguments().drop_front(scan.getCarriedCount())) {
    nd::Tie tie = scan.getTie(argument);
    const RankTensors &operand = values.find(tie.operand)->second;
    if (tie.kind == nd::TieKind::Whole) {
      arguments.push_back(operand);
      continue;
    }
    arguments.emplace_back();
    for (const HostTensor &block : operand)
      arguments.back().push_back(nd::takeEntry(block, scan.getDim(), iteration,
                                               nd::getTensorType(argument)));
  }
  return arguments;
}

/// Whether another iteration follows one that yielded this condition.
FailureOr<bool> Interpreter::goesOn(nd::ScanOp scan,
                                    const RankTensors &condition) {
  bool first = condition.front().data.front() != 0;
  for (const HostTensor &other : condition)
    if ((other.data.front() != 0) != first)
      return scan.emitError("the ranks do not agree on whether the loop over '")
             << scan.getDim() << "' goes on";
  return first;
}

/// The entries of iterations that do not run are NaN.
LogicalResult Interpreter::executeScan(nd::ScanOp scan) {
  std::vector<RankTensors> carried;
  for (Value initial : scan.getCarried())
    carried.push_back(values.find(initial)->second);
  std::vector<RankTensors> stacked(scan.getStackedResults().size(),
                                   RankTensors(rankCount));
  for (int64_t rank = 0; rank < rankCount; ++rank) {
    context.coordinates = context.mesh.getCoordinates(rank);
    for (auto [result, blocks] : llvm::zip(scan.getStackedResults(), stacked)) {
      blocks[rank] = context.makeTensor(result.getType());
      if (scan.getConditional())
        llvm::fill(blocks[rank].data, std::numeric_limits<double>::quiet_NaN());
    }
  }
  for (int64_t iteration : scan.getIterations()) {
    std::vector<RankTensors> arguments = std::move(carried);
    llvm::move(takeArguments(scan, iteration), std::back_inserter(arguments));
    FailureOr<std::vector<RankTensors>> yielded =
        run(scan.getBlock(), std::move(arguments));
    if (failed(yielded))
      return failure();
    auto firstEntry = yielded->begin() + scan.getCarriedCount();
    for (auto [entry, blocks] :
         llvm::zip(llvm::make_range(firstEntry, yielded->end()), stacked))
      for (auto [from, to] : llvm::zip(entry, blocks))
        nd::putEntry(from, scan.getDim(), iteration, to);
    carried.assign(yielded->begin(), firstEntry);
    if (!scan.getConditional())
      continue;
    FailureOr<bool> next = goesOn(scan, carried.front());
    if (failed(next))
      return failure();
    if (!*next)
      break;
  }
  llvm::move(stacked, std::back_inserter(carried));
  for (auto [result, tensors] : llvm::zip(scan.getResults(), carried))
    values[result] = std::move(tensors);
  return success();
}

FailureOr<std::vector<RankTensors>>
interpret(FunctionOpInterface function, nd::MeshAttr mesh,
          std::vector<RankTensors> arguments, const RunOptions &options) {
  if (!llvm::hasSingleElement(function.getFunctionBody()))
    return function.emitError()
           << "the interpreter expects a function of one block";
  Block &block = function.getFunctionBody().front();
  if (block.getNumArguments() != arguments.size())
    return function.emitError()
           << "got " << arguments.size() << " arguments, expected "
           << block.getNumArguments();
  return Interpreter(mesh, options).run(block, std::move(arguments));
}

} // namespace meshc::reference
