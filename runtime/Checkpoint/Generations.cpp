//===- Generations.cpp - earlier checkpoints of a run ---------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Checkpoint/Generations.h"

#include "runtime/Base/Failure.h"
#include "runtime/Base/FollowLinks.h"
#include "runtime/Checkpoint/AtomicFile.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace meshc::runtime;

/// The bytes of a checkpoint of meshc that follow the 8 bytes of its header's
/// length.
static const char beginning[] = "{\"__metadata__\":{\"meshc.";

bool meshc::runtime::beginsAsCheckpoint(int descriptor) {
  return hasTextAt(descriptor, 8, beginning);
}

static std::string numbered(const std::string &path, int number) {
  return path + '.' + std::to_string(number);
}

static bool exists(const std::string &path) {
  struct stat status;
  return lstat(path.c_str(), &status) == 0;
}

bool meshc::runtime::isSameFile(const std::string &a, const std::string &b) {
  struct stat first, second;
  if (a == b)
    return true;
  return stat(a.c_str(), &first) == 0 && stat(b.c_str(), &second) == 0 &&
         first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

static bool isCheckpoint(const std::string &path) {
  int descriptor =
      ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (descriptor < 0)
    return false;
  bool begins = beginsAsCheckpoint(descriptor);
  ::close(descriptor);
  return begins;
}

/// The first free number, or the last number if none is free.
static int findPlace(const std::string &path, int count) {
  int place = 1;
  while (place < count - 1 && exists(numbered(path, place)))
    ++place;
  return place;
}

void meshc::runtime::checkGenerations(const std::string &path, int count) {
  for (int i = 1; i < count && exists(numbered(path, i)); ++i)
    if (!isCheckpoint(numbered(path, i)))
      throw Failure(ExitCode::Checkpoint,
                    "checkpoint '" + path + "' cannot be kept: '" +
                        numbered(path, i) +
                        "' exists and is not a checkpoint; move it away");
}

static void move(const std::string &path, int number) {
  std::string from = numbered(path, number), to = numbered(path, number + 1);
  if (std::rename(from.c_str(), to.c_str()) != 0)
    throw Failure(ExitCode::Checkpoint, "cannot rename checkpoint '" + from +
                                            "' to '" + to +
                                            "': " + std::strerror(errno));
}

void meshc::runtime::shiftGenerations(const std::string &path, int count) {
  // Handles a process that was killed between the link and the new file.
  if (count < 2 || !exists(path) || isSameFile(path, numbered(path, 1)))
    return;
  checkGenerations(path, count);
  int place = findPlace(path, count);
  for (int i = place; i > 1; --i)
    move(path, i - 1);
  std::string first = numbered(path, 1);
  if (count == 2 && exists(first) && ::unlink(first.c_str()) != 0)
    throw Failure(ExitCode::Checkpoint, "cannot remove checkpoint '" + first +
                                            "': " + std::strerror(errno));
  if (::link(path.c_str(), first.c_str()) == 0)
    return;
  // Some file systems have no hard links: there, `path` is missing until the
  // new file is renamed.
  if (std::rename(path.c_str(), first.c_str()) != 0)
    throw Failure(ExitCode::Checkpoint, "cannot keep checkpoint '" + path +
                                            "' as '" + first +
                                            "': " + std::strerror(errno));
}

/// The number of a generation whose file has that name after "PATH."; otherwise
/// 0.
static int numberOf(const char *text) {
  if (*text < '1' || *text > '9' || std::strlen(text) > 6 ||
      std::strspn(text, "0123456789") != std::strlen(text))
    return 0;
  return std::atoi(text);
}

std::string meshc::runtime::generationPath(const std::string &path,
                                           int number) {
  return number == 0 ? path : numbered(followLinks(path), number);
}

std::string meshc::runtime::bestCheckpointPath(const std::string &path) {
  return path + ".best";
}

std::vector<int> meshc::runtime::listGenerations(const std::string &name) {
  const std::string path = followLinks(name);
  std::vector<int> numbers;
  if (exists(path))
    numbers.push_back(0);
  size_t slash = path.rfind('/');
  std::string folder =
      slash == std::string::npos ? "." : path.substr(0, slash + 1);
  std::string base =
      (slash == std::string::npos ? path : path.substr(slash + 1)) + '.';
  if (DIR *directory = opendir(folder.c_str())) {
    while (const dirent *entry = readdir(directory))
      if (std::strncmp(entry->d_name, base.c_str(), base.size()) == 0)
        if (int number = numberOf(entry->d_name + base.size()))
          numbers.push_back(number);
    closedir(directory);
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}
