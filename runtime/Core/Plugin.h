//===- Plugin.h - finding the runtime's plugins ---------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_CORE_PLUGIN_H
#define MESHC_RUNTIME_CORE_PLUGIN_H

#include <string>
#include <vector>

namespace meshc::runtime {

/// Where plugins are looked for, in this order: the directories of
/// MESHC_PLUGIN_PATH (separated by colons), the executable's, and the one where
/// the build that made the runtime put them.
std::vector<std::string> pluginDirectories();

/// What came of opening a plugin.
struct OpenedPlugin {
  void *library = nullptr; ///< of dlopen, or null
  std::string error;       ///< why it cannot be opened; empty where not found
  std::string tried;       ///< "'DIR', 'DIR'" without it
};

/// Opens the first plugin of that name that is there, with the flags of dlopen.
OpenedPlugin openPlugin(const std::string &name, int flags);

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_CORE_PLUGIN_H
