//===- PlaceDiagnostics.cpp - a file for every message --------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Pipeline/PlaceDiagnostics.h"

using namespace mlir;

namespace meshc {

/// Whether a line of a file is somewhere in the location.
static bool hasPlace(Location location) {
  return location
      ->walk([](Location part) {
        auto file = dyn_cast<FileLineColLoc>(part);
        return file && file.getLine() > 0 ? WalkResult::interrupt()
                                          : WalkResult::advance();
      })
      .wasInterrupted();
}

PlaceDiagnostics::PlaceDiagnostics(MLIRContext *context, StringRef file,
                                   SourceMgrDiagnosticHandler &printer)
    : ScopedDiagnosticHandler(context),
      beginning(FileLineColLoc::get(context, file, 1, 1)), printer(printer) {
  setHandler([this](Diagnostic &diagnostic) { return place(diagnostic); });
}

LogicalResult PlaceDiagnostics::place(Diagnostic &diagnostic) {
  if (hasPlace(diagnostic.getLocation()))
    return failure(); // for the printer
  // The source line there is unrelated.
  printer.emitDiagnostic(beginning, diagnostic.str(), diagnostic.getSeverity(),
                         /*displaySourceLine=*/false);
  for (Diagnostic &note : diagnostic.getNotes())
    printer.emitDiagnostic(
        hasPlace(note.getLocation()) ? note.getLocation() : beginning,
        note.str(), note.getSeverity(), hasPlace(note.getLocation()));
  return success();
}

} // namespace meshc
