//===- EmitGenerate.h - how text is generated -------------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_FRONTEND_EMITGENERATE_H
#define MESHC_FRONTEND_EMITGENERATE_H

#include "lib/Frontend/NameResolver.h"

namespace meshc::frontend {

/// Emits the `generate` of the program, if it has one.
class GenerateEmitter {
public:
  explicit GenerateEmitter(NameResolver &emitter) : emitter(emitter) {}

  /// The value that it names as the logits, a result of the model; null without
  /// `generate` and after an error. To be called at the end of the model.
  mlir::Value findLogits();
  /// The nd.generate. To be called after the model. [L11.1]
  void emit();

private:
  NameResolver &emitter;
};

} // namespace meshc::frontend

#endif // MESHC_FRONTEND_EMITGENERATE_H
