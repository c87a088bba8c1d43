//===- ReplacedFiles.h - files that a run would empty -----------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_COMMANDS_REPLACEDFILES_H
#define MESHC_RUNTIME_COMMANDS_REPLACEDFILES_H

#include "runtime/Commands/Options.h"

namespace meshc::runtime {

/// Throws Failure(Usage) if `--log` or `--trace` names a file that holds
/// something other than what runs write there, unless `--overwrite` is given.
/// Pipes and devices may be written.
void checkReplacedFiles(const Options &options);

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_COMMANDS_REPLACEDFILES_H
