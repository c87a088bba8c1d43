//===- PlaceDiagnostics.cpp - a file for every message --------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Pipeline/PlaceDiagnostics.h"
#include "meshc/EscapeControls.h"
#include <algorithm>

using namespace mlir;

namespace meshc {

/// A line of a file with '?' in place of each byte that a terminal might not
/// show, so that columns stay as they are.
static std::string hideControls(StringRef line) {
  std::string shown;
  while (!line.empty()) {
    Utf8Character next = decodeUtf8(line);
    size_t bytes = std::max<size_t>(next.bytes, 1);
    bool isShown =
        line.front() == '\t' || (next.bytes > 0 && !isControl(next.code));
    shown += isShown ? line.take_front(bytes).str() : std::string(bytes, '?');
    line = line.drop_front(bytes);
  }
  return shown;
}

/// The diagnostic with names and a source line that are safe to show.
static llvm::SMDiagnostic makeSafe(const llvm::SMDiagnostic &diagnostic) {
  static const llvm::SourceMgr none;
  const llvm::SourceMgr *sources = diagnostic.getSourceMgr();
  return {sources ? *sources : none,
          diagnostic.getLoc(),
          escapeControls(diagnostic.getFilename()),
          diagnostic.getLineNo(),
          diagnostic.getColumnNo(),
          diagnostic.getKind(),
          escapeControls(diagnostic.getMessage()),
          hideControls(diagnostic.getLineContents()),
          diagnostic.getRanges(),
          diagnostic.getFixIts()};
}

void printDiagnostic(const llvm::SMDiagnostic &unsafe, void *) {
  constexpr size_t shownBytes = 80; // on each side of the column
  llvm::SMDiagnostic diagnostic = makeSafe(unsafe);
  StringRef line = diagnostic.getLineContents();
  if (line.size() <= 2 * shownBytes) {
    diagnostic.print(/*ProgName=*/nullptr, llvm::errs());
    return;
  }
  size_t column = std::max(diagnostic.getColumnNo(), 0);
  size_t begin = column - std::min(column, shownBytes);
  std::string start = begin == 0 ? "" : "...";
  StringRef end = column + shownBytes < line.size() ? "..." : "";
  std::string place = (diagnostic.getFilename() + ":" +
                       Twine(diagnostic.getLineNo()) + ":" + Twine(column + 1))
                          .str();
  llvm::SMDiagnostic(place, diagnostic.getKind(), diagnostic.getMessage())
      .print(/*ProgName=*/nullptr, llvm::errs());
  std::string shown = start + line.slice(begin, column + shownBytes).str();
  // A tab takes several columns, and the mark below must stay in its own.
  std::replace(shown.begin(), shown.end(), '\t', ' ');
  llvm::errs() << shown << end << '\n';
  llvm::errs().indent(start.size() + column - begin) << "^\n";
}

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
