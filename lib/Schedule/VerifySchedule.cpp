//===- VerifySchedule.cpp - the guarantees of the schedule phase ----------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/Alignment.h"
#include "dialects/Exec/ArenaAttributes.h"
#include "lib/Schedule/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <map>

using namespace mlir;

namespace meshc::schedule {

#define GEN_PASS_DEF_VERIFYSCHEDULE
#include "lib/Schedule/Passes.h.inc"

namespace {
using exec::Accesses;
using Piece = exec::ArenaPiece;

/// What lies in the arena while a function runs.
class ArenaPicture {
public:
  /// The piece holds a tensor of the type; what overlapped it is lost.
  void write(Piece piece, Type type) {
    erase(piece);
    tensors[piece.begin] = {piece.end, type};
  }
  /// Whatever overlaps the piece is lost.
  void erase(Piece piece);
  bool holds(Piece piece, Type type) const {
    auto entry = tensors.find(piece.begin);
    return entry != tensors.end() && entry->second.first == piece.end &&
           entry->second.second == type;
  }

private:
  std::map<int64_t, std::pair<int64_t, Type>> tensors; ///< by begin
};

/// Walks one function.
class FunctionChecker {
public:
  FunctionChecker(exec::FuncOp function, ModuleOp module, int64_t arenaBytes)
      : function(function), module(module), mesh(nd::MeshAttr::of(module)),
        arenaBytes(arenaBytes) {}

  LogicalResult run();

private:
  LogicalResult visit(exec::StepOpInterface op, const Accesses &access);
  LogicalResult checkPlace(Operation *op, StringRef what, Piece piece);
  LogicalResult checkScratch(Operation *op, const Accesses &access);
  LogicalResult checkRunning(Operation *op, const Accesses &access);
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
  /// Begun and not waited for.
  SmallVector<std::pair<Operation *, Accesses>> running;
};
} // namespace

void ArenaPicture::erase(Piece piece) {
  auto entry = tensors.upper_bound(piece.begin);
  if (entry != tensors.begin())
    --entry;
  while (entry != tensors.end() && entry->first < piece.end)
    if (entry->second.first > piece.begin)
      entry = tensors.erase(entry);
    else
      ++entry;
}

Piece FunctionChecker::getPiece(Value buffer) const {
  return Piece::of(buffer, mesh);
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
                                          Piece piece) {
  if (piece.begin % 64 == 0 && piece.begin >= 0 && piece.end <= arenaBytes)
    return success();
  return op->emitOpError() << what << " bytes " << piece.begin << " to "
                           << piece.end
                           << "; offsets must be multiples of 64 within the "
                              "arena's "
                           << arenaBytes << " bytes";
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
    if (Piece piece = getPiece(buffer); !arena.holds(piece, buffer.getType()))
      return op->emitOpError() << "reads bytes " << piece.begin << " to "
                               << piece.end << ", where no op wrote a "
                               << buffer.getType() << " that is still there";
  for (Value buffer : writes)
    if (failed(checkPlace(op, "writes", getPiece(buffer))))
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
    arena.write(getPiece(buffer), buffer.getType());
  return success();
}

/// Whether the op leaves alone what collectives use; follows their beginnings
/// and ends.
LogicalResult FunctionChecker::checkRunning(Operation *op,
                                            const Accesses &access) {
  if (access.awaited) {
    auto *place = llvm::find_if(running, [&](const auto &begun) {
      return begun.second.begun == access.awaited;
    });
    if (place == running.end())
      return op->emitOpError("waits for a collective a second time");
    running.erase(place);
    return success();
  }
  for (const auto &[begun, accesses] : running)
    if (accesses.conflictsWith(access, mesh)) {
      auto diagnostic = op->emitOpError()
                        << "touches buffers of a collective that runs";
      diagnostic.attachNote(begun->getLoc()) << "begun here";
      return diagnostic;
    }
  if (access.begun)
    running.push_back({op, access});
  return success();
}

LogicalResult FunctionChecker::run() {
  bool isInitialize = function.getSymName() == "initialize";
  bool isEval = function.getSymName() == "eval_step";
  auto tensors = llvm::to_vector(module.getOps<exec::TensorOp>());
  for (exec::TensorOp tensor : tensors)
    if (!isInitialize && tensor.getRole() != "metric")
      arena.write(getPiece(tensor), getType(tensor));
  for (exec::StepOpInterface step : function.getSteps()) {
    Accesses access = step.getAccesses();
    if (failed(checkRunning(step, access)) || failed(visit(step, access)))
      return failure();
  }
  if (!running.empty())
    return running.front().first->emitOpError("is not waited for");
  for (exec::TensorOp tensor : tensors) {
    bool isState =
        tensor.getRole() == "parameter" || tensor.getRole() == "optimizer";
    bool isWritten = isInitialize
                         ? isState
                         : isState || tensor.getRole() == "input" ||
                               (!isEval && tensor.getRole() == "metric");
    if (isWritten && !arena.holds(getPiece(tensor), getType(tensor)))
      return function.emitOpError() << "leaves no " << tensor.getRole() << " '"
                                    << tensor.getTensorName() << "'";
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
