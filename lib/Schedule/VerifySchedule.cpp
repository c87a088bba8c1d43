//===- VerifySchedule.cpp - the guarantees of the schedule phase ----------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Schedule/Passes.h"
#include "lib/Schedule/Residence.h"
#include <map>

using namespace mlir;

namespace meshc::schedule {

#define GEN_PASS_DEF_VERIFYSCHEDULE
#include "lib/Schedule/Passes.h.inc"

namespace {
using Piece = ArenaPiece;

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
  LogicalResult visit(Operation *op, const BufferAccess &access);
  LogicalResult checkPlace(Operation *op, StringRef what, Piece piece);
  LogicalResult checkScratch(Operation *op, const BufferAccess &access);
  LogicalResult checkRunning(Operation *op);
  LogicalResult checkOverlap(Operation *op, exec::KernelOp kernel,
                             unsigned read, unsigned written, ValueRange reads,
                             ValueRange writes);
  LogicalResult checkEpilogue(exec::GemmOp gemm);
  Piece getPiece(Value buffer) const;
  Piece getPiece(exec::TensorOp tensor) const;
  exec::BufferType getType(exec::TensorOp tensor) const;

  exec::FuncOp function;
  ModuleOp module;
  nd::MeshAttr mesh;
  int64_t arenaBytes;
  ArenaPicture arena;
  SmallVector<exec::CollectiveOp> running; ///< begun and not waited for
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

/// `kernel`: reads and writes exactly what is given; null for other ops.
LogicalResult FunctionChecker::checkOverlap(Operation *op,
                                            exec::KernelOp kernel,
                                            unsigned read, unsigned written,
                                            ValueRange reads,
                                            ValueRange writes) {
  Piece from = getPiece(reads[read]), to = getPiece(writes[written]);
  if (!from.overlaps(to))
    return success();
  auto collective = dyn_cast<exec::CollectiveOp>(op);
  bool isAllowed = collective && collective.getKind() == "all_reduce" &&
                   read == written && from == to;
  auto fromType = cast<exec::BufferType>(reads[read].getType());
  auto toType = cast<exec::BufferType>(writes[written].getType());
  if (kernel)
    isAllowed = from == to && fromType.getOrder() == toType.getOrder() &&
                canWriteOver(kernel.getBody().front(), read, written,
                             kernel.getPlan(), mesh);
  if (isAllowed)
    return success();
  return op->emitOpError() << "writes bytes " << to.begin << " to " << to.end
                           << " over operand " << read
                           << ", which it reads at other points (bytes "
                           << from.begin << " to " << from.end << ")";
}

/// Its kernel may run over c alone.
LogicalResult FunctionChecker::checkEpilogue(exec::GemmOp gemm) {
  if (!gemm.getKernel())
    return success();
  auto kernel = module.lookupSymbol<exec::KernelOp>(*gemm.getKernel());
  for (unsigned read = 0; read < gemm.getInputs().size(); ++read)
    for (unsigned written = 0; written < gemm.getOutputs().size(); ++written)
      if (failed(checkOverlap(gemm, kernel, read, written, gemm.getInputs(),
                              gemm.getOutputs())))
        return failure();
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
                                            const BufferAccess &access) {
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

LogicalResult FunctionChecker::visit(Operation *op,
                                     const BufferAccess &access) {
  ValueRange reads = access.reads, writes = access.writes;
  exec::KernelOp kernel;
  if (auto launch = dyn_cast<exec::LaunchOp>(op))
    kernel = module.lookupSymbol<exec::KernelOp>(launch.getKernel());
  if (auto gemm = dyn_cast<exec::GemmOp>(op);
      gemm && failed(checkEpilogue(gemm)))
    return failure();
  for (Value buffer : reads)
    if (Piece piece = getPiece(buffer); !arena.holds(piece, buffer.getType()))
      return op->emitOpError() << "reads bytes " << piece.begin << " to "
                               << piece.end << ", where no op wrote a "
                               << buffer.getType() << " that is still there";
  for (unsigned written = 0; written < writes.size(); ++written) {
    Piece piece = getPiece(writes[written]);
    if (failed(checkPlace(op, "writes", piece)))
      return failure();
    for (unsigned read = 0; read < reads.size(); ++read)
      if (failed(checkOverlap(op, kernel, read, written, reads, writes)))
        return failure();
    for (unsigned other = 0; other < written; ++other)
      if (piece.overlaps(getPiece(writes[other])))
        return op->emitOpError() << "writes results " << other << " and "
                                 << written << " to the same bytes";
  }
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
LogicalResult FunctionChecker::checkRunning(Operation *op) {
  if (auto wait = dyn_cast<exec::WaitOp>(op)) {
    auto begun = wait.getToken().getDefiningOp<exec::CollectiveOp>();
    auto *place = llvm::find(running, begun);
    if (place == running.end())
      return op->emitOpError("waits for a collective a second time");
    running.erase(place);
    return success();
  }
  for (exec::CollectiveOp collective : running)
    if (disturbs(op, collective, mesh)) {
      auto diagnostic = op->emitOpError()
                        << "touches buffers of a collective that runs";
      diagnostic.attachNote(collective.getLoc()) << "begun here";
      return diagnostic;
    }
  if (auto collective = dyn_cast<exec::CollectiveOp>(op))
    running.push_back(collective);
  return success();
}

LogicalResult FunctionChecker::run() {
  bool isInitialize = function.getSymName() == "initialize";
  bool isEval = function.getSymName() == "eval_step";
  auto tensors = llvm::to_vector(module.getOps<exec::TensorOp>());
  for (exec::TensorOp tensor : tensors)
    if (!isInitialize && tensor.getRole() != "metric")
      arena.write(getPiece(tensor), getType(tensor));
  for (Operation &op : function.getBody().front()) {
    BufferAccess access = BufferAccess::of(&op);
    if (failed(checkRunning(&op)) || failed(visit(&op, access)))
      return failure();
  }
  if (!running.empty())
    return running.front().emitOpError("is not waited for");
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
    auto bytes = module->getAttrOfType<IntegerAttr>("exec.arena_bytes");
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
      if (function &&
          failed(FunctionChecker(function, module, bytes.getInt()).run()))
        return signalPassFailure();
    }
  }
};
} // namespace

} // namespace meshc::schedule
