//===- RunSettings.h - train --set-setting ----------------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Numbers of the training that a run changes: settings of the optimizer, the
/// bound of the gradients' norm, the decay of averages. A checkpoint records
/// the changed ones, so that a resumed run continues with them.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_COMMANDS_RUNSETTINGS_H
#define MESHC_RUNTIME_COMMANDS_RUNSETTINGS_H

#include "meshc/RuntimeAbi.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace meshc::runtime {

/// What `--set-setting` says of each setting: a value, or nothing for
/// "default", the program's value.
using RequestedSettings = std::map<std::string, std::optional<double>>;

/// The changed settings of a run, by name.
using ChangedSettings = std::map<std::string, double>;

/// Reads texts such as "lr=3e-4". Throws Failure(Usage) for a text of another
/// form, a setting that the program lacks or that a run cannot change, and a
/// value out of bounds.
RequestedSettings parseSettings(const MeshcProgram &program,
                                const std::vector<std::string> &texts);

/// The program's settings that a run can change, in its order.
std::vector<const MeshcSetting *> findAdjustable(const MeshcProgram &program);

/// The shortest decimal number that is the value: "0.0003".
std::string describeNumber(double value);

/// The settings of a run that begins from a checkpoint with `recorded` ones.
/// A recorded setting that the program lacks, that it does not let a run
/// change, or whose bounds it exceeds is left out, and `warnings` gets a
/// sentence about it.
ChangedSettings combineSettings(const MeshcProgram &program,
                                const ChangedSettings &recorded,
                                const RequestedSettings &requested,
                                std::vector<std::string> &warnings);

/// All settings of the run, in the program's order, as Device::useSettings
/// takes them.
std::vector<double> listSettings(const MeshcProgram &program,
                                 const ChangedSettings &changed);

/// "setting lr = 0.0003; the program's value is 0.001\n" for each.
std::string describeSettings(const MeshcProgram &program,
                             const ChangedSettings &changed);

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_COMMANDS_RUNSETTINGS_H
