//===- HelpText.h - what --help prints --------------------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_COMMANDS_HELPTEXT_H
#define MESHC_RUNTIME_COMMANDS_HELPTEXT_H

#include <CLI/CLI.hpp>
#include <string>

namespace meshc::runtime {

/// Help in lines of at most 80 columns, broken between words: of meshc, of
/// meshc-tokens and of compiled programs. Lines of a footer that begin with a
/// blank stay as they are. A subcommand has the formatter that its command has
/// when it is added.
class HelpText : public CLI::Formatter {
public:
  /// Descriptions of options begin in column `column`.
  explicit HelpText(size_t column) { column_width(column); }

  std::string make_option(const CLI::Option *option,
                          bool isPositional) const override;
  std::string make_subcommand(const CLI::App *command) const override;
  std::string make_description(const CLI::App *app) const override;
  std::string make_footer(const CLI::App *app) const override;
};

/// The words of `text`, of which ends of lines count as blanks, in lines of at
/// most `width` columns, if no word is longer. All lines but the first begin
/// with `indent` blanks, which count.
std::string wrapWords(const std::string &text, size_t width, size_t indent);

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_COMMANDS_HELPTEXT_H
