//===- OptionErrors.cpp - what is wrong with a command line ---------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Commands/OptionErrors.h"

#include "meshc/EscapeControls.h"
#include "runtime/Base/Abridged.h"
#include "runtime/Commands/NearestName.h"

#include <algorithm>
#include <cctype>
#include <regex>
#include <vector>

using namespace meshc::runtime;

/// The arguments that neither the subcommand nor `command` itself takes, each
/// in their order; empty if there are none. What follows an unknown option may
/// be its value.
static std::string describeUnknown(const CLI::App &command) {
  std::vector<std::string> known;
  for (const CLI::Option *option : command.get_options())
    for (const std::string &name : option->get_lnames())
      known.push_back(name);
  std::string text;
  for (const CLI::App *subcommand : command.get_subcommands())
    text += describeUnknown(*subcommand);
  bool isValue = false;
  for (const std::string &argument : command.remaining()) {
    bool isOption = argument.size() > 1 && argument[0] == '-';
    if (isOption || !isValue)
      text += std::string(text.empty() ? "" : ", ") +
              (isOption ? "unknown option" : "unexpected argument") + " '" +
              argument + "'";
    isValue = isOption;
    if (!isOption)
      continue;
    std::string name = argument.substr(argument.find_first_not_of('-'));
    std::string nearest = nearestName(name.substr(0, name.find('=')), known);
    text += nearest.empty() ? "" : " (did you mean '--" + nearest + "'?)";
  }
  return text;
}

/// The option of the command that was parsed; null if there is none.
static const CLI::Option *findOption(const CLI::App &app,
                                     const std::string &name) {
  for (const CLI::App *command : app.get_subcommands())
    if (const CLI::Option *option = command->get_option_no_throw(name))
      return option;
  return app.get_option_no_throw(name);
}

/// An option, here with all its names, was given `count` times.
static std::string describeRepeated(const CLI::Option &option,
                                    const std::string &count) {
  std::string names;
  auto add = [&](const std::string &name) {
    names += (names.empty() ? "'" : " or '") + name + "'";
  };
  for (const std::string &name : option.get_snames())
    add("-" + name);
  for (const std::string &name : option.get_lnames())
    add("--" + name);
  if (option.get_expected_min() == 0)
    return names + " was given more than once, or with more than one value; "
                   "give it once";
  return names + " was given " + (count == "2" ? "twice" : count + " times") +
         "; give it once";
}

std::string meshc::runtime::rephrase(const CLI::App &app,
                                     const std::string &lines) {
  // A long argument is shortened, since the matcher of regular expressions
  // calls itself for each character.
  constexpr size_t mostBytes = 2000;
  const std::string text = abridged(meshc::escapeControls(lines), mostBytes);
  static const std::regex repeated(
      "(--?[a-z-]+): At Most 1 required but received ([0-9]+)"),
      missing("(--?[a-z-]+): 1 required (.*) missing"),
      unwanted("Could not convert: (--?[a-z-]+) = (.*)");
  std::smatch match;
  if (std::regex_match(text, match, repeated))
    if (const CLI::Option *option = findOption(app, match[1]))
      return describeRepeated(*option, match[2]);
  if (std::regex_match(text, match, missing))
    return "'" + match[1].str() + "' has no value; expected '" +
           match[1].str() + " " + match[2].str() + "'";
  if (std::regex_match(text, match, unwanted))
    return "'" + match[1].str() + "' is '" + match[2].str() +
           "'; it takes no value";
  return "";
}

std::string meshc::runtime::describeParseError(const CLI::App &app,
                                               const CLI::ParseError &error) {
  std::string text = describeUnknown(app);
  if (!text.empty())
    return text;
  text = rephrase(app, error.what());
  if (!text.empty())
    return text;
  text = meshc::escapeControls(error.what());
  if (text.size() > 1 && (std::islower(text[1]) || text[1] == ' '))
    text[0] = static_cast<char>(std::tolower(text[0]));
  static const std::regex option("(^|[ ,])(--?[a-z][a-z-]*)");
  return std::regex_replace(text, option, "$1'$2'");
}
