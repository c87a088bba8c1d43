//===- PositionDims.h - dims along which values vary with the text --------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_STEPS_GENERATION_POSITIONDIMS_H
#define MESHC_LIB_STEPS_GENERATION_POSITIONDIMS_H

#include "dialects/Nd/Ops/LoopOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"

namespace meshc::steps {

/// For each value of a function: whether the inputs reach it, and along which
/// of its dims its entries belong to the positions of the text. The dim of the
/// positions may have other names: a rename of `seq` to `memory` makes
/// `memory` such a dim.
class PositionDims {
public:
  /// `positions` is the dim of `tokens`, an argument of the function.
  PositionDims(mlir::func::FuncOp function, mlir::Value tokens,
               mlir::StringAttr positions);

  /// Whether an input of the model reaches the value.
  bool dependsOnText(mlir::Value value) const { return values.contains(value); }
  /// Names of dims, sorted.
  llvm::ArrayRef<mlir::StringAttr> of(mlir::Value value) const;
  /// Whether each iteration of the loop is a position of the text.
  bool isOverPositions(nd::ScanOp scan) const;

private:
  using Dims = llvm::SmallVector<mlir::StringAttr, 2>;
  void visit(mlir::Block &block);
  void visitOp(mlir::Operation &op);
  void visitScan(nd::ScanOp scan);
  /// Notes that inputs reach `value`, along `dims` among others.
  void add(mlir::Value value, llvm::ArrayRef<mlir::StringAttr> dims);
  /// The same for `to` as for `from`, less `without`.
  void pass(mlir::Value from, mlir::Value to, llvm::StringRef without = "");

  llvm::DenseMap<mlir::Value, Dims> values;
  bool changed = true;
};

} // namespace meshc::steps

#endif // MESHC_LIB_STEPS_GENERATION_POSITIONDIMS_H
