//===- DimOrder.h - the order in which a function's tensors declare dims --===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_KERNELS_DIMORDER_H
#define MESHC_LIB_KERNELS_DIMORDER_H

#include "dialects/Exec/Order.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace meshc::kernels {

/// One sequence of all dim names of a function, as close as possible to the
/// declared orders of its arguments and results, inputs before parameters. A
/// dim that an op introduces comes after the dim that runs along it, or last.
/// Tensors whose order is free use this sequence, so that most tensors agree.
class DimOrder {
public:
  explicit DimOrder(mlir::func::FuncOp function);

  /// The dims in this order.
  exec::Order sort(llvm::ArrayRef<mlir::StringAttr> dims) const;
  exec::Order sort(mlir::Value value) const;
  /// Whether `a` comes before `b`.
  bool isBefore(mlir::StringAttr a, mlir::StringAttr b) const;

private:
  void addSequence(llvm::ArrayRef<mlir::StringAttr> dims);
  void addOp(mlir::Operation *op);
  void number();

  exec::Order sequence;
  llvm::DenseMap<mlir::StringAttr, size_t> positions;
};

} // namespace meshc::kernels

#endif // MESHC_LIB_KERNELS_DIMORDER_H
