//===- Plugin.cpp - finding the runtime's plugins -------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Base/Plugin.h"

#include "runtime/Base/AvailableMemory.h"

#include <cstdlib>
#include <dlfcn.h>
#include <link.h>
#include <sstream>
#include <unistd.h>

using namespace meshc::runtime;

static std::string executableDirectory() {
  char path[4096];
  ssize_t length = readlink("/proc/self/exe", path, sizeof(path));
  if (length <= 0)
    return ".";
  std::string text(path, length);
  return text.substr(0, text.rfind('/'));
}

/// Appends the entries of a search path.
static void appendPath(std::vector<std::string> &directories,
                       const char *path) {
  std::istringstream entries(path);
  for (std::string entry; std::getline(entries, entry, ':');)
    if (!entry.empty())
      directories.push_back(entry);
}

/// The library search path that the linker wrote into this executable
/// (DT_RUNPATH or DT_RPATH), or null.
static const char *executableRunPath() {
  const char *strings = nullptr;
  const ElfW(Dyn) *path = nullptr;
  for (const ElfW(Dyn) *entry = _DYNAMIC; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_STRTAB)
      strings = reinterpret_cast<const char *>(entry->d_un.d_ptr);
    if (entry->d_tag == DT_RUNPATH || (entry->d_tag == DT_RPATH && !path))
      path = entry;
  }
  return strings && path ? strings + path->d_un.d_val : nullptr;
}

std::vector<std::string> meshc::runtime::pluginDirectories() {
  std::vector<std::string> directories;
  if (const char *path = std::getenv("MESHC_PLUGIN_PATH"))
    appendPath(directories, path);
  directories.push_back(executableDirectory());
  if (const char *path = executableRunPath())
    appendPath(directories, path);
  return directories;
}

OpenedPlugin meshc::runtime::openPlugin(const std::string &name, int flags) {
  OpenedPlugin opened;
  for (const std::string &directory : pluginDirectories()) {
    std::string path = directory + "/" + name;
    if (access(path.c_str(), F_OK) != 0) {
      opened.tried += (opened.tried.empty() ? "'" : ", '") + directory + "'";
      continue;
    }
    opened.library = dlopen(path.c_str(), flags);
    if (!opened.library)
      opened.error = dlerror();
    if (meansTooLittleMemory(opened.error))
      throw tooLittleMemory("open the plugin '" + path + "'");
    return opened;
  }
  return opened;
}
