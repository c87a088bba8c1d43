//===- UpdateSettings.h - the optimizer's settings by parameter -----------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_STEPS_UPDATESETTINGS_H
#define MESHC_LIB_STEPS_UPDATESETTINGS_H

#include "dialects/Nd/NdInterfaces.h"
#include "dialects/Nd/Ops/ModelOps.h"

namespace meshc::steps {

/// The nd.run_settings of the bound of the gradients' norm and of the decay of
/// averages.
inline constexpr llvm::StringLiteral clipSetting = "clip";
inline constexpr llvm::StringLiteral averageSetting = "average";

/// What `nd.train` says of the update of each parameter. Parameters are
/// numbered as in the model.
class UpdateSettings {
public:
  /// A setting and the value in the region of `nd.train` that computes it.
  using Computed = std::pair<mlir::StringAttr, mlir::Value>;

  /// Reads `train`. Fails with an error at a setting that the optimizer does
  /// not have or accept, or whose patterns match no parameter.
  mlir::LogicalResult collect(nd::TrainOp train,
                              llvm::ArrayRef<nd::ParameterOp> parameters);

  /// The op of an update.
  llvm::StringRef getUpdateName() const { return updateName; }
  /// Whether the optimizer depends on how many updates it made before. Not
  /// without `train`.
  bool countsUpdates() const { return optimizer && optimizer->countsUpdates(); }
  /// The constant settings, f64 by name. They include no defaults.
  mlir::DictionaryAttr getConstants(unsigned parameter) const;
  /// The names of the nd.run_settings of the constant ones that are numbers.
  mlir::DictionaryAttr getAdjustable(unsigned parameter) const;
  /// Adds an nd.run_setting for each setting at the builder's place.
  void declare(mlir::OpBuilder &builder, nd::TrainOp train) const;
  llvm::SmallVector<Computed> getComputed(unsigned parameter) const;
  /// The optimizer's state for the parameter; nothing without `train`.
  llvm::ArrayRef<nd::OptimizerSlot> getSlots(unsigned parameter) const;

private:
  /// Where a parameter's setting comes from.
  struct Chosen {
    nd::SettingOp op;
    mlir::StringAttr pattern; ///< that the parameter matches; null without
    bool operator==(const Chosen &other) const {
      return op == other.op && pattern == other.pattern;
    }
  };

  const nd::OptimizerSetting &getKnown(mlir::StringAttr name) const;
  mlir::LogicalResult findOptimizer(nd::TrainOp train);
  mlir::LogicalResult check(nd::SettingOp setting) const;
  mlir::LogicalResult apply(nd::SettingOp setting,
                            llvm::ArrayRef<nd::ParameterOp> parameters);
  mlir::LogicalResult findMissing(nd::TrainOp train,
                                  llvm::ArrayRef<nd::ParameterOp> parameters);

  std::string updateName;
  const nd::OptimizerOpInterface::Concept *optimizer = nullptr;
  llvm::SmallVector<nd::OptimizerSetting> known;
  /// By parameter: what gives each setting.
  llvm::SmallVector<llvm::MapVector<mlir::StringAttr, Chosen>> chosen;
  llvm::SmallVector<llvm::SmallVector<nd::OptimizerSlot>> slots;
};

/// Whether the name matches the pattern, in which `*` stands for any
/// characters.
bool matchesPattern(llvm::StringRef name, llvm::StringRef pattern);

} // namespace meshc::steps

#endif // MESHC_LIB_STEPS_UPDATESETTINGS_H
