//===- Completion.h - what may follow on a command line ---------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Completion for bash, zsh and fish, of meshc, meshc-tokens and compiled
/// programs. `PROGRAM --completion SHELL` prints a script, which asks
/// `PROGRAM --complete WORD…` what may stand for the last word. So it knows
/// what the program's own parser knows.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_COMMANDS_COMPLETION_H
#define MESHC_RUNTIME_COMMANDS_COMPLETION_H

#include <CLI/CLI.hpp>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace meshc::runtime {

/// What may stand for a word, with a few words about it.
struct Candidate {
  std::string word;
  std::string description; ///< may be empty
};

/// The values that an option may have, where its validators do not list them
/// ("{text,json}"): `option` as in "--layout", the words before the last one,
/// and what is there of the value. Nothing for other options.
using OptionValues = std::function<std::vector<std::string>(
    const std::string &option, const std::vector<std::string> &words,
    const std::string &begun)>;

/// What may stand for the last of `words`, the arguments up to the cursor: the
/// options, subcommands and values of `app`. Empty where a file is expected.
std::vector<Candidate> complete(const CLI::App &app,
                                const std::vector<std::string> &words,
                                const OptionValues &values);

/// The script of `program --completion shell`; empty for an unknown shell.
std::string makeCompletionScript(const std::string &program,
                                 const std::string &shell);

/// Answers the command lines `--completion SHELL` and `--complete WORD…`:
/// returns what to print. Nothing for other command lines. Throws a Failure if
/// the shell is unknown.
std::optional<std::string> answerCompletion(const CLI::App &app, int argc,
                                            const char *const *argv,
                                            const OptionValues &values);

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_COMMANDS_COMPLETION_H
