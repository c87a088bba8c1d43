//===- EmitTrain.h - the loss and how it is minimized -----------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_FRONTEND_EMITTRAIN_H
#define MESHC_FRONTEND_EMITTRAIN_H

#include "dialects/Nd/Ops/ModelOps.h"
#include "lib/Frontend/OpEmitter.h"

namespace meshc::frontend {

class Emitter;

/// Emits the `train` of the program, if it has one.
class TrainEmitter {
public:
  explicit TrainEmitter(Emitter &emitter) : emitter(emitter) {}

  /// The value that it names as the loss, checked; null without `train` and
  /// after an error. To be called at the end of the model. [L7.2]
  mlir::Value findLoss();
  /// The nd.train. To be called after the model. [L7.1]
  void emit();

private:
  void checkGradients(mlir::Value loss, syntax::Span at);
  mlir::TypeAttr readPrecision(const syntax::TrainDeclaration &train);
  void readPrecisionSetting(const syntax::Argument &setting, nd::TrainOp op);

  Emitter &emitter;
};

} // namespace meshc::frontend

#endif // MESHC_FRONTEND_EMITTRAIN_H
