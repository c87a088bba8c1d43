//===- Explainer.h - explains one value ----------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_REPORT_EXPLAINER_H
#define MESHC_LIB_REPORT_EXPLAINER_H

#include "dialects/Nd/LayoutRules.h"
#include "dialects/Spmd/SpmdOps.h"
#include "lib/Reshard/ReshardPlan.h"

namespace meshc::report {

/// The name of the value in the model; empty if it has none.
llvm::StringRef getName(mlir::Value value);
/// The value that reshards moved.
mlir::Value getSource(mlir::Value value);
/// Whether the value is what a loop hands on of a value in its body that has
/// its name.
bool isHandedOn(mlir::OpResult result);
/// "'hidden'", "the result of 'einsum' at gpt.mesh:14:13"
std::string describeValue(mlir::Value value);
/// "[batch over data, model], parts of a sum over tensor"
std::string describeForm(nd::TensorType type);
/// "tensor", "(data, tensor)"
std::string describeAxes(llvm::ArrayRef<mlir::StringAttr> axes);
/// " at gpt.mesh:14:13", or nothing.
std::string describePlace(mlir::Location location);
/// "einsum"
std::string getOpName(mlir::Operation *op);
/// "sum": of a partial type.
std::string getReduction(nd::TensorType type);

/// Explains values one by one.
class Explainer {
public:
  explicit Explainer(mlir::ModuleOp module)
      : rules(module), planner(reshard::ReshardPlanner::of(module)),
        mesh(nd::MeshAttr::of(module)) {}

  /// The value's title, such as "'hidden', made by 'relu' at gpt.mesh:14:13".
  std::string describeTitle(mlir::Value value);
  /// The lines below it. What moves a value for this one is left out if
  /// `isDescribed` says that the answer has that value, too.
  std::string describe(mlir::Value value,
                       llvm::function_ref<bool(mlir::Value)> isDescribed);
  /// How the value lies where it is not moved for a user.
  nd::TensorType getHome(mlir::Value value);
  /// Whether a collective moves the value, its entries or what it is computed
  /// from.
  bool isMoved(mlir::Value value);

private:
  /// A reshard and how it is needed.
  struct Move {
    spmd::ReshardOp op;
    bool isForValue; ///< it moves an operand of the value's op, or the entry
                     ///< that a loop stacks
  };

  llvm::SmallVector<mlir::Value> getAliases(mlir::Value value);
  llvm::SmallVector<Move> getMoves(mlir::Value value);
  spmd::AxisList getAxes(nd::RuleOp rule, nd::TensorType type, nd::DimAttr dim);
  llvm::ArrayRef<mlir::StringAttr>
  getFurtherAxes(nd::RuleOp rule, nd::TensorType type, nd::DimAttr dim);
  bool isAsRulesWant(const nd::TensorIdentity &tensor, nd::TensorType type);
  std::string explainDim(mlir::Value value, nd::TensorType home,
                         nd::DimAttr dim);
  std::string explainRule(nd::RuleOp rule, nd::TensorType home,
                          nd::DimAttr dim);
  std::string explainOpen(mlir::Value value, nd::DimAttr dim);
  /// Whether some operand of the window is cut, so that ranks may exchange its
  /// entries.
  static bool takesFromOthers(spmd::WindowOp window);
  std::string explainWindow(spmd::WindowOp window);
  std::string explainMove(const Move &move);
  std::string explainUse(mlir::OpOperand &use, nd::TensorType from);
  std::string explainDims(mlir::OpOperand &use, nd::TensorType from,
                          nd::TensorType to, const nd::PartitionRule &rule);

  nd::LayoutRules rules;
  reshard::ReshardPlanner planner;
  nd::MeshAttr mesh;
};

} // namespace meshc::report

#endif // MESHC_LIB_REPORT_EXPLAINER_H
