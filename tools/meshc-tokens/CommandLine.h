//===- CommandLine.h - the options of meshc-tokens --------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_TOOLS_MESHC_TOKENS_COMMANDLINE_H
#define MESHC_TOOLS_MESHC_TOKENS_COMMANDLINE_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace meshc::tokens {

enum class Command { Encode, Decode, Characters, Info };

struct Options {
  Command command = Command::Encode;
  std::vector<std::string>
      inputs; ///< files and folders; one file, if read back
  std::string output;
  std::string tokenizer;  ///< as openTokenizer takes it
  std::string type;       ///< "u16" or "i32"; empty: the smaller that suffices
  bool endOfText = false; ///< append the tokenizer's special token
  int64_t first = 0;      ///< token from which on to decode
  int64_t count = INT64_MAX;
};

/// Parses the command line. Returns the exit code if there is nothing else to
/// do: after `--help`, `--version` and errors, which it prints.
std::optional<int> parseCommandLine(int argc, char **argv, Options &options);

} // namespace meshc::tokens

#endif // MESHC_TOOLS_MESHC_TOKENS_COMMANDLINE_H
