//===- DimHistory.h - where a value lost a dim ------------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_FRONTEND_DIMHISTORY_H
#define MESHC_FRONTEND_DIMHISTORY_H

#include "lib/Frontend/Emission.h"

namespace meshc::frontend {

/// What values are computed from, for notes and warnings.
class DimHistory {
public:
  explicit DimHistory(const Emission &emission) : emission(emission) {}

  /// The values that a value is computed from, through loops.
  llvm::SmallVector<mlir::Value> findSources(mlir::Value value) const;
  /// The place of the operation that removed `dim` from what `value` is
  /// computed from, if one did.
  std::optional<syntax::Span> findRemoval(mlir::Value value,
                                          llvm::StringRef dim) const;
  /// Notes that place.
  void noteRemoval(syntax::Diagnostic &diagnostic, syntax::Span at,
                   llvm::StringRef dim) const;

private:
  const Emission &emission;
};

} // namespace meshc::frontend

#endif // MESHC_FRONTEND_DIMHISTORY_H
