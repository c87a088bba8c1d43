//===- UpdateSettings.cpp - the optimizer's settings by parameter ---------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Steps/UpdateSettings.h"
#include "dialects/Nd/Ops/DimNames.h"
#include <cmath>

using namespace mlir;

namespace meshc::steps {

bool matchesPattern(StringRef name, StringRef pattern) {
  auto [head, tail] = pattern.split('*');
  if (head.size() == pattern.size())
    return name == pattern;
  if (!name.consume_front(head))
    return false;
  // The text between two stars may be taken where it is found first.
  while (tail.contains('*')) {
    auto [middle, rest] = tail.split('*');
    size_t at = name.find(middle);
    if (at == StringRef::npos)
      return false;
    name = name.drop_front(at + middle.size());
    tail = rest;
  }
  return name.ends_with(tail);
}

LogicalResult UpdateSettings::findOptimizer(nd::TrainOp train) {
  updateName = ("nd." + train.getOptimizer() + "_update").str();
  auto info = RegisteredOperationName::lookup(updateName, train.getContext());
  optimizer = info ? info->getInterface<nd::OptimizerOpInterface>() : nullptr;
  if (!optimizer)
    return train.emitError()
           << "there is no optimizer '" << train.getOptimizer() << "'";
  known = optimizer->getKnownSettings();
  return success();
}

/// The optimizer has the setting, and accepts the value.
LogicalResult UpdateSettings::check(nd::SettingOp op) const {
  auto train = cast<nd::TrainOp>(op->getParentOp());
  const auto *setting =
      llvm::find_if(known, [&](const nd::OptimizerSetting &each) {
        return each.name == op.getName();
      });
  if (setting == known.end()) {
    InFlightDiagnostic error =
        op.emitError() << "optimizer '" << train.getOptimizer()
                       << "' has no setting '" << op.getName() << "'; it has ";
    llvm::interleaveComma(known, error, [&](const nd::OptimizerSetting &each) {
      error << each.name;
    });
    return error;
  }
  if (!op.getConstant()) {
    if (setting->kind == nd::OptimizerSetting::Kind::Number)
      return success();
    return op.emitError() << "setting '" << op.getName() << "' of optimizer '"
                          << train.getOptimizer()
                          << "' must be a constant: it decides what an update "
                             "consists of";
  }
  std::string mistake =
      setting->describeMistake(op.getConstant()->convertToDouble());
  if (mistake.empty())
    return success();
  return op.emitError() << "setting '" << op.getName() << "' of optimizer '"
                        << train.getOptimizer() << "' " << mistake;
}

/// The setting is that of each parameter that it names.
LogicalResult UpdateSettings::apply(nd::SettingOp op,
                                    ArrayRef<nd::ParameterOp> parameters) {
  if (!op.getPatterns()) {
    for (auto &settings : chosen)
      settings[op.getNameAttr()] = {op, {}};
    return success();
  }
  for (StringAttr pattern : nd::getNames(*op.getPatterns())) {
    bool isUsed = false;
    for (auto [settings, parameter] : llvm::zip(chosen, parameters))
      if (matchesPattern(nd::ParameterOp(parameter).getName(),
                         pattern.getValue())) {
        settings[op.getNameAttr()] = {op, pattern};
        isUsed = true;
      }
    if (!isUsed && !op.getOptional()) {
      InFlightDiagnostic error = op.emitError();
      error << "no parameter's name matches '" << pattern.getValue()
            << "'; write ->? if there may be none; the parameters are ";
      constexpr size_t shown = 12;
      llvm::interleaveComma(parameters.take_front(shown), error,
                            [&](nd::ParameterOp parameter) {
                              error << "'" << parameter.getName() << "'";
                            });
      if (parameters.size() > shown)
        error << ", …";
      return error;
    }
  }
  return success();
}

/// A setting without a default is given for each parameter.
LogicalResult
UpdateSettings::findMissing(nd::TrainOp train,
                            ArrayRef<nd::ParameterOp> parameters) {
  for (auto [index, parameter] : llvm::enumerate(parameters))
    for (const nd::OptimizerSetting &setting : known)
      if (!setting.defaultValue && !chosen[index].contains(StringAttr::get(
                                       train.getContext(), setting.name)))
        return train.emitError()
               << "optimizer '" << train.getOptimizer() << "' needs setting '"
               << setting.name << "', which parameter '"
               << nd::ParameterOp(parameter).getName() << "' does not have";
  return success();
}

LogicalResult UpdateSettings::collect(nd::TrainOp train,
                                      ArrayRef<nd::ParameterOp> parameters) {
  if (failed(findOptimizer(train)))
    return failure();
  chosen.resize(parameters.size());
  for (auto op : train.getBody().getOps<nd::SettingOp>())
    if (failed(check(op)) || failed(apply(op, parameters)))
      return failure();
  if (failed(findMissing(train, parameters)))
    return failure();
  for (auto [index, op] : llvm::enumerate(parameters)) {
    nd::ParameterOp parameter = op;
    SmallVector<StringAttr> stacked;
    if (parameter.getStacked())
      stacked = nd::getNames(*parameter.getStacked());
    slots.push_back(
        optimizer->getSlotsFor(cast<nd::TensorType>(parameter.getType()),
                               stacked, getConstants(index)));
  }
  return success();
}

DictionaryAttr UpdateSettings::getConstants(unsigned parameter) const {
  SmallVector<NamedAttribute> constants;
  Builder builder(chosen[parameter].front().first.getContext());
  for (auto [name, source] : chosen[parameter])
    if (nd::SettingOp setting = source.op; setting.getConstant())
      constants.push_back({name, setting.getConstantAttr()});
  return builder.getDictionaryAttr(constants);
}

const nd::OptimizerSetting &UpdateSettings::getKnown(StringAttr name) const {
  return *llvm::find_if(known, [&](const nd::OptimizerSetting &setting) {
    return setting.name == name;
  });
}

/// The name of a setting's nd.run_setting.
static StringAttr getRunName(StringAttr name, StringAttr pattern) {
  if (!pattern)
    return name;
  return StringAttr::get(name.getContext(),
                         pattern.getValue() + "." + name.getValue());
}

DictionaryAttr UpdateSettings::getAdjustable(unsigned parameter) const {
  SmallVector<NamedAttribute> names;
  for (auto [name, source] : chosen[parameter])
    if (nd::SettingOp(source.op).getConstant() &&
        getKnown(name).kind == nd::OptimizerSetting::Kind::Number)
      names.push_back({name, getRunName(name, source.pattern)});
  return DictionaryAttr::get(chosen[parameter].front().first.getContext(),
                             names);
}

void UpdateSettings::declare(OpBuilder &builder, nd::TrainOp train) const {
  llvm::SmallDenseSet<StringAttr> declared;
  auto declare = [&](StringAttr name, Location loc, FloatAttr value,
                     const nd::OptimizerSetting &setting, bool isFixed) {
    if (!declared.insert(name).second)
      return;
    FloatAttr limit = std::isfinite(setting.limit)
                          ? builder.getF64FloatAttr(setting.limit)
                          : FloatAttr();
    nd::RunSettingOp::create(builder, loc, name, value, limit,
                             /*positive=*/false, isFixed);
  };
  for (auto op : train.getBody().getOps<nd::SettingOp>()) {
    StringAttr name = op.getNameAttr();
    SmallVector<StringAttr> patterns = {StringAttr()};
    if (op.getPatterns())
      patterns = nd::getNames(*op.getPatterns());
    for (StringAttr pattern : patterns)
      if (llvm::any_of(chosen, [&](const auto &settings) {
            return settings.lookup(name) == Chosen{op, pattern};
          }))
        declare(getRunName(name, pattern), op.getLoc(), op.getConstantAttr(),
                getKnown(name),
                getKnown(name).kind != nd::OptimizerSetting::Kind::Number);
  }
  for (const nd::OptimizerSetting &setting : known)
    if (setting.defaultValue)
      declare(builder.getStringAttr(setting.name), train.getLoc(),
              builder.getF64FloatAttr(*setting.defaultValue), setting,
              /*isFixed=*/true);
}

SmallVector<UpdateSettings::Computed>
UpdateSettings::getComputed(unsigned parameter) const {
  SmallVector<Computed> computed;
  for (auto [name, source] : chosen[parameter])
    if (nd::SettingOp setting = source.op; setting.getValue())
      computed.push_back({name, setting.getValue()});
  return computed;
}

ArrayRef<nd::OptimizerSlot> UpdateSettings::getSlots(unsigned parameter) const {
  return slots.empty() ? ArrayRef<nd::OptimizerSlot>() : slots[parameter];
}

} // namespace meshc::steps
