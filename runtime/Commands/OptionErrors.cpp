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

/// The setting of that name, also of one with hyphens; empty if there is none.
static std::string settingOf(std::string name,
                             const std::vector<std::string> &settings) {
  std::replace(name.begin(), name.end(), '-', '_');
  return std::find(settings.begin(), settings.end(), name) == settings.end()
             ? ""
             : name;
}

/// The arguments that neither the subcommand nor `command` itself takes, each
/// in their order; empty if there are none. What follows an unknown option may
/// be its value.
static std::string describeUnknown(const CLI::App &command,
                                   const std::vector<std::string> &settings) {
  std::vector<std::string> known;
  for (const CLI::Option *option : command.get_options())
    for (const std::string &name : option->get_lnames())
      known.push_back(name);
  std::string text;
  for (const CLI::App *subcommand : command.get_subcommands())
    text += describeUnknown(*subcommand, settings);
  bool isValue = false;
  const std::vector<std::string> arguments = command.remaining();
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string &argument = arguments[i];
    bool isOption = argument.size() > 1 && argument[0] == '-';
    if (isOption || !isValue)
      text += std::string(text.empty() ? "" : ", ") +
              (isOption ? "unknown option" : "unexpected argument") + " '" +
              argument + "'";
    isValue = isOption;
    if (!isOption)
      continue;
    const std::string written = argument.substr(
        std::min(argument.size(), argument.find_first_not_of('-')));
    const std::string name = written.substr(0, written.find('='));
    if (std::string setting = settingOf(name, settings);
        !setting.empty() && command.get_option_no_throw("--set-setting")) {
      std::string value = "VALUE";
      if (name.size() < written.size())
        value = written.substr(name.size() + 1);
      else if (i + 1 < arguments.size() && arguments[i + 1][0] != '-')
        value = arguments[i + 1];
      text += " (write '--set-setting " + setting + "=" + value + "')";
      continue;
    }
    std::string nearest = nearestName(name, known);
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

std::string
meshc::runtime::describeParseError(const CLI::App &app,
                                   const CLI::ParseError &error,
                                   const std::vector<std::string> &settings) {
  std::string text = describeUnknown(app, settings);
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
