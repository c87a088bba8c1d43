//===- CommandLine.h - meshc's options ------------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_TOOLS_MESHC_COMMANDLINE_H
#define MESHC_TOOLS_MESHC_COMMANDLINE_H

#include "lib/Pipeline/Compile.h"

namespace meshc {

/// Fills in the options. Returns an exit code if there is nothing to compile:
/// after --help and --version, and after an error, which is printed as one line
/// on standard error.
std::optional<ExitCode> parseCommandLine(int argc, char **argv,
                                         CompileOptions &options);

} // namespace meshc

#endif // MESHC_TOOLS_MESHC_COMMANDLINE_H
