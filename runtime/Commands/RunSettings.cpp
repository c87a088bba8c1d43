//===- RunSettings.cpp - train --set-setting ------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Commands/RunSettings.h"

#include "runtime/Base/Failure.h"
#include "runtime/Commands/NearestName.h"

#include <charconv>
#include <cmath>

using namespace meshc::runtime;

static constexpr const char *option = "'--set-setting'";

std::string meshc::runtime::describeNumber(double value) {
  char text[32];
  std::to_chars_result end = std::to_chars(text, text + sizeof(text), value);
  return {text, end.ptr};
}

std::vector<const MeshcSetting *>
meshc::runtime::findAdjustable(const MeshcProgram &program) {
  std::vector<const MeshcSetting *> found;
  for (uint32_t i = 0; i < program.settingCount; ++i)
    if (program.settings[i].kind == MESHC_ADJUSTABLE)
      found.push_back(&program.settings[i]);
  return found;
}

static const MeshcSetting *findSetting(const MeshcProgram &program,
                                       const std::string &name) {
  for (uint32_t i = 0; i < program.settingCount; ++i)
    if (program.settings[i].name == name)
      return &program.settings[i];
  return nullptr;
}

/// "; a run can change 'lr' and 'clip'"
static std::string listAdjustable(const MeshcProgram &program) {
  const auto adjustable = findAdjustable(program);
  if (adjustable.empty())
    return "; no setting of this program is a number in the model's text";
  std::string text;
  for (size_t i = 0; i < adjustable.size(); ++i)
    text += std::string(i == 0                      ? "; a run can change "
                        : i + 1 < adjustable.size() ? ", "
                                                    : " and ") +
            "'" + adjustable[i]->name + "'";
  return text;
}

/// " (gpt.mesh:14:13)"
static std::string describePlace(const MeshcSetting &setting) {
  return *setting.place ? std::string(" (") + setting.place + ")" : "";
}

/// Why a run cannot change the setting; empty if it can.
static std::string findObstacle(const MeshcSetting &setting) {
  const std::string name = std::string("'") + setting.name + "'";
  if (setting.kind == MESHC_COMPUTED)
    return name + " is computed in each step" + describePlace(setting) +
           "; a run can change settings that are numbers in the model's text";
  if (setting.kind == MESHC_FIXED)
    return name + " is a fixed part of the program, " +
           describeNumber(setting.value) +
           "; a run can change settings that the model's text gives as "
           "numbers: write it in 'train'" +
           describePlace(setting) + " and compile again";
  return "";
}

/// What is wrong with a value; empty if nothing is.
static std::string findMistake(const MeshcSetting &setting, double value) {
  std::string wanted;
  // Training computes in f32.
  const auto used = static_cast<float>(value);
  if (!std::isfinite(used) || value < 0 || (used == 0 && value != 0))
    wanted = "a number of f32 that is not negative";
  else if (setting.positive && value == 0)
    wanted = "a number above 0";
  else if (value >= setting.limit || used >= setting.limit)
    wanted = "a number below " + describeNumber(setting.limit);
  return wanted.empty() ? "" : "expected " + wanted;
}

static std::optional<double> parseValue(const MeshcSetting &setting,
                                        const std::string &text) {
  if (text == "default")
    return std::nullopt;
  double value = 0;
  const char *end = text.data() + text.size();
  const std::from_chars_result read = std::from_chars(text.data(), end, value);
  std::string mistake;
  if (text.empty() || read.ptr != end || read.ec != std::errc())
    mistake = "expected a number, or 'default', the value in the model's text";
  else
    mistake = findMistake(setting, value);
  if (!mistake.empty())
    throw Failure(ExitCode::Usage, std::string(option) + " gives '" +
                                       setting.name + "' the value '" + text +
                                       "'; " + mistake);
  return value;
}

RequestedSettings
meshc::runtime::parseSettings(const MeshcProgram &program,
                              const std::vector<std::string> &texts) {
  RequestedSettings requested;
  for (const std::string &text : texts) {
    const size_t equals = text.rfind('=');
    if (equals == std::string::npos || equals == 0)
      throw Failure(ExitCode::Usage, std::string(option) + " is '" + text +
                                         "'; expected NAME=VALUE, such as "
                                         "'lr=3e-4'" +
                                         listAdjustable(program));
    const std::string name = text.substr(0, equals);
    const MeshcSetting *setting = findSetting(program, name);
    if (!setting) {
      std::vector<std::string> names;
      for (const MeshcSetting *each : findAdjustable(program))
        names.emplace_back(each->name);
      const std::string nearest = nearestName(name, names);
      throw Failure(ExitCode::Usage,
                    std::string(option) + " names '" + name +
                        "', which is no setting of this program" +
                        (nearest.empty()
                             ? listAdjustable(program)
                             : "; did you mean '" + nearest + "'?"));
    }
    if (std::string why = findObstacle(*setting); !why.empty())
      throw Failure(ExitCode::Usage, std::string(option) + ": " + why);
    if (!requested.emplace(name, parseValue(*setting, text.substr(equals + 1)))
             .second)
      throw Failure(ExitCode::Usage,
                    std::string(option) + " gives '" + name + "' twice");
  }
  return requested;
}

ChangedSettings meshc::runtime::combineSettings(
    const MeshcProgram &program, const ChangedSettings &recorded,
    const RequestedSettings &requested, std::vector<std::string> &warnings) {
  ChangedSettings changed;
  for (const auto &[name, value] : recorded) {
    if (requested.count(name))
      continue;
    const MeshcSetting *setting = findSetting(program, name);
    std::string why =
        setting ? findObstacle(*setting) : "this program has no such setting";
    if (why.empty())
      why = findMistake(*setting, value);
    if (why.empty())
      changed[name] = value;
    else
      warnings.push_back("the checkpoint's '" + name + "' = " +
                         describeNumber(value) + " is not used: " + why);
  }
  for (const auto &[name, value] : requested)
    if (value)
      changed[name] = *value;
  return changed;
}

std::vector<double>
meshc::runtime::listSettings(const MeshcProgram &program,
                             const ChangedSettings &changed) {
  std::vector<double> values;
  for (uint32_t i = 0; i < program.settingCount; ++i) {
    const auto found = changed.find(program.settings[i].name);
    values.push_back(found == changed.end() ? program.settings[i].value
                                            : found->second);
  }
  return values;
}

std::string meshc::runtime::describeSettings(const MeshcProgram &program,
                                             const ChangedSettings &changed) {
  std::string text;
  for (const auto &[name, value] : changed)
    text += "setting " + name + " = " + describeNumber(value) +
            "; the program's value is " +
            describeNumber(findSetting(program, name)->value) + '\n';
  return text;
}
