//===- Run.h - the commands of meshc-tokens ---------------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_TOOLS_MESHC_TOKENS_RUN_H
#define MESHC_TOOLS_MESHC_TOKENS_RUN_H

#include "tools/meshc-tokens/CommandLine.h"

namespace meshc::tokens {

/// Runs the command. Throws runtime::Failure: Usage, Data for an input,
/// Checkpoint for the output.
void run(const Options &options);

} // namespace meshc::tokens

#endif // MESHC_TOOLS_MESHC_TOKENS_RUN_H
