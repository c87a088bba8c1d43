//===- LayoutRules.h - the rules of a layout, and which one applies -------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_ND_LAYOUTRULES_H
#define MESHC_DIALECTS_ND_LAYOUTRULES_H

#include "dialects/Nd/Ops/ModelOps.h"
#include "dialects/Nd/TensorAttributes.h"

namespace meshc::nd {

/// The properties of a tensor to which the scopes of rules refer.
struct TensorIdentity {
  llvm::StringRef name; ///< empty: without a name
  TensorClass tensorClass = TensorClass::Activation;
  /// The parameter that a gradient or an optimizer's value belongs to; empty
  /// for others.
  llvm::StringRef parameter;
  bool isWhole = false; ///< on every rank, whatever the rules

  /// A parameter or an optimizer's value.
  bool isState() const {
    return tensorClass == TensorClass::Parameter ||
           tensorClass == TensorClass::Optimizer;
  }
  /// Whether dims of such a result of an op are open if no rule places them.
  /// State is whole along them, and so is what the runtime reads or writes as
  /// one.
  bool mayBeOpen() const { return !isState() && !isWhole; }
  bool operator==(const TensorIdentity &other) const {
    return name == other.name && tensorClass == other.tensorClass &&
           parameter == other.parameter && isWhole == other.isWhole;
  }
};

/// Of any value: a result of an op, or an argument of a function or a loop.
TensorIdentity getIdentity(mlir::Value value);
TensorIdentity getResultIdentity(mlir::FunctionOpInterface function,
                                 unsigned index);

/// Whether a loop may take the value apart along a dim that the layout cuts,
/// because the block around it gathers the value before: so it is with what a
/// function gets of an optimizer's state, averages in an evaluation.
bool isGatheredForLoops(mlir::Value value);

/// Whether `scope` is a class of tensors rather than a name.
bool isClass(llvm::StringRef scope);

/// The rules of a module (its nd.rule ops).
class LayoutRules {
public:
  explicit LayoutRules(mlir::ModuleOp module);

  /// The narrowest rule for the dim of such a tensor, or null.
  RuleOp lookup(const TensorIdentity &tensor, llvm::StringRef dim) const;
  /// The rule's axes that the mesh has (an optional rule may name others).
  llvm::SmallVector<mlir::StringAttr> getAxes(RuleOp rule) const;
  MeshAttr getMesh() const { return mesh; }

private:
  RuleOp find(llvm::StringRef scope, llvm::StringRef dim) const;

  MeshAttr mesh;
  llvm::SmallVector<RuleOp> rules;
};

} // namespace meshc::nd

#endif // MESHC_DIALECTS_ND_LAYOUTRULES_H
