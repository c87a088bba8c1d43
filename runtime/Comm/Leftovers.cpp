//===- Leftovers.cpp - shared memory of killed runs -----------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Comm/Leftovers.h"

#include <cstdlib>
#include <cstring>
#include <ctime>
#include <dirent.h>
#include <fcntl.h>
#include <fstream>
#include <functional>
#include <set>
#include <string>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace meshc::runtime;

namespace {

constexpr const char *folder = "/dev/shm/";

/// Calls `visit` with the name of each folder entry that begins with `prefix`.
void forEntries(const char *path, const char *prefix,
                const std::function<void(const std::string &name)> &visit) {
  DIR *entries = opendir(path);
  if (!entries)
    return;
  while (const dirent *entry = readdir(entries))
    if (std::strncmp(entry->d_name, prefix, std::strlen(prefix)) == 0)
      visit(entry->d_name);
  closedir(entries);
}

/// Whether it is the user's own regular file, which no process may be about to
/// use.
bool isOldAndOwn(const std::string &path) {
  constexpr time_t youngest = 60;
  struct stat status{};
  return lstat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
         status.st_uid == geteuid() &&
         time(nullptr) - status.st_mtime > youngest;
}

bool isLocked(const std::string &path) {
  int file = open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (file < 0)
    return true;
  bool locked = flock(file, LOCK_EX | LOCK_NB) != 0;
  close(file);
  return locked;
}

/// The files below `folder` that processes map.
std::set<std::string> findMapped() {
  std::set<std::string> mapped;
  forEntries("/proc", "", [&](const std::string &process) {
    if (process.find_first_not_of("0123456789") != std::string::npos)
      return;
    std::ifstream maps("/proc/" + process + "/maps");
    for (std::string line; std::getline(maps, line);) {
      size_t at = line.find(folder);
      if (at != std::string::npos)
        mapped.insert(line.substr(at));
    }
  });
  return mapped;
}

} // namespace

void meshc::runtime::removeLeftovers() {
  forEntries(folder, "meshc-", [](const std::string &name) {
    std::string path = folder + name;
    if (isOldAndOwn(path) && !isLocked(path))
      unlink(path.c_str());
  });
  std::set<std::string> old;
  forEntries(folder, "vader_segment.", [&](const std::string &name) {
    if (isOldAndOwn(folder + name))
      old.insert(folder + name);
  });
  if (old.empty())
    return;
  std::set<std::string> mapped = findMapped();
  for (const std::string &path : old)
    if (!mapped.count(path))
      unlink(path.c_str());
}
