//===- UpdateSettings.h - the optimizer's settings by parameter -----------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_AUTODIFF_UPDATESETTINGS_H
#define MESHC_LIB_AUTODIFF_UPDATESETTINGS_H

#include "dialects/Nd/NdInterfaces.h"
#include "dialects/Nd/Ops/ModelOps.h"

namespace meshc::autodiff {

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
  llvm::SmallVector<Computed> getComputed(unsigned parameter) const;
  /// The optimizer's state for the parameter; nothing without `train`.
  llvm::ArrayRef<nd::OptimizerSlot> getSlots(unsigned parameter) const;

private:
  mlir::LogicalResult findOptimizer(nd::TrainOp train);
  mlir::LogicalResult check(nd::SettingOp setting) const;
  mlir::LogicalResult apply(nd::SettingOp setting,
                            llvm::ArrayRef<nd::ParameterOp> parameters);
  mlir::LogicalResult findMissing(nd::TrainOp train,
                                  llvm::ArrayRef<nd::ParameterOp> parameters);

  std::string updateName;
  const nd::OptimizerOpInterface::Concept *optimizer = nullptr;
  llvm::SmallVector<nd::OptimizerSetting> known;
  /// By parameter: the op that gives each setting.
  llvm::SmallVector<llvm::MapVector<mlir::StringAttr, nd::SettingOp>> chosen;
  llvm::SmallVector<llvm::SmallVector<nd::OptimizerSlot>> slots;
};

/// Whether the name matches the pattern, in which `*` stands for any
/// characters.
bool matchesPattern(llvm::StringRef name, llvm::StringRef pattern);

} // namespace meshc::autodiff

#endif // MESHC_LIB_AUTODIFF_UPDATESETTINGS_H
