//===- Entry.h - what main does ---------------------------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_COMMANDS_ENTRY_H
#define MESHC_RUNTIME_COMMANDS_ENTRY_H

#include "meshc/RuntimeAbi.h"

namespace meshc::runtime {

/// Runs a program with its command line, on this process's ranks. Returns the
/// process's exit code (ExitCode); errors are printed on stderr once.
int runProgram(const MeshcProgram &program, int argc, char **argv);

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_COMMANDS_ENTRY_H
