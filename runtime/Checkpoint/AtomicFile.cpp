//===- AtomicFile.cpp - files that appear whole or not at all -------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Checkpoint/AtomicFile.h"

#include "runtime/Core/Failure.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace meshc::runtime;

/// Where a file of that name is: a link's target, which is replaced in its
/// place. What is there and is no file (a folder, a device) is never replaced.
static std::string findTarget(const std::string &path) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0)
    return path;
  if (!S_ISREG(status.st_mode))
    throw Failure(ExitCode::Checkpoint,
                  "checkpoint '" + path + "' cannot be written: " +
                      (S_ISDIR(status.st_mode) ? "a folder" : "a device") +
                      " has that name; give the name of a file");
  char *real = realpath(path.c_str(), nullptr);
  std::string target = real ? real : path;
  std::free(real);
  return target;
}

AtomicFile::AtomicFile(const std::string &name)
    : path(findTarget(name)),
      temporary(path + ".tmp" + std::to_string(getpid())) {
  descriptor =
      ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor < 0)
    fail("create", errno);
}

AtomicFile::~AtomicFile() {
  if (descriptor < 0)
    return;
  ::close(descriptor);
  unlink(temporary.c_str());
}

void AtomicFile::fail(const char *action, int error) {
  throw Failure(ExitCode::Checkpoint,
                std::string("cannot ") + action + " checkpoint '" + path +
                    "' (as '" + temporary + "'): " + std::strerror(error) +
                    (access(path.c_str(), F_OK) == 0
                         ? "; the checkpoint of before is intact"
                         : ""));
}

void AtomicFile::write(const void *data, size_t bytes) {
  const char *at = static_cast<const char *>(data);
  while (bytes > 0) {
    ssize_t written =
        ::write(descriptor, at, std::min<size_t>(bytes, size_t(1) << 30));
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      fail("write", errno);
    at += written;
    bytes -= static_cast<size_t>(written);
  }
}

void AtomicFile::commit() {
  if (fsync(descriptor) != 0)
    fail("write", errno);
  if (rename(temporary.c_str(), path.c_str()) != 0)
    fail("rename", errno);
  ::close(descriptor);
  descriptor = -1;
  size_t slash = path.rfind('/');
  std::string folder =
      slash == std::string::npos ? "." : path.substr(0, slash + 1);
  int directory = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory >= 0) {
    fsync(directory); // some file systems have no folders to bring to the disk
    ::close(directory);
  }
}
