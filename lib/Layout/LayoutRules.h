//===- LayoutRules.h - the rules of a layout, and which one applies -------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_LAYOUT_LAYOUTRULES_H
#define MESHC_LIB_LAYOUT_LAYOUTRULES_H

#include "dialects/Nd/Ops/ModelOps.h"
#include "dialects/Nd/TensorAttributes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace meshc::layout {

/// The properties of a tensor to which the scopes of rules refer.
struct TensorIdentity {
  llvm::StringRef name; ///< empty: without a name
  nd::TensorClass tensorClass = nd::TensorClass::Activation;
  /// The parameter that a gradient or an optimizer's value belongs to; empty
  /// for others.
  llvm::StringRef parameter;
  bool isWhole = false; ///< on every rank, whatever the rules

  /// A parameter or an optimizer's value.
  bool isState() const {
    return tensorClass == nd::TensorClass::Parameter ||
           tensorClass == nd::TensorClass::Optimizer;
  }
  bool operator==(const TensorIdentity &other) const {
    return name == other.name && tensorClass == other.tensorClass &&
           parameter == other.parameter && isWhole == other.isWhole;
  }
};

/// Of any value: a result of an op, or an argument of a function or a loop.
TensorIdentity getIdentity(mlir::Value value);
TensorIdentity getResultIdentity(mlir::func::FuncOp function, unsigned index);

/// Whether `scope` is a class of tensors rather than a name.
bool isClass(llvm::StringRef scope);

/// The rules of a module (its nd.rule ops).
class LayoutRules {
public:
  explicit LayoutRules(mlir::ModuleOp module);

  /// The narrowest rule for the dim of such a tensor, or null.
  nd::RuleOp lookup(const TensorIdentity &tensor, llvm::StringRef dim) const;
  /// The rule's axes that the mesh has (an optional rule may name others).
  llvm::SmallVector<mlir::StringAttr> getAxes(nd::RuleOp rule) const;
  nd::MeshAttr getMesh() const { return mesh; }

private:
  nd::RuleOp find(llvm::StringRef scope, llvm::StringRef dim) const;

  nd::MeshAttr mesh;
  llvm::SmallVector<nd::RuleOp> rules;
};

} // namespace meshc::layout

#endif // MESHC_LIB_LAYOUT_LAYOUTRULES_H
