//===- ArenaAttributes.h - what passes tell each other of the arena -------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Accessors of the exec dialect's discardable attributes (Exec.td), except
/// memory orders (Order.h). Passes read and write them here only. The dialect
/// verifies them. Offsets are in bytes and multiples of 64; strides are in
/// bytes.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_EXEC_ARENAATTRIBUTES_H
#define MESHC_DIALECTS_EXEC_ARENAATTRIBUTES_H

#include "dialects/Exec/Interfaces/Accesses.h"
#include "dialects/Exec/Interfaces/LibraryOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace meshc::exec {

/// Where a value lies in the arena: the result of an op, an argument of a
/// function or of the body of an nd.scan. Nothing before the arena is planned.
std::optional<ArenaPlace> getPlace(mlir::Value value);
/// Whether the results of the op have places.
bool hasPlaces(mlir::Operation *op);
/// Sets those of the results of an op; of an nd.scan, also those of its body's
/// arguments, which come after the results.
void setPlaces(mlir::Operation *op, llvm::ArrayRef<ArenaPlace> places);
/// In the attributes of a function's argument.
void setOffset(mlir::NamedAttrList &attributes, mlir::MLIRContext *context,
               int64_t offset);

/// Scratch memory of one library op.
struct ScratchPlace {
  int64_t offset, bytes;
};
std::optional<ScratchPlace> getScratchPlace(mlir::Operation *op);
void setScratchPlace(mlir::Operation *op, ScratchPlace place);

/// Bytes of each rank's arena; nothing before it is planned.
std::optional<int64_t> getArenaBytes(mlir::ModuleOp module);
void setArenaBytes(mlir::ModuleOp module, int64_t bytes);

/// What the options say of the memory of a rank. The phase schedule reads it,
/// and dumps keep it until then.
struct MemoryAims {
  std::optional<int64_t> budget; ///< bytes of the arena: --memory-budget
  /// --recompute: whether values are computed again wherever this makes the
  /// arena smaller (full), or nowhere (none).
  bool recomputesAll = false, recomputesNothing = false;
};
void setMemoryAims(mlir::ModuleOp module, const MemoryAims &aims);
/// What setMemoryAims noted, which it removes.
MemoryAims takeMemoryAims(mlir::ModuleOp module);

/// Asks the phase schedule to compute fusions again where this lowers the peak
/// of a block (meshc-recompute-fusions).
void setRecompute(mlir::ModuleOp module);
/// Whether setRecompute was called; removes what it noted.
bool takeRecompute(mlir::ModuleOp module);
/// Notes that the highest peak would fall by so many bytes, at most, if fusions
/// were computed again.
void setRecomputeGain(mlir::ModuleOp module, int64_t bytes);
/// What setRecomputeGain noted, which it removes; 0 if nothing.
int64_t takeRecomputeGain(mlir::ModuleOp module);

/// Whether kernels are code for GPUs, emulated or not. The library of such a
/// target can do what follows a product in the product's call.
bool isForGpus(mlir::ModuleOp module);
void setForGpus(mlir::ModuleOp module);

/// The library whose functions the program's calls run in: the host's, unless
/// the module is marked (`exec.library_workspace`).
Library getLibrary(mlir::ModuleOp module);
void setLibraryWorkspace(mlir::ModuleOp module);

} // namespace meshc::exec

#endif // MESHC_DIALECTS_EXEC_ARENAATTRIBUTES_H
