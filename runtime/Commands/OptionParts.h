//===- OptionParts.h - what commands have in their options ------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_COMMANDS_OPTIONPARTS_H
#define MESHC_RUNTIME_COMMANDS_OPTIONPARTS_H

#include "runtime/Base/Failure.h"
#include "runtime/Commands/Options.h"

#include <CLI/CLI.hpp>
#include <set>

namespace meshc::runtime {

/// Options that may differ between ranks. All others must be the same on all
/// ranks, which is checked before the first step.
class MayDiffer {
public:
  /// Nothing that ranks compute together depends on `option`.
  CLI::Option *freely(CLI::Option *option) {
    free.insert(option);
    return option;
  }
  /// The ranks must agree on whether `option` is given; its value may differ,
  /// because only rank 0 uses it or because the contents of the file are
  /// compared.
  CLI::Option *inValue(CLI::Option *option) {
    inValueOnly.insert(option);
    return option;
  }

  /// The values of the options of `command`, for the ranks to compare.
  std::vector<Agreed> list(const CLI::App &command) const {
    std::vector<Agreed> entries{
        {"the command", "'" + command.get_name() + "'", {}}};
    for (const CLI::Option *option : command.get_options()) {
      if (option->count() == 0 || free.count(option))
        continue;
      std::string value;
      if (!inValueOnly.count(option) && option->get_expected_max() != 0)
        for (const std::string &text : option->results())
          value += (value.empty() ? "'" : ", '") + text + "'";
      entries.push_back({"'" + option->get_name() + "'",
                         value.empty() ? "given" : value,
                         {}});
    }
    return entries;
  }

private:
  std::set<const CLI::Option *> free, inValueOnly;
};

/// "'--steps' is 'x'; expected …".
Failure valueFailure(const std::string &option, const std::string &text,
                     const std::string &wanted);

/// A whole number in decimal digits. Throws valueFailure.
uint64_t parseWhole(const std::string &option, const std::string &text,
                    uint64_t least, uint64_t most);

/// A number above 0, at most `most`, and not "inf", "nan" or "0x1p3", which
/// strtod would accept. Throws valueFailure with what is wanted, which states
/// the bounds.
double parsePositive(const std::string &option, const std::string &text,
                     double most, const std::string &wanted);

/// An option that takes a whole number, in decimal digits.
template <typename T>
CLI::Option *addWhole(CLI::App &app, const std::string &name, T &value,
                      uint64_t least, uint64_t most,
                      const std::string &description) {
  return app
      .add_option_function<std::string>(
          name,
          [name, least, most, &value](const std::string &text) {
            value = static_cast<T>(parseWhole(name, text, least, most));
          },
          description)
      ->type_name("N");
}

/// How and where a command runs: threads, ranks, logs.
void addRunOptions(CLI::App &app, Options &options, MayDiffer &mayDiffer);

/// `--overwrite` of a command that writes a log alone.
void addOverwrite(CLI::App &app, Options &options, MayDiffer &mayDiffer);

/// `--weights-map`.
CLI::Option *addWeightsMap(CLI::App &app, Options &options,
                           MayDiffer &mayDiffer);

inline constexpr const char *storedParametersHelp =
    "The parameters of a checkpoint: 'average': their averages over the steps "
    "(of a training with 'average'); 'last': those after the last step. "
    "Default: the averages if the file has some";

/// `--parameters`.
CLI::Option *addParameterValues(CLI::App &app, Options &options,
                                const std::string &description);

/// `--checkpoint` or `--weights`, `--weights-map` and `--parameters`: the
/// parameters of a command that does not train. Required if the program has
/// parameters.
void addParameters(CLI::App &app, const MeshcProgram &program, Options &options,
                   MayDiffer &mayDiffer);

/// The options of `generate`.
void addGenerate(CLI::App &app, const MeshcProgram &program, Options &options,
                 MayDiffer &mayDiffer);

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_COMMANDS_OPTIONPARTS_H
