//===- Diagnostic.h - errors with places and notes ------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The front end's diagnostics. They are collected, not printed:
/// lib/Frontend passes them to MLIR's engine, whose handler shows file, line,
/// column, the source line and a caret. [L9.1]
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_FRONTEND_SYNTAX_DIAGNOSTIC_H
#define MESHC_FRONTEND_SYNTAX_DIAGNOSTIC_H

#include "lib/Frontend/Syntax/Source.h"

#include <set>
#include <string>
#include <vector>

namespace meshc::syntax {

/// Another place that a diagnostic refers to, or a hint.
struct Note {
  Span span;
  std::string message;
};

enum class Severity { Error, Warning };

/// One message: lower case, names in quotes, what was found and expected.
struct Diagnostic {
  Severity severity = Severity::Error;
  Span span;
  std::string message;
  std::vector<Note> notes;

  Diagnostic &note(Span at, std::string text) {
    notes.push_back({at, std::move(text)});
    return *this;
  }
};

/// Collects the diagnostics of one run. After `maxErrors` errors it drops
/// further ones and says so once, so that the output is bounded. [L9.2]
class Diagnostics {
public:
  static constexpr unsigned maxErrors = 40;

  /// Until the matching leave(), each error gets a note that says how its place
  /// was reached: a call, an import. The innermost ones are shown, and first.
  void enter(Span at, std::string message);
  void leave() { path.pop_back(); }

  /// Adds an error. A second error at the same place is dropped: it would be
  /// a consequence of the first. The reference is valid until the next call.
  Diagnostic &error(Span at, std::string message);
  Diagnostic &warning(Span at, std::string message);

  bool hasErrors() const { return errorCount != 0; }
  /// True once errors are dropped; phases stop then.
  bool isFull() const { return errorCount > maxErrors; }
  const std::vector<Diagnostic> &all() const { return diagnostics; }

private:
  std::vector<Diagnostic> diagnostics;
  std::set<std::pair<uint32_t, uint32_t>> errorPlaces;
  std::vector<Note> path; ///< to the current place, outermost first
  Diagnostic dropped;
  unsigned errorCount = 0;
};

/// `text` in single quotes, bytes that are not printable ASCII as \xNN, cut
/// after `maxShown` of them.
std::string quote(std::string_view text, size_t maxShown = 60);

} // namespace meshc::syntax

#endif // MESHC_FRONTEND_SYNTAX_DIAGNOSTIC_H
