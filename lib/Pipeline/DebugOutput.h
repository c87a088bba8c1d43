//===- DebugOutput.h - what passes decide, printed as they run ------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Passes print their decisions by LDBG() of llvm/Support/DebugLog.h. Only
/// builds without NDEBUG (the preset 'debug') contain this output.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_PIPELINE_DEBUGOUTPUT_H
#define MESHC_LIB_PIPELINE_DEBUGOUTPUT_H

#include <string>
#include <vector>

namespace meshc {

/// Makes these passes print their decisions to standard error from now on.
/// `types` are their DEBUG_TYPEs, which are their names on mesh-opt's command
/// line, as in meshc-plan-arena. Returns an error message if this build has no
/// debug output, and otherwise an empty string.
std::string enableDebugOutput(const std::vector<std::string> &types);

} // namespace meshc

#endif // MESHC_LIB_PIPELINE_DEBUGOUTPUT_H
