//===- OptionExamples.h - command lines of a program -------------*- C++
//-*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What --help and completion know of a program beside its options: its inputs,
/// its metrics, and what it can do.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_COMMANDS_OPTIONEXAMPLES_H
#define MESHC_RUNTIME_COMMANDS_OPTIONEXAMPLES_H

#include "meshc/RuntimeAbi.h"
#include "runtime/Commands/Completion.h"
#include "runtime/Commands/Options.h"

#include <optional>
#include <string>

namespace meshc::runtime {

/// The exit codes, for the end of --help.
extern const char *const exitCodesText;

/// Examples of a command, with the program's name and its inputs, or of all
/// that the program has. Ends with an empty line.
std::string describeExamples(const MeshcProgram &program,
                             std::optional<Command> command);

/// The values that options of the program may have, for completion.
OptionValues valuesOf(const MeshcProgram &program);

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_COMMANDS_OPTIONEXAMPLES_H
