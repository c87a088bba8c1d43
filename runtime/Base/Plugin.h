//===- Plugin.h - finding the runtime's plugins ---------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_BASE_PLUGIN_H
#define MESHC_RUNTIME_BASE_PLUGIN_H

#include <string>
#include <vector>

namespace meshc::runtime {

/// The directories that are searched for plugins, in this order: those in
/// MESHC_PLUGIN_PATH (separated by colons), the executable's own, and those in
/// the executable's run path. meshc sets the run path of the programs that it
/// links to the directory of the runtime's archive.
std::vector<std::string> pluginDirectories();

/// The result of opening a plugin.
struct OpenedPlugin {
  void *library = nullptr; ///< dlopen's handle, or null
  std::string error;       ///< dlopen's message; empty if no file was found
  std::string tried;       ///< "'DIR', 'DIR'": directories without the file
};

/// Opens the first file with that name in pluginDirectories(), with dlopen's
/// flags.
OpenedPlugin openPlugin(const std::string &name, int flags);

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_BASE_PLUGIN_H
