//===- PlaceDiagnostics.h - a file for every message ----------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_PIPELINE_PLACEDIAGNOSTICS_H
#define MESHC_LIB_PIPELINE_PLACEDIAGNOSTICS_H

#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/SourceMgr.h"

namespace meshc {

/// A handler of llvm::SourceMgr: prints a diagnostic on standard error. Of a
/// long source line it shows only what surrounds the column.
void printDiagnostic(const llvm::SMDiagnostic &diagnostic, void *context);

/// Gives diagnostics without a source location (.mlir text may contain
/// `loc(unknown)`) the location of the file's beginning.
class PlaceDiagnostics : public mlir::ScopedDiagnosticHandler {
public:
  /// Passes these diagnostics on to `printer`, which must be registered before
  /// and handles all others itself.
  PlaceDiagnostics(mlir::MLIRContext *context, llvm::StringRef file,
                   mlir::SourceMgrDiagnosticHandler &printer);

private:
  mlir::LogicalResult place(mlir::Diagnostic &diagnostic);

  mlir::Location beginning;
  mlir::SourceMgrDiagnosticHandler &printer;
};

} // namespace meshc

#endif // MESHC_LIB_PIPELINE_PLACEDIAGNOSTICS_H
