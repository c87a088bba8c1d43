//===- EmitModel.h - the mesh, the layout, the model ------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_FRONTEND_EMITMODEL_H
#define MESHC_FRONTEND_EMITMODEL_H

#include "lib/Frontend/OpEmitter.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace meshc::frontend {

class Emitter;

/// Emits what a program declares.
class ModelEmitter {
public:
  explicit ModelEmitter(Emitter &emitter) : emitter(emitter) {}

  /// The whole program; null if it has no model.
  mlir::OwningOpRef<mlir::ModuleOp> emitProgram();
  /// A metric at the current place. [L6.4]
  void emitMetric(const syntax::MetricStatement &metric, syntax::Span at);

private:
  void emitMesh(mlir::ModuleOp module);
  void emitLayout(mlir::ModuleOp module);
  void emitModel(const syntax::ModelDeclaration &model);
  bool checkInput(const syntax::TensorDeclaration &input);
  void emitInputs(const syntax::ModelDeclaration &model,
                  mlir::func::FuncOp function);
  void finishModel(const syntax::ModelDeclaration &model,
                   mlir::func::FuncOp function);

  Emitter &emitter;
};

} // namespace meshc::frontend

#endif // MESHC_FRONTEND_EMITMODEL_H
