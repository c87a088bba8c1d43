//===- EmitGradient.h - functions with a gradient of their own --*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_FRONTEND_EMITGRADIENT_H
#define MESHC_FRONTEND_EMITGRADIENT_H

#include "lib/Frontend/OpEmitter.h"

namespace meshc::frontend {

class Emitter;

/// Emits the bodies of functions that state their gradients. [L4.15]
class GradientEmitter {
public:
  explicit GradientEmitter(Emitter &emitter) : emitter(emitter) {}

  /// The body of the function at the current place, and its gradient; the
  /// values that it returns, some missing after an error.
  llvm::SmallVector<Operand> emit(const syntax::FunctionDeclaration &function,
                                  syntax::Span at);

private:
  bool checkGradient(const syntax::FunctionDeclaration &function,
                     llvm::ArrayRef<Operand> results);
  llvm::SmallVector<mlir::Value>
  emitReturned(const syntax::FunctionDeclaration &function,
               llvm::ArrayRef<Operand> arguments);
  void emitGradient(const syntax::FunctionDeclaration &function,
                    llvm::ArrayRef<Operand> arguments,
                    llvm::MutableArrayRef<Operand> results, syntax::Span at);
  mlir::Value emitArgumentGradient(const syntax::Name &argument,
                                   nd::TensorType wanted, Operand gradient,
                                   syntax::Span at);

  Emitter &emitter;
};

/// What a function with a gradient computes, if the value is its result;
/// otherwise the value, which may be null.
mlir::Value skipCustomGradient(mlir::Value value);

} // namespace meshc::frontend

#endif // MESHC_FRONTEND_EMITGRADIENT_H
