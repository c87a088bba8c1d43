//===- Optimizer.h - how an optimizer is described --------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Private to the family Optimizer. Each op is one specialization of Optimizer
/// with its settings, slots, reference semantics on doubles and decomposition.
/// MESHC_OPTIMIZER_OP defines the interface methods from it.
///
/// An update is computed in f32 whatever the parameter's type is, and the slots
/// stay in f32: a second moment is the square of a gradient, and 16 bits cannot
/// represent small squares. A parameter of 16 bits has its value in f32, the
/// master, as its last slot; the parameter is the master, rounded (Micikevicius
/// et al., arXiv 1710.03740, section 3.1). Values that all elements share (bias
/// corrections, decay factors) are computed on scalars, or at compile time.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_ND_OPS_OPTIMIZER_H
#define MESHC_DIALECTS_ND_OPS_OPTIMIZER_H

#include "dialects/Nd/Ops/OptimizerOps.h"
#include "dialects/Nd/Ops/PointwiseOps.h"
#include "dialects/Nd/Ops/ValueBuilder.h"

namespace meshc::nd {

using OptimizerSettings = llvm::SmallVector<OptimizerSetting>;
using OptimizerSlots = llvm::SmallVector<OptimizerSlot>;
using StackedDims = llvm::ArrayRef<mlir::StringAttr>;

/// What is known of an optimizer. Specializations have
///
///   static OptimizerSettings settings();
///   static OptimizerSlots slots(TensorType parameter, StackedDims stacked,
///                               mlir::DictionaryAttr settings);
///   /// Operations per element.
///   static constexpr OpCost cost;
///   /// Whether it uses getStep() or `t`.
///   static constexpr bool countsUpdates;
///   static void evaluate(ReferenceUpdate &u);
///   /// The new parameter and slots but the master, in f32.
///   static llvm::SmallVector<mlir::Value> decompose(UpdateBuilder &u);
template <typename Op> struct Optimizer;

/// A scalar of an update: a number, or a scalar f32 computed in each step.
class UpdateScalar {
public:
  UpdateScalar(double number) : number(number) {}
  UpdateScalar(mlir::Value value) : value(value) {}

  bool is(double other) const { return number == other; }

  std::optional<double> number;
  mlir::Value value; ///< if there is no number
};

/// Operands and attributes of an update op, which all optimizers share.
class UpdateParts {
public:
  explicit UpdateParts(mlir::Operation *op);

  /// The value of a constant setting, given or the default; nothing if the
  /// setting is computed. A run may have another value of an adjustable one.
  std::optional<double> getConstant(llvm::StringRef setting) const;
  /// The nd.run_setting of a setting; null if it is not adjustable.
  mlir::StringAttr getRunSetting(llvm::StringRef setting) const;
  /// Whether the last slot is the parameter's master.
  bool hasMaster() const { return !slots.empty() && slots.back().isMaster; }
  /// The slots without the master.
  llvm::ArrayRef<OptimizerSlot> getMoments() const {
    return llvm::ArrayRef(slots).drop_back(hasMaster());
  }
  /// The operand that holds the parameter in f32, or in its own type.
  unsigned getWidest() const {
    return hasMaster() ? firstSlot + slots.size() - 1 : 0;
  }
  /// The operand of a computed setting.
  unsigned getComputed(llvm::StringRef setting) const;
  /// The parameter's type without all dims but stacked ones: its norms are such
  /// tensors.
  TensorType getEntryType() const;
  /// Whether a switch is on.
  bool isOn(llvm::StringRef setting) const {
    return getConstant(setting) == 1.0;
  }
  static constexpr unsigned firstSlot = 3;

  mlir::Operation *op;
  OptimizerSlots slots;
  mlir::DictionaryAttr settings, adjustable; ///< may be null
  llvm::SmallVector<mlir::StringAttr> computed, stacked;

private:
  OptimizerSettings known;
};

/// Builds the decomposition of an update.
class UpdateBuilder : public UpdateParts {
public:
  UpdateBuilder(mlir::OpBuilder &builder, mlir::Operation *op);

  mlir::Value getParameter();
  mlir::Value getGradient();
  mlir::Value getSlot(unsigned index) {
    return op->getOperand(firstSlot + index);
  }
  UpdateScalar get(llvm::StringRef setting);
  /// The number of the update, from 1.
  UpdateScalar getStep();

  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value sub(mlir::Value a, mlir::Value b);
  mlir::Value mul(mlir::Value a, mlir::Value b);
  mlir::Value div(mlir::Value a, mlir::Value b);
  mlir::Value materialize(const UpdateScalar &scalar);
  // On scalars; folded if both are numbers.
  UpdateScalar mul(const UpdateScalar &a, const UpdateScalar &b);
  UpdateScalar div(const UpdateScalar &a, const UpdateScalar &b);
  UpdateScalar sub(const UpdateScalar &a, const UpdateScalar &b);
  UpdateScalar rsqrt(const UpdateScalar &a);
  /// 1 - a and -ln a, of a setting with all digits of f32.
  UpdateScalar complement(const UpdateScalar &a);
  UpdateScalar negativeLog(const UpdateScalar &a);
  /// factor·a.
  mlir::Value scale(mlir::Value a, const UpdateScalar &factor);
  /// a + factor·b.
  mlir::Value addScaled(mlir::Value a, mlir::Value b,
                        const UpdateScalar &factor);
  /// beta·average + (1 - beta)·value.
  mlir::Value average(mlir::Value average, mlir::Value value,
                      const UpdateScalar &beta);
  /// The parameter after the decay beside the gradient: p·(1 - rate·decay).
  mlir::Value decay(mlir::Value p, const UpdateScalar &rate);
  /// The sum over all dims but stacked ones: one number per parameter.
  mlir::Value sum(mlir::Value value);
  /// `a` if positive, otherwise `b`.
  mlir::Value wherePositive(mlir::Value condition, mlir::Value a,
                            mlir::Value b);
  /// 1 - beta^t.
  UpdateScalar getCorrection(const UpdateScalar &beta);

  ValueBuilder build;

private:
  mlir::Type f32;
};

/// Operands and results of the reference semantics, on doubles.
class ReferenceUpdate : public UpdateParts {
public:
  ReferenceUpdate(mlir::Operation *op,
                  llvm::ArrayRef<const HostTensor *> operands,
                  const EvaluationContext &context);

  double get(llvm::StringRef setting) const;
  size_t size() const { return getParameters().size(); }
  const std::vector<double> &getParameters() const {
    return operands[getWidest()]->data;
  }
  const std::vector<double> &getGradients() const { return operands[1]->data; }
  const std::vector<double> &getSlot(unsigned index) const {
    return operands[firstSlot + index]->data;
  }
  /// For each element of the parameter, the element of a tensor with some of
  /// its dims that has the same indices.
  std::vector<size_t> project(TensorType to) const;
  /// Result 0 is the parameter, with its master, and result k + 1 is slot k.
  void set(unsigned result, size_t element, double value);

  double t; ///< the number of the update, from 1
  llvm::SmallVector<HostTensor> results;

private:
  llvm::ArrayRef<const HostTensor *> operands;
  const EvaluationContext &context;
};

/// A setting that is 0 or 1.
inline OptimizerSetting makeSwitch(llvm::StringRef name, bool isOn) {
  return {name, isOn ? 1.0 : 0.0, std::numeric_limits<double>::infinity(),
          OptimizerSetting::Kind::Switch};
}

/// One slot of the parameter's dims for each name.
OptimizerSlots makeSlots(TensorType parameter,
                         llvm::ArrayRef<llvm::StringRef> names);

/// The slots, and behind them the master of a parameter of 16 bits.
OptimizerSlots addMaster(TensorType parameter, OptimizerSlots slots);

/// Checks what OptimizerOpInterface says of operands, results and attributes.
mlir::LogicalResult verifyUpdate(mlir::Operation *op);

/// Casts the new parameter to its type; what it was is the new master.
llvm::SmallVector<mlir::Value>
finishUpdate(UpdateBuilder &builder, llvm::SmallVector<mlir::Value> values);

mlir::LogicalResult refuseGradient(mlir::Operation *op,
                                   llvm::ArrayRef<mlir::Value> resultGrads);

/// The dims that the op's attribute `stacked` names.
llvm::SmallVector<mlir::StringAttr> getStackedDims(mlir::Operation *op);
/// The op's attribute `settings`; may be null.
mlir::DictionaryAttr getConstantSettings(mlir::Operation *op);

} // namespace meshc::nd

/// Interface methods of the op that Optimizer<OP> describes.
#define MESHC_OPTIMIZER_OP(OP)                                                 \
  mlir::LogicalResult OP::verify() { return verifyUpdate(*this); }             \
  llvm::SmallVector<OptimizerSetting> OP::getKnownSettings() {                 \
    return Optimizer<OP>::settings();                                          \
  }                                                                            \
  llvm::SmallVector<OptimizerSlot> OP::getSlotsFor(                            \
      TensorType parameter, llvm::ArrayRef<mlir::StringAttr> stacked,          \
      mlir::DictionaryAttr settings) {                                         \
    return addMaster(parameter,                                                \
                     Optimizer<OP>::slots(parameter, stacked, settings));      \
  }                                                                            \
  bool OP::countsUpdates() { return Optimizer<OP>::countsUpdates; }            \
  llvm::SmallVector<OptimizerSlot> OP::getSlots() {                            \
    return getSlotsFor(getTensorType(getParameter()), getStackedDims(*this),   \
                       getConstantSettings(*this));                            \
  }                                                                            \
  llvm::SmallVector<HostTensor> OP::evaluate(                                  \
      llvm::ArrayRef<const HostTensor *> operands,                             \
      const EvaluationContext &context) {                                      \
    ReferenceUpdate update(*this, operands, context);                          \
    Optimizer<OP>::evaluate(update);                                           \
    return std::move(update.results);                                          \
  }                                                                            \
  mlir::LogicalResult OP::buildGradient(                                       \
      mlir::OpBuilder &, llvm::ArrayRef<mlir::Value> resultGrads,              \
      llvm::SmallVectorImpl<mlir::Value> &) {                                  \
    return refuseGradient(*this, resultGrads);                                 \
  }                                                                            \
  PartitionRule OP::getPartitionRule() { return getRuleByNames(*this); }       \
  OpCost OP::getCost() {                                                       \
    return getElementwiseCost(*this, Optimizer<OP>::cost.flops,                \
                              Optimizer<OP>::cost.transcendentals);            \
  }                                                                            \
  llvm::SmallVector<mlir::Value> OP::decompose(mlir::OpBuilder &builder) {     \
    UpdateBuilder update(builder, *this);                                      \
    return finishUpdate(update, Optimizer<OP>::decompose(update));             \
  }

#endif // MESHC_DIALECTS_ND_OPS_OPTIMIZER_H
