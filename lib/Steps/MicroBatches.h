//===- MicroBatches.h - a step in several parts -----------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_STEPS_MICROBATCHES_H
#define MESHC_LIB_STEPS_MICROBATCHES_H

#include "dialects/Nd/Ops/LoopOps.h"
#include "lib/Steps/ModelParts.h"

namespace meshc::steps {

/// The type of an input of the model in a step that runs the model `count`
/// times: it has `count` times the examples.
mlir::Type getBatchType(const StepTensor &input, int64_t count);

/// A loop over the micro-batches of a step, which sums what it computes of
/// them. Example i of the batch is in micro-batch i mod `count`. So each rank
/// divides the examples that it has, however the batch is cut, and the
/// micro-batches are the same under every layout.
class MicroBatchLoop {
public:
  /// Divides `batches`, values for the model's inputs, before the place of
  /// `builder`. The body sees `whole`, values of the same block.
  MicroBatchLoop(mlir::OpBuilder &builder, const ModelParts &model,
                 mlir::ValueRange batches, mlir::ValueRange whole);

  /// The inputs of one micro-batch, and what the body sees of `whole`.
  mlir::ValueRange getInputs();
  mlir::ValueRange getWhole();
  /// The number of the micro-batch, a scalar i32 of the body.
  mlir::Value getNumber();
  /// What the loop is to combine. These are values that reverse mode may
  /// replace.
  nd::YieldOp getEnd() { return scan.getYield(); }
  /// Builds in the body, before its end.
  mlir::OpBuilder getBuilder() { return mlir::OpBuilder(getEnd()); }

  /// The operands of getEnd(), combined over the iterations by one kind each,
  /// and then the sums, in f32, of the gradients of the parameters, values of
  /// the body that are floats or null, which stay null. Marks the gradients as
  /// such. To be called once, with the complete body; its random numbers depend
  /// on the iteration from now on.
  llvm::SmallVector<mlir::Value>
  combine(llvm::ArrayRef<nd::ReductionKind> kinds,
          mlir::ValueRange gradients = {},
          llvm::ArrayRef<StepTensor> parameters = {});

private:
  void numberRandomNumbers();

  mlir::OpBuilder &builder;
  nd::ScanOp scan; ///< without carried values until combine()
  unsigned inputCount;
};

} // namespace meshc::steps

#endif // MESHC_LIB_STEPS_MICROBATCHES_H
