//===- Leftovers.cpp - shared memory of killed runs -----------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Comm/Leftovers.h"

#include <csignal>
#include <cstring>
#include <ctime>
#include <dirent.h>
#include <fcntl.h>
#include <functional>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

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

/// Removes a file that nobody has open or maps. A write lease (fcntl(2)) is
/// granted only then: the kernel counts the users of a file, also those in
/// other PID namespaces, whose maps are not in this /proc. While the lease is
/// held, nobody else can open the file. A file system without leases keeps the
/// file.
void removeUnused(const std::string &path) {
  int file = open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file < 0)
    return;
  // The signal that tells of another process that opens it: one that is
  // ignored, as SIGIO ends the program.
  if (fcntl(file, F_SETSIG, SIGURG) == 0 &&
      fcntl(file, F_SETLEASE, F_WRLCK) == 0)
    unlink(path.c_str());
  close(file);
}

} // namespace

void meshc::runtime::removeLeftovers() {
  std::vector<std::string> old;
  for (const char *prefix : {"meshc-", "vader_segment."})
    forEntries(folder, prefix, [&](const std::string &name) {
      if (isOldAndOwn(folder + name))
        old.push_back(folder + name);
    });
  for (const std::string &path : old)
    removeUnused(path);
}
