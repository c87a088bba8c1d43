//===- Explain.h - why a value lies as it does ----------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `meshc --explain`: of some values, which rules or which ops decided how they
/// lie, and what sends them to other ranks for whom. What another rule would
/// cost is found by lib/Pipeline, which compiles the program with it.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_REPORT_EXPLAIN_H
#define MESHC_LIB_REPORT_EXPLAIN_H

#include "dialects/Nd/NdTypes.h"
#include "mlir/IR/BuiltinOps.h"
#include <string>
#include <vector>

namespace meshc::report {

/// Which values are asked about.
struct Question {
  std::string name;  ///< theirs; empty: those of a line
  unsigned line = 0; ///< of the model's file, from 1

  /// A number is a line; all else is a name.
  static Question of(llvm::StringRef text);
};

struct Explanation {
  std::string text; ///< in lines; empty if there is no such value
  /// The name by which a rule of a layout places the first of the values; empty
  /// if none can.
  std::string scope;
  nd::TensorType type; ///< how that value lies
};

/// Explains the values of a module after the partition phase; `initialize` is
/// left out, which makes state as it lies. A name is that of an input, of a
/// parameter or of an assigned value, or its last parts, as in "attention.wq";
/// a parameter's name stands for its gradient, too. Of a line, the values with
/// a name are explained, and those that a collective moves.
Explanation explain(mlir::ModuleOp module, const Question &question);

/// The names that a question may have, each once, in the program's order.
std::vector<std::string> listNames(mlir::ModuleOp module);
/// The lines that a question may have, in ascending order.
std::vector<unsigned> listLines(mlir::ModuleOp module);

} // namespace meshc::report

#endif // MESHC_LIB_REPORT_EXPLAIN_H
