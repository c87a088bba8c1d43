//===- WholeBatch.h - steps of generation for whole batches -----*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A model is that of a micro-batch, and generation goes on with as many texts
/// as the whole batch has. In a step of generation, the dim of the examples
/// gets the size that it has in the whole batch.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_STEPS_GENERATION_WHOLEBATCH_H
#define MESHC_LIB_STEPS_GENERATION_WHOLEBATCH_H

#include "dialects/Nd/Ops/LoopOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SetVector.h"

namespace meshc::steps {

/// The values of a step with a dim of examples, whose size can be multiplied.
class WholeBatch {
public:
  /// `examples` is a dim of `tokens`, an argument of the function.
  WholeBatch(mlir::func::FuncOp function, mlir::Value tokens,
             mlir::StringAttr examples);

  /// What needs the size that the dim has; null if nothing does.
  mlir::Operation *getObstacle() const { return obstacle; }
  /// Multiplies the dim's size in all values. There must be no obstacle.
  void multiply(int64_t count);

private:
  using Entry = std::pair<mlir::Value, mlir::StringAttr>;
  void add(mlir::Value value, mlir::StringAttr dim);
  void follow(mlir::Operation *op, Entry entry);
  void followLoop(nd::ScanOp scan, Entry entry);
  void followCache(mlir::func::ReturnOp end, Entry entry);
  void followArgument(mlir::BlockArgument argument, mlir::StringAttr dim);

  mlir::func::FuncOp function;
  mlir::Operation *obstacle = nullptr;
  /// Values, each with a dim that counts examples or groups of them. Both sides
  /// of an operation have the same ones.
  llvm::SetVector<Entry> entries;
};

} // namespace meshc::steps

#endif // MESHC_LIB_STEPS_GENERATION_WHOLEBATCH_H
