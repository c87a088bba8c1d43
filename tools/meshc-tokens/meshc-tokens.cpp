//===- meshc-tokens.cpp - files of tokens from texts ----------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Base/StandardStreams.h"
#include "runtime/Commands/Report.h"
#include "tools/meshc-tokens/CommandLine.h"
#include "tools/meshc-tokens/Run.h"

using namespace meshc;

int main(int argc, char **argv) {
  runtime::openStandardStreams();
  tokens::Options options;
  std::optional<int> ended = tokens::parseCommandLine(argc, argv, options);
  int code = ended.value_or(0);
  try {
    if (!ended)
      tokens::run(options);
  } catch (...) {
    code = runtime::reportError("meshc-tokens", std::current_exception(), "",
                                /*silent=*/false);
  }
  return runtime::codeAfterOutput("meshc-tokens", code);
}
