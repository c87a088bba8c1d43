//===- LayoutMistakes.h - what a layout asks for and cannot have ----------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_LAYOUT_LAYOUTMISTAKES_H
#define MESHC_LIB_LAYOUT_LAYOUTMISTAKES_H

#include "dialects/Nd/LayoutRules.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"

namespace meshc::layout {

using nd::LayoutRules;
using nd::TensorIdentity;

/// A tensor that a rule is applied to.
struct PlacedTensor {
  TensorIdentity identity;
  mlir::Location loc;
  /// Whether `loc` is another value's: the model's for a result, the
  /// initializer's for an op of initial values.
  bool isElsewhere = false;
};

/// Collects the mistakes in a layout. Every tensor with the dims shows a
/// mistake; it is reported once, at the tensor nearest to the text: named
/// tensors come first, then gradients, optimizer slots, and unnamed values.
class LayoutMistakes {
public:
  LayoutMistakes(mlir::ModuleOp module, const LayoutRules &rules);

  /// Rules cut two dims of the tensor over one axis.
  void addConflict(const PlacedTensor &tensor, nd::DimAttr a, nd::DimAttr b,
                   mlir::StringAttr axis);
  /// A rule cuts a dim of a tensor that the loop takes apart, or puts together,
  /// along it.
  void addCutLoop(const PlacedTensor &tensor, nd::DimAttr dim, nd::RuleOp rule,
                  mlir::Location loop);
  /// Reports all, in the order in which they were found; success if there are
  /// none.
  mlir::LogicalResult report() const;

private:
  struct Mistake {
    PlacedTensor tensor;
    llvm::SmallVector<nd::DimAttr> dims; ///< two for a conflict, else one
    mlir::StringAttr axis;               ///< of a conflict
    nd::RuleOp rule;                     ///< of a loop over a cut dim
    std::optional<mlir::Location> loop;  ///< likewise; the loop
  };

  void add(const llvm::Twine &key, Mistake mistake);
  mlir::InFlightDiagnostic reportConflict(const Mistake &mistake) const;
  mlir::InFlightDiagnostic reportCutLoop(const Mistake &mistake) const;
  mlir::InFlightDiagnostic report(const Mistake &mistake) const;
  std::string proposeForLoop(const Mistake &mistake) const;
  bool isInOptimizer(mlir::StringAttr dim) const;

  mlir::ModuleOp module;
  const LayoutRules &rules;
  llvm::StringMap<mlir::Location> parameters; ///< their declarations
  llvm::MapVector<mlir::StringAttr, Mistake> mistakes;
};

} // namespace meshc::layout

#endif // MESHC_LIB_LAYOUT_LAYOUTMISTAKES_H
