//===- KillPoint.cpp - ends a process at one of its calls -----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A library for LD_PRELOAD. It counts the calls that open, write, sync,
/// rename, link or change files whose names begin with KILL_PATH, and those
/// that open and sync their folder: event 2·n is before call n, event 2·n + 1
/// after it. SIGKILL ends the process at event KILL_AT. At the end of the
/// process the number of events is written to the file KILL_COUNT.
///
//===----------------------------------------------------------------------===//
#include <atomic>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/types.h>
#include <unistd.h>

namespace {

std::atomic<long> events{0};
std::atomic<bool> isWatched[1024];

void meet() {
  static const char *const at = std::getenv("KILL_AT");
  if (events++ == (at ? std::atol(at) : -1))
    kill(getpid(), SIGKILL);
}

bool isOurs(const char *path) {
  static const char *const prefix = std::getenv("KILL_PATH");
  if (!prefix)
    return false;
  const char *slash = std::strrchr(prefix, '/');
  auto folder = static_cast<size_t>(slash - prefix + 1);
  return std::strncmp(path, prefix, std::strlen(prefix)) == 0 ||
         (std::strncmp(path, prefix, folder) == 0 && !path[folder]);
}

bool isOurs(int descriptor) {
  return descriptor >= 0 && descriptor < 1024 && isWatched[descriptor];
}

/// Makes the call, between its two events if it concerns one of our files.
template <typename Place, typename Call>
auto between(Place place, const Call &call) {
  if (!isOurs(place))
    return call();
  meet();
  auto result = call();
  meet();
  return result;
}

template <typename Function>
Function *next(const char *name, Function * /*type*/) {
  return reinterpret_cast<Function *>(dlsym(RTLD_NEXT, name));
}

struct CountAtEnd {
  ~CountAtEnd() {
    const char *path = std::getenv("KILL_COUNT");
    if (std::FILE *file = path ? std::fopen(path, "w") : nullptr) {
      std::fprintf(file, "%ld\n", events.load());
      std::fclose(file);
    }
  }
} countAtEnd;

} // namespace

extern "C" {

int open(const char *path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  int mode = flags & O_CREAT ? va_arg(list, int) : 0;
  va_end(list);
  static auto *real = next("open", &open);
  int descriptor = between(path, [&] { return real(path, flags, mode); });
  if (descriptor >= 0 && descriptor < 1024)
    isWatched[descriptor] = isOurs(path);
  return descriptor;
}

int close(int descriptor) {
  static auto *real = next("close", &close);
  if (descriptor >= 0 && descriptor < 1024)
    isWatched[descriptor] = false;
  return real(descriptor);
}

ssize_t write(int descriptor, const void *data, size_t bytes) {
  static auto *real = next("write", &write);
  return between(descriptor, [&] { return real(descriptor, data, bytes); });
}

ssize_t pwrite(int descriptor, const void *data, size_t bytes, off_t at) {
  static auto *real = next("pwrite", &pwrite);
  return between(descriptor, [&] { return real(descriptor, data, bytes, at); });
}

int fsync(int descriptor) {
  static auto *real = next("fsync", &fsync);
  return between(descriptor, [&] { return real(descriptor); });
}

int ftruncate(int descriptor, off_t bytes) noexcept {
  static auto *real = next("ftruncate", &ftruncate);
  return between(descriptor, [&] { return real(descriptor, bytes); });
}

int flock(int descriptor, int operation) noexcept {
  static auto *real = next("flock", &flock);
  return between(descriptor, [&] { return real(descriptor, operation); });
}

int fchmod(int descriptor, mode_t mode) noexcept {
  static auto *real = next("fchmod", &fchmod);
  return between(descriptor, [&] { return real(descriptor, mode); });
}

int fchown(int descriptor, uid_t user, gid_t group) noexcept {
  static auto *real = next("fchown", &fchown);
  return between(descriptor, [&] { return real(descriptor, user, group); });
}

int rename(const char *from, const char *to) noexcept {
  static auto *real = next("rename", &rename);
  return between(from, [&] { return real(from, to); });
}

int link(const char *from, const char *to) noexcept {
  static auto *real = next("link", &link);
  return between(from, [&] { return real(from, to); });
}

int unlink(const char *path) noexcept {
  static auto *real = next("unlink", &unlink);
  return between(path, [&] { return real(path); });
}

} // extern "C"
