//===- Emission.h - the program that is being emitted -----------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Private to this folder: the texts and the place that have been reached,
/// which all parts of the emission share.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_FRONTEND_EMISSION_H
#define MESHC_FRONTEND_EMISSION_H

#include "lib/Frontend/Scope.h"

#include "mlir/IR/Builders.h"

namespace meshc::frontend {

/// A function being inlined.
struct Frame {
  const syntax::FunctionDeclaration *function;
  mlir::Location location;
  syntax::Span call; ///< the function's name in the call
};

/// The program that is being emitted, and the current place.
struct Emission {
  Emission(const syntax::SourceSet &sources, syntax::Diagnostics &diagnostics,
           syntax::Declarations &declarations, mlir::MLIRContext &context);

  /// The file of the current place.
  syntax::Module &file() const { return scope ? *scope->module : declarations; }
  /// Whether the place is in an imported file, which names no dims but those of
  /// arguments. [L10.3]
  bool isImported() const { return &file() != &declarations; }
  /// An error at a place; inlined, it gets a note at each call around it.
  syntax::Diagnostic &error(syntax::Span at, std::string message) {
    return diagnostics.error(at, std::move(message));
  }
  mlir::Location locate(syntax::Span span) const;

  /// The innermost loop around the current place, also around calls, that runs
  /// over `dim`; null if there is none. No tensor inside it has the dim. [L4.6]
  Loop *findLoop(llvm::StringRef dim) const;
  /// Notes the loop around the current place that runs over `dim`, if any.
  void noteLoop(syntax::Diagnostic &diagnostic, llvm::StringRef dim) const;
  /// The block that has the loop.
  mlir::Block *blockAround(const Loop &loop) const;

  mlir::OpBuilder builder; ///< at the current place
  const syntax::SourceSet &sources;
  syntax::Diagnostics &diagnostics;
  syntax::Declarations &declarations;

  // The current place.

  Scope *scope = nullptr;
  llvm::SmallVector<Frame> frames;  ///< of the calls around it
  llvm::SmallVector<Loop *> loops;  ///< around it, also of calls
  mlir::Block *modelBody = nullptr; ///< or the region of nd.train
  bool isTraining = false;          ///< in the region of nd.train
  /// Whose body and gradient are being emitted, the outermost one. [L4.15]
  const syntax::FunctionDeclaration *withGradient = nullptr;
  /// The blocks of gradients at the current place, outermost first, and how
  /// many loops are around each.
  llvm::SmallVector<std::pair<mlir::Block *, size_t>> gradientBlocks;
  /// A requirement of the function or model being emitted is not met: the
  /// statements behind it are skipped. [L4.17]
  bool isUnmet = false;

  // What has been emitted.

  llvm::DenseMap<mlir::Operation *, syntax::Span> places; ///< of ops
  std::vector<syntax::Name> tensorNames; ///< that a rule's scope may name
  /// The model's inputs, parameters and metrics, and their places.
  std::map<std::string_view, syntax::Span> declared;
  /// The model's metrics.
  llvm::SmallVector<std::pair<syntax::Name, mlir::Value>> results;
};

} // namespace meshc::frontend

#endif // MESHC_FRONTEND_EMISSION_H
