//===- Formulas.h - values as formulas ------------------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_TOOLS_DESCRIBE_OPS_FORMULAS_H
#define MESHC_TOOLS_DESCRIBE_OPS_FORMULAS_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include <map>
#include <set>
#include <string>
#include <utility>

namespace meshc {

/// The sizes of the dims of an example, by their names: an op may have dims of
/// one name in several sizes.
using DimSizes = std::map<std::string, std::set<int64_t>>;

/// Element type and dims of a tensor: `f32[b, m]`. With `sizes`, a dim also has
/// its size if that is not among those of its name there: `f32[b, m = 2]`.
std::string writeType(mlir::Type type, const DimSizes *sizes = nullptr);

/// Writes values of nd ops as formulas: operands by the names that they were
/// given, constants as numbers, all else as calls of the ops. A call has the
/// type of the result if operands and attributes do not determine it. A value
/// that is used more than once, and each result of an op with several, is a
/// line of its own: `t1 = exp(input)`.
class Formulas {
public:
  /// `value` has this name in formulas.
  void name(mlir::Value value, std::string name);
  /// A line `name = formula`, behind those of the values that it needs.
  void add(std::string name, mlir::Value value);
  /// All lines so far, each indented by four spaces.
  std::string getText() const;

  /// The op as a call, or as operators between its operands.
  std::string writeCall(mlir::Operation *op);

private:
  std::string write(mlir::Value value);

  llvm::DenseMap<mlir::Value, std::string> names;
  std::vector<std::pair<std::string, std::string>> lines;
  unsigned temporaries = 0;
};

} // namespace meshc

#endif // MESHC_TOOLS_DESCRIBE_OPS_FORMULAS_H
