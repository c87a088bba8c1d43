//===- VerifySchedule.cpp - the guarantees of the schedule phase ----------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/Alignment.h"
#include "dialects/Exec/ArenaAttributes.h"
#include "dialects/Nd/StepNames.h"
#include "dialects/Nd/TensorAttributes.h"
#include "lib/Schedule/ArenaPicture.h"
#include "lib/Schedule/LoopDistances.h"
#include "lib/Schedule/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace meshc::schedule {

#define GEN_PASS_DEF_VERIFYSCHEDULE
#include "lib/Schedule/Passes.h.inc"

namespace {
using exec::Accesses;
using Piece = exec::ArenaPiece;

/// Walks one function; the body of a loop twice, in its first two iterations.
/// Later ones are like the second: pieces that move meet only those of the same
/// iteration and its neighbours (checkDistances).
class FunctionChecker {
public:
  FunctionChecker(exec::FuncOp function, ModuleOp module, int64_t arenaBytes)
      : function(function), module(module), mesh(nd::MeshAttr::of(module)),
        arenaBytes(arenaBytes), arena(mesh) {}

  LogicalResult run();

private:
  /// A loop whose body is walked.
  struct Active {
    exec::LoopOp loop;
    uint64_t begin; ///< in the time of the picture
    bool isSecond;  ///< iteration
  };
  /// A collective that was begun, with the iterations of the loops around it.
  struct Running {
    exec::StepOpInterface step;
    Accesses accesses;
    SmallVector<int64_t> iterations;
  };

  LogicalResult walk(ArrayRef<exec::StepOpInterface> steps);
  LogicalResult step(exec::StepOpInterface step);
  LogicalResult beginNext(exec::CollectiveOp collective);
  LogicalResult checkEnded(bool isLoop);
  LogicalResult visitLoop(exec::LoopOp loop);
  LogicalResult leaveLoop(exec::LoopOp loop);
  LogicalResult visit(exec::StepOpInterface op, const Accesses &access);
  LogicalResult checkRead(Operation *op, Value buffer);
  LogicalResult checkPlace(Operation *op, StringRef what, Piece piece,
                           int64_t alignment = exec::arenaAlignment);
  LogicalResult checkScratch(Operation *op, const Accesses &access);
  LogicalResult checkRunning(exec::StepOpInterface op, const Accesses &access);
  LogicalResult await(Operation *wait, Value token);
  LogicalResult
  checkOverlap(Operation *op, ValueRange reads, ValueRange writes,
               llvm::function_ref<bool(unsigned, unsigned)> mayWriteOver);
  Piece getPiece(Value buffer) const;
  Piece getPiece(exec::TensorOp tensor) const;
  exec::BufferType getType(exec::TensorOp tensor) const;

  exec::FuncOp function;
  ModuleOp module;
  nd::MeshAttr mesh;
  int64_t arenaBytes;
  ArenaPicture arena;
  /// Begun in this block and not waited for, in order.
  SmallVector<Running, 0> running;
  SmallVector<Active> active; ///< the outermost loop first
  SmallVector<int64_t> iterations;
};
} // namespace

Piece FunctionChecker::getPiece(Value buffer) const {
  return Piece::at(buffer, mesh, iterations);
}

Piece FunctionChecker::getPiece(exec::TensorOp tensor) const {
  int64_t offset = tensor.getOffset();
  return {offset, offset + getType(tensor).getTensor().getLocalBytes(mesh)};
}

exec::BufferType FunctionChecker::getType(exec::TensorOp tensor) const {
  return cast<exec::BufferType>(tensor.getType());
}

/// `mayWriteOver`: whether the op may write a result over an operand of the
/// same piece, by their numbers.
LogicalResult FunctionChecker::checkOverlap(
    Operation *op, ValueRange reads, ValueRange writes,
    llvm::function_ref<bool(unsigned, unsigned)> mayWriteOver) {
  for (auto [written, output] : llvm::enumerate(writes))
    for (auto [read, input] : llvm::enumerate(reads)) {
      Piece from = getPiece(input), to = getPiece(output);
      if (!from.overlaps(to) || (from == to && mayWriteOver(read, written)))
        continue;
      return op->emitOpError() << "writes bytes " << to.begin << " to "
                               << to.end << " over operand " << read
                               << ", which it reads at other points (bytes "
                               << from.begin << " to " << from.end << ")";
    }
  return success();
}

/// Whether a piece that the op writes is aligned and in the arena.
LogicalResult FunctionChecker::checkPlace(Operation *op, StringRef what,
                                          Piece piece, int64_t alignment) {
  if (piece.begin % alignment == 0 && piece.begin >= 0 &&
      piece.end <= arenaBytes)
    return success();
  return op->emitOpError() << what << " bytes " << piece.begin << " to "
                           << piece.end << "; offsets must be multiples of "
                           << alignment << " within the arena's " << arenaBytes
                           << " bytes";
}

/// Entries of stacked tensors are aligned like their elements.
static int64_t getNeededAlignment(Value buffer) {
  auto type = dyn_cast<exec::BufferType>(buffer.getType());
  auto op = buffer.getDefiningOp<exec::PieceOpInterface>();
  return type && !op.getPlace().strides.empty()
             ? exec::getElementBytes(type.getTensor())
             : exec::arenaAlignment;
}

/// Whether the buffer holds what the op reads: in this iteration, and in later
/// ones if no iteration writes it.
LogicalResult FunctionChecker::checkRead(Operation *op, Value buffer) {
  auto type = cast<exec::BufferType>(buffer.getType());
  Piece piece = getPiece(buffer);
  std::optional<uint64_t> time = arena.find(piece, type);
  for (auto [level, each] : llvm::enumerate(active)) {
    if (!time || !each.isSecond || *time >= each.begin)
      continue;
    SmallVector<int64_t> later = iterations;
    later[level] = each.loop.getLast();
    Piece last = Piece::at(buffer, mesh, later);
    piece = {std::min(piece.begin, last.begin), std::max(piece.end, last.end)};
    if (last.begin != getPiece(buffer).begin)
      time = arena.find(piece, type);
  }
  if (time)
    return success();
  return op->emitOpError() << "reads bytes " << piece.begin << " to "
                           << piece.end << ", where no op wrote a "
                           << buffer.getType() << " that is still there";
}

LogicalResult FunctionChecker::checkScratch(Operation *op,
                                            const Accesses &access) {
  for (Value scratch : access.scratch) {
    Piece piece = getPiece(scratch);
    if (failed(checkPlace(op, "has scratch memory at", piece)))
      return failure();
    for (ValueRange buffers :
         {ValueRange(access.reads), ValueRange(access.writes)})
      for (Value buffer : buffers)
        if (Piece other = getPiece(buffer); piece.overlaps(other))
          return op->emitOpError()
                 << "has scratch memory at bytes " << piece.begin << " to "
                 << piece.end << ", where it reads or writes a "
                 << buffer.getType() << " (bytes " << other.begin << " to "
                 << other.end << ")";
  }
  return success();
}

LogicalResult FunctionChecker::visit(exec::StepOpInterface op,
                                     const Accesses &access) {
  ValueRange reads = access.reads, writes = access.writes;
  for (Value buffer : reads)
    if (failed(checkRead(op, buffer)))
      return failure();
  for (Value buffer : writes)
    if (failed(checkPlace(op, "writes", getPiece(buffer),
                          getNeededAlignment(buffer))))
      return failure();
  if (failed(
          checkOverlap(op, reads, writes, [&](unsigned read, unsigned written) {
            return op.mayWriteOver(read, written);
          })))
    return failure();
  exec::KernelUse use = op.getKernelUse();
  if (use.kernel &&
      failed(checkOverlap(op, use.inputs, use.outputs,
                          [&](unsigned read, unsigned written) {
                            return exec::canWriteOver(op, use, read, written);
                          })))
    return failure();
  for (unsigned written = 0; written < writes.size(); ++written)
    for (unsigned other = 0; other < written; ++other)
      if (getPiece(writes[written]).overlaps(getPiece(writes[other])))
        return op->emitOpError() << "writes results " << other << " and "
                                 << written << " to the same bytes";
  if (failed(checkScratch(op, access)))
    return failure();
  for (Value scratch : access.scratch)
    arena.erase(getPiece(scratch));
  for (Value buffer : writes)
    arena.write(getPiece(buffer), cast<exec::BufferType>(buffer.getType()));
  return success();
}

/// The first one that was begun with the token ends.
LogicalResult FunctionChecker::await(Operation *wait, Value token) {
  auto *place = llvm::find_if(running, [&](const Running &begun) {
    return begun.accesses.begun == token;
  });
  if (place != running.end()) {
    running.erase(place);
    return success();
  }
  // The first iteration has nothing that was begun in the one before.
  bool isFirst = !active.empty() && !active.back().isSecond &&
                 wait->isBeforeInBlock(token.getDefiningOp());
  return isFirst ? success()
                 : wait->emitOpError("waits for a collective a second time");
}

/// Whether the op leaves alone what collectives use; follows their beginnings
/// and ends.
LogicalResult FunctionChecker::checkRunning(exec::StepOpInterface op,
                                            const Accesses &access) {
  if (access.awaited)
    return await(op, access.awaited);
  for (const Running &begun : running) {
    auto meet = [&](Value a, Value b) {
      return getExtent(a, mesh, begun.iterations)
          .overlaps(getExtent(b, mesh, iterations));
    };
    if (begun.accesses.conflictsWith(access, meet)) {
      auto diagnostic = op->emitOpError()
                        << "touches buffers of a collective that runs";
      diagnostic.attachNote(begun.step->getLoc()) << "begun here";
      return diagnostic;
    }
  }
  if (access.begun)
    running.push_back({op, access, iterations});
  return success();
}

LogicalResult FunctionChecker::step(exec::StepOpInterface step) {
  Accesses access = step.getAccesses();
  if (failed(checkRunning(step, access)))
    return failure();
  auto loop = dyn_cast<exec::LoopOp>(step.getOperation());
  return loop ? visitLoop(loop) : visit(step, access);
}

/// In an iteration, what belongs to the next one; the last one begins nothing.
LogicalResult FunctionChecker::beginNext(exec::CollectiveOp collective) {
  exec::LoopOp loop = active.back().loop;
  if (iterations.back() == loop.getLast())
    return success();
  iterations.back() += loop.getDirection();
  LogicalResult result = step(collective);
  iterations.back() -= loop.getDirection();
  return result;
}

LogicalResult FunctionChecker::walk(ArrayRef<exec::StepOpInterface> steps) {
  for (exec::StepOpInterface each : steps) {
    auto collective = dyn_cast<exec::CollectiveOp>(each.getOperation());
    bool isAhead = collective && collective.getAhead();
    if (failed(isAhead ? beginNext(collective) : step(each)))
      return failure();
  }
  return success();
}

/// Whether at the end of a function or an iteration only those run that the
/// next iteration waits for.
LogicalResult FunctionChecker::checkEnded(bool isLoop) {
  for (Running &begun : running) {
    auto collective = cast<exec::CollectiveOp>(begun.step.getOperation());
    if (!isLoop || !collective.goesOn())
      return collective.emitOpError("is not waited for");
  }
  return success();
}

LogicalResult FunctionChecker::visitLoop(exec::LoopOp loop) {
  if (failed(checkDistances(loop, iterations)))
    return failure();
  SmallVector<exec::StepOpInterface> steps = loop.getSteps();
  SmallVector<Running, 0> outer;
  std::swap(outer, running);
  active.push_back({loop, arena.now(), false});
  iterations.push_back(loop.getFirst());
  for (exec::CollectiveOp collective : loop.getBegunAhead())
    if (failed(step(collective)))
      return failure();
  if (failed(walk(steps)) || failed(checkEnded(true)))
    return failure();
  if (loop.getSize() > 1) {
    iterations.back() += loop.getDirection();
    active.back().isSecond = true;
    if (failed(walk(steps)) || failed(checkEnded(true)) ||
        failed(leaveLoop(loop)))
      return failure();
  }
  active.pop_back();
  iterations.pop_back();
  std::swap(outer, running);
  return success();
}

/// After two iterations: what all of them together leave in pieces that move.
LogicalResult FunctionChecker::leaveLoop(exec::LoopOp loop) {
  Accesses accesses = loop.getAccesses();
  SmallVector<std::pair<Piece, exec::BufferType>> left;
  SmallVector<std::pair<Piece, exec::BufferType>> touched;
  for (Value buffer : accesses.writes) {
    auto pieceIn = [&](int64_t iteration) {
      SmallVector<int64_t> at = iterations;
      at.back() = iteration;
      return getExtent(buffer, mesh, at);
    };
    Piece first = pieceIn(loop.getFirst()), second = pieceIn(iterations.back());
    Piece last = pieceIn(loop.getLast());
    auto piece = buffer.getDefiningOp<exec::PieceOpInterface>();
    if (piece.getPlace().strides.empty() || first == second)
      continue;
    Piece all = {std::min(first.begin, last.begin),
                 std::max(first.end, last.end)};
    if (failed(checkPlace(loop, "writes", all, getNeededAlignment(buffer))))
      return failure();
    auto type = cast<exec::BufferType>(buffer.getType());
    touched.push_back({all, type});
    bool isDense =
        std::abs(second.begin - first.begin) == first.end - first.begin;
    if (isDense && arena.find(first, type) && arena.find(second, type))
      left.push_back({all, type});
  }
  for (auto [piece, type] : touched)
    arena.erase(piece, type);
  for (auto [piece, type] : left)
    arena.write(piece, type);
  return success();
}

LogicalResult FunctionChecker::run() {
  bool isInitialize = nd::isStep(function, nd::Step::Initialize);
  bool isTraining = llvm::none_of(nd::allSteps, [&](nd::Step step) {
    return step != nd::Step::Train && nd::isStep(function, step);
  });
  auto tensors = llvm::to_vector(module.getOps<exec::TensorOp>());
  for (exec::TensorOp tensor : tensors)
    if (!isInitialize && !nd::isOutput(tensor.getRole()))
      arena.write(getPiece(tensor), getType(tensor), /*isResident=*/true);
  if (failed(walk(function.getSteps())) || failed(checkEnded(false)))
    return failure();
  for (exec::TensorOp tensor : tensors) {
    bool isWritten =
        isInitialize
            ? nd::isState(tensor.getRole())
            : nd::isCarriedBetweenSteps(tensor.getRole()) ||
                  tensor.getRole() == nd::TensorRole::Input ||
                  (isTraining && (tensor.getRole() == nd::TensorRole::Metric ||
                                  nd::isOfTraining(tensor.getRole())));
    if (isWritten && !arena.find(getPiece(tensor), getType(tensor)))
      return function.emitOpError()
             << "leaves no " << nd::stringifyTensorRole(tensor.getRole())
             << " '" << tensor.getTensorName() << "'";
  }
  return success();
}

namespace {
struct VerifySchedule : impl::VerifyScheduleBase<VerifySchedule> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    std::optional<int64_t> bytes = exec::getArenaBytes(module);
    if (!bytes) {
      module.emitError("has no exec.arena_bytes");
      return signalPassFailure();
    }
    for (Operation &op : *module.getBody()) {
      if (isa<func::FuncOp>(op)) {
        op.emitOpError("remains after the schedule phase");
        return signalPassFailure();
      }
      auto function = dyn_cast<exec::FuncOp>(op);
      if (function && failed(FunctionChecker(function, module, *bytes).run()))
        return signalPassFailure();
    }
  }
};
} // namespace

} // namespace meshc::schedule
