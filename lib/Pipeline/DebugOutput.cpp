//===- DebugOutput.cpp - what passes decide, printed as they run ----------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Pipeline/DebugOutput.h"
#include "llvm/Support/Debug.h"

namespace meshc {

#ifdef NDEBUG
std::string enableDebugOutput(const std::vector<std::string> &) {
  return "this build has no debug output; build one that has it with 'cmake "
         "--preset debug && cmake --build build/debug'";
}
#else
std::string enableDebugOutput(const std::vector<std::string> &types) {
  std::vector<const char *> names;
  for (const std::string &type : types)
    names.push_back(type.c_str());
  llvm::DebugFlag = true;
  llvm::setCurrentDebugTypes(names.data(), names.size());
  return "";
}
#endif

} // namespace meshc
