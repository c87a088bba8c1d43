//===- HelpText.cpp - what --help prints ----------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Commands/HelpText.h"

#include <sstream>

using namespace meshc::runtime;

static constexpr size_t helpColumns = 80;

std::string meshc::runtime::wrapWords(const std::string &text, size_t width,
                                      size_t indent) {
  std::istringstream words(text);
  std::string wrapped, word;
  size_t column = indent;
  while (words >> word) {
    const bool isFirst = wrapped.empty();
    if (!isFirst && column + 1 + word.size() > width) {
      wrapped += '\n' + std::string(indent, ' ');
      column = indent;
    } else if (!isFirst) {
      wrapped += ' ';
      ++column;
    }
    wrapped += word;
    column += word.size();
  }
  return wrapped;
}

/// A name and its description beside it, or below it if the name is too long.
static std::string formatEntry(const std::string &name,
                               const std::string &description, size_t column) {
  std::string line = "  " + name;
  if (description.empty())
    return line + '\n';
  line += line.size() + 1 > column ? '\n' + std::string(column, ' ')
                                   : std::string(column - line.size(), ' ');
  return line + wrapWords(description, helpColumns, column) + '\n';
}

std::string HelpText::make_option(const CLI::Option *option,
                                  bool isPositional) const {
  return formatEntry(make_option_name(option, isPositional) +
                         make_option_opts(option),
                     make_option_desc(option), get_column_width());
}

std::string HelpText::make_subcommand(const CLI::App *command) const {
  return formatEntry(command->get_name(), command->get_description(),
                     get_column_width());
}

std::string HelpText::make_description(const CLI::App *app) const {
  const std::string text = app->get_description();
  return text.empty() ? "" : wrapWords(text, helpColumns, 0) + '\n';
}

std::string HelpText::make_footer(const CLI::App *app) const {
  std::istringstream lines(app->get_footer());
  std::string footer;
  for (std::string line; std::getline(lines, line);)
    footer +=
        (line.empty() || line[0] == ' ' ? line
                                        : wrapWords(line, helpColumns, 0)) +
        '\n';
  return footer;
}
