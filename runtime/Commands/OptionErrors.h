//===- OptionErrors.h - what is wrong with a command line -------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_COMMANDS_OPTIONERRORS_H
#define MESHC_RUNTIME_COMMANDS_OPTIONERRORS_H

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace meshc::runtime {

/// `lines`, a message of the parser of `app`, on one line and in other words
/// where it needs more than quotes: "'--data' was given twice; give it once".
/// Otherwise empty.
std::string rephrase(const CLI::App &app, const std::string &lines);

/// What the parser of `app` found wrong, as one line in our format: "'--data'
/// is required". Unknown options and arguments come first. For one that has the
/// name of one of `settings`, --set-setting is proposed.
std::string describeParseError(const CLI::App &app,
                               const CLI::ParseError &error,
                               const std::vector<std::string> &settings = {});

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_COMMANDS_OPTIONERRORS_H
