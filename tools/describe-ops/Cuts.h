//===- Cuts.h - what cutting a dim of an op costs -------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_TOOLS_DESCRIBE_OPS_CUTS_H
#define MESHC_TOOLS_DESCRIBE_OPS_CUTS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <string>
#include <vector>

namespace meshc {

/// What happens where a layout cuts some dims of a function.
struct Cut {
  std::vector<std::string> dims; ///< each alone, with the same consequence
  /// The collectives in Markdown, such as "2 × `all_gather` of `f32[b]`".
  std::vector<std::string> collectives;
};

/// Compiles `function` up to its collectives once for each of its dims, cut
/// over a mesh axis with two ranks. The dims are those of its arguments and
/// results, sorted by name. Fails, with an error, if a phase does.
mlir::FailureOr<std::vector<Cut>> findCuts(mlir::func::FuncOp function);

} // namespace meshc

#endif // MESHC_TOOLS_DESCRIBE_OPS_CUTS_H
