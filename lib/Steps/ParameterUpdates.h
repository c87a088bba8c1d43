//===- ParameterUpdates.h - the state of a training and its updates -*- C++
//-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What a training keeps besides the parameters, in this order: the optimizer's
/// slots; how many updates were made, if the optimizer depends on it; the scale
/// of the loss in f16; averages of parameters.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_STEPS_PARAMETERUPDATES_H
#define MESHC_LIB_STEPS_PARAMETERUPDATES_H

#include "lib/Steps/LossScale.h"
#include "lib/Steps/StepFunction.h"
#include "mlir/IR/IRMapping.h"

namespace meshc::steps {

/// Adds to `initialize` the state at the beginning of a training whose
/// parameters begin at `values`.
void addInitialState(StepFunction &step, const ModelParts &parts,
                     llvm::ArrayRef<mlir::Value> values);

/// The part of a training step that turns gradients into new state.
///
/// An optimizer's t is the count of updates, which is state: a step that leaves
/// parameters and state as they were does not count, whoever drops its update:
/// the step itself, as in f16, or the runtime, which restores the state before
/// the step. So `t` needs no number of skipped steps.
class ParameterUpdates {
public:
  /// Adds the arguments behind the parameters, which `mapping` has.
  ParameterUpdates(StepFunction &step, const ModelParts &parts,
                   const mlir::IRMapping &mapping);

  /// Null unless the loss is scaled.
  LossScale *getScale() { return scale ? &*scale : nullptr; }
  /// Adds the new parameters and the rest of the state as results, in the order
  /// of the arguments. `gradients` has one entry per parameter; one without a
  /// gradient (null) stays as it is, with a warning. The step has the metrics
  /// as its results and, in `mapping`, the values of computed settings.
  void addResults(llvm::ArrayRef<mlir::Value> gradients);

private:
  mlir::Operation *update(unsigned parameter, mlir::Value gradient);
  void keepIfInfinite(unsigned parameter,
                      llvm::MutableArrayRef<mlir::Value> updated);
  void updateParameters(llvm::ArrayRef<mlir::Value> gradients);
  void addSlots();
  void addCount();
  void moveAverages();
  mlir::Value getParameter(unsigned index) const;

  StepFunction &step;
  const ModelParts &parts;
  const mlir::IRMapping &mapping;
  llvm::SmallVector<llvm::SmallVector<mlir::Value>> slots;
  mlir::Value count; ///< of updates before this one; may be null
  std::optional<LossScale> scale;
  llvm::SmallVector<mlir::Value> averages;
  /// After updateParameters(), by parameter: its value in f32, if it has a
  /// master, or its value; and its slots.
  llvm::SmallVector<mlir::Value> updated;
  llvm::SmallVector<llvm::SmallVector<mlir::Value>> newSlots;
};

} // namespace meshc::steps

#endif // MESHC_LIB_STEPS_PARAMETERUPDATES_H
