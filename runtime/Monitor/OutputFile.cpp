//===- OutputFile.cpp - files that a run writes as it goes ----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Monitor/OutputFile.h"

#include "runtime/Base/Failure.h"
#include "runtime/Comm/Pulse.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace meshc::runtime;

static Failure cannotOpen(const std::string &path, const std::string &kind,
                          const std::string &why) {
  return Failure(ExitCode::Usage,
                 kind + " '" + path + "' cannot be opened: " + why);
}

/// Opening a pipe for writing waits until a process opens it for reading, and
/// the other ranks would wait with this one, without knowing for what.
static std::FILE *openPipe(const std::string &path, const std::string &kind) {
  constexpr int patienceSeconds = 3, turnsPerSecond = 100;
  for (int turn = 0;; ++turn) {
    int file = ::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    if (file >= 0) {
      fcntl(file, F_SETFL, fcntl(file, F_GETFL) & ~O_NONBLOCK);
      return fdopen(file, "w");
    }
    if (errno != ENXIO)
      throw cannotOpen(path, kind, std::strerror(errno));
    if (turn == patienceSeconds * turnsPerSecond)
      throw cannotOpen(path, kind,
                       "it is a pipe that no process reads; start its reader "
                       "first, or name a file");
    noteProgress();
    usleep(1000000 / turnsPerSecond);
  }
}

std::FILE *meshc::runtime::openOutputFile(const std::string &path,
                                          const std::string &kind,
                                          bool appends) {
  struct stat status = {};
  if (stat(path.c_str(), &status) == 0 && S_ISFIFO(status.st_mode))
    return openPipe(path, kind);
  std::FILE *file = std::fopen(path.c_str(), appends ? "a+e" : "we");
  if (!file)
    throw cannotOpen(path, kind, std::strerror(errno));
  return file;
}
