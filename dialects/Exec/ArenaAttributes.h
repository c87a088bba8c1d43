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
/// verifies them. Offsets are in bytes and multiples of 64.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_EXEC_ARENAATTRIBUTES_H
#define MESHC_DIALECTS_EXEC_ARENAATTRIBUTES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace meshc::exec {

/// Where the results of an op lie in the arena, one offset for each; nothing
/// before the arena is planned.
std::optional<llvm::ArrayRef<int64_t>> getOffsets(mlir::Operation *op);
void setOffsets(mlir::Operation *op, llvm::ArrayRef<int64_t> offsets);

/// Where an argument of a function lies in the arena.
std::optional<int64_t> getOffset(mlir::FunctionOpInterface function,
                                 unsigned argument);
/// In the attributes of the argument.
void setOffset(mlir::NamedAttrList &attributes, mlir::MLIRContext *context,
               int64_t offset);

/// Scratch memory of one product.
struct ScratchPlace {
  int64_t offset, bytes;
};
std::optional<ScratchPlace> getScratchPlace(mlir::Operation *product);
void setScratchPlace(mlir::Operation *product, ScratchPlace place);

/// Bytes of each rank's arena; nothing before it is planned.
std::optional<int64_t> getArenaBytes(mlir::ModuleOp module);
void setArenaBytes(mlir::ModuleOp module, int64_t bytes);

/// Whether the target can do what follows a product in the product's call.
bool supportsEpilogues(mlir::ModuleOp module);
void setSupportsEpilogues(mlir::ModuleOp module);

/// Whether the target's library has scratch memory of its own for products.
bool hasLibraryWorkspace(mlir::ModuleOp module);
void setLibraryWorkspace(mlir::ModuleOp module);

} // namespace meshc::exec

#endif // MESHC_DIALECTS_EXEC_ARENAATTRIBUTES_H
