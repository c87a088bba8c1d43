//===- ExampleDims.h - dims that count examples -----------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Which entries of a model's values belong to which example of a batch. An
/// incomplete batch has fewer examples than the model's inputs have entries;
/// entries of the other examples are padding.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_STEPS_STATISTICS_EXAMPLEDIMS_H
#define MESHC_LIB_STEPS_STATISTICS_EXAMPLEDIMS_H

#include "dialects/Nd/Ops/LoopOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/AffineExpr.h"

namespace meshc::steps {

/// The number of the example that an entry belongs to, from 0: a function of
/// the entry's indices along `dims`, which are sorted by name. Dim i of the
/// function is dims[i].
struct ExampleNumber {
  mlir::AffineExpr number;
  llvm::SmallVector<mlir::StringAttr, 1> dims;

  bool operator==(const ExampleNumber &other) const {
    return number == other.number && dims == other.dims;
  }
  bool has(mlir::StringAttr dim) const { return llvm::is_contained(dims, dim); }
  /// Whether it is the index along the only dim.
  bool isPlain() const {
    return dims.size() == 1 && llvm::isa<mlir::AffineDimExpr>(number);
  }
  /// Whether the number may fall where an index grows: a dim was merged as the
  /// inner one.
  bool hasModulo() const;
};

/// An entry may belong to several examples, as one of a matrix of their
/// distances. It is padding if one of them is.
using ExampleNumbers = llvm::SmallVector<ExampleNumber, 1>;

/// The dim along which a factor reads the operand; null if none.
inline mlir::StringAttr getOperandDim(const nd::Factor &factor,
                                      unsigned operand) {
  return factor.operandDims[operand];
}

/// Analysis of a function. Follows the partition rules of its ops.
class ExampleDims {
public:
  /// `counting`: the names of dims that count examples, wherever they arise.
  ExampleDims(mlir::func::FuncOp function,
              llvm::ArrayRef<mlir::StringAttr> counting);

  /// The examples of an entry of the value; none if it has no dim that counts
  /// them.
  llvm::ArrayRef<ExampleNumber> of(mlir::Value value) const;
  bool isPerExample(mlir::Value value) const { return !of(value).empty(); }
  /// Whether the value depends on the examples: it is per example, or computed
  /// from what is.
  bool dependsOnExamples(mlir::Value value) const {
    return dependent.contains(value);
  }

  /// An operand of which an op combines entries of several examples along a
  /// factor, such as a reduction or a sort.
  using CombinedVisitor = llvm::function_ref<void(
      unsigned operand, const nd::Factor &factor, const ExampleNumber &number)>;
  void forEachCombined(mlir::Operation *op, CombinedVisitor visit) const;

  /// An op for which padding of its operands cannot be told apart, such as a
  /// slice of the examples; null if there is none.
  mlir::Operation *getObstacle() const { return obstacle; }

private:
  bool add(mlir::Value value, const ExampleNumber &number);
  bool addDependence(mlir::Value value) {
    return dependent.insert(value).second;
  }
  bool addAll(mlir::Value value, mlir::Value from);
  void addCounting(mlir::Value value);
  void follow(mlir::Block &block);
  void follow(mlir::Operation *op);
  void followLoop(nd::ScanOp scan);
  bool followTie(nd::ScanOp scan, const nd::Tie &tie);
  bool joinsDifferent(mlir::Operation *op) const;
  void followFactors(mlir::Operation *op, unsigned operand,
                     const ExampleNumber &number);

  llvm::SmallDenseSet<mlir::StringAttr> counting;
  llvm::DenseMap<mlir::Value, ExampleNumbers> numbers;
  llvm::DenseSet<mlir::Value> dependent;
  mlir::Operation *obstacle = nullptr;
};

} // namespace meshc::steps

#endif // MESHC_LIB_STEPS_STATISTICS_EXAMPLEDIMS_H
