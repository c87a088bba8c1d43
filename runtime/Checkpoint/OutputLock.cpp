//===- OutputLock.cpp - one run writes a file -----------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Checkpoint/OutputLock.h"

#include "runtime/Base/Failure.h"
#include "runtime/Base/FollowLinks.h"
#include "runtime/Base/StandardStreams.h"
#include "runtime/Checkpoint/Generations.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

using namespace meshc::runtime;

namespace {

/// Bytes of the lock's file stand for the files: byte 0 for FILE, byte n for
/// its generation n, and this one for FILE.best.
constexpr off_t byteOfBest = 1 << 20;

std::string lockName(const std::string &path) { return path + ".meshc-lock"; }

struct flock lockOf(short type, off_t first, off_t count) {
  struct flock lock = {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = first;
  lock.l_len = count;
  return lock;
}

/// "process 4711 on host 'node7', since 2026-03-01 12:00:00"
std::string describeSelf() {
  char host[256] = "unknown", since[32] = "";
  gethostname(host, sizeof(host) - 1);
  time_t now = time(nullptr);
  struct tm local = {};
  std::strftime(since, sizeof(since), "%Y-%m-%d %H:%M:%S",
                localtime_r(&now, &local));
  return "process " + std::to_string(getpid()) + " on host '" + host +
         "', since " + since;
}

/// What the holder has written; it may not have done so yet.
std::string readHolder(int descriptor) {
  char text[512];
  for (int turn = 0; turn < 20; ++turn) {
    ssize_t size = pread(descriptor, text, sizeof(text), 0);
    if (size > 0)
      return std::string(text, static_cast<size_t>(size));
    usleep(10000);
  }
  return "another process";
}

Failure inUse(const std::string &path, const std::string &holder) {
  return Failure(ExitCode::Usage,
                 "'" + path + "' is being written by another run (" + holder +
                     "); wait for its end, or name another file");
}

/// Throws if another run has that byte of the lock's file of `base`; the byte
/// stands for the file `path`.
void checkFree(const std::string &base, off_t byte, const std::string &path) {
  int file = open(lockName(followLinks(base)).c_str(),
                  O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (file < 0)
    return;
  struct flock lock = lockOf(F_WRLCK, byte, 1);
  const bool isHeld =
      fcntl(file, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
  const std::string holder = isHeld ? readHolder(file) : "";
  close(file);
  if (isHeld)
    throw inUse(path, holder);
}

/// Whether the open file still has that name.
bool hasName(int descriptor, const std::string &name) {
  struct stat open = {}, named = {};
  return fstat(descriptor, &open) == 0 && lstat(name.c_str(), &named) == 0 &&
         open.st_dev == named.st_dev && open.st_ino == named.st_ino;
}

/// Opens the lock's file of `path`. One that another user's killed run has left
/// is replaced. Returns -1 on failure.
int openLock(const std::string &path) {
  const std::string name = lockName(path);
  constexpr int flags = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW;
  int file = open(name.c_str(), flags, 0666);
  if (file >= 0 || errno != EACCES)
    return file;
  checkFree(path, 0, path);
  errno = EACCES;
  return unlink(name.c_str()) == 0 ? open(name.c_str(), flags, 0666) : -1;
}

enum class Outcome { Locked, Held, Impossible };

Outcome tryLock(int descriptor, const OutputFiles &files) {
  struct flock lock = lockOf(F_WRLCK, 0, files.generations);
  if (fcntl(descriptor, F_OFD_SETLK, &lock) != 0)
    return errno == EAGAIN || errno == EACCES ? Outcome::Held
                                              : Outcome::Impossible;
  lock = lockOf(F_WRLCK, byteOfBest, 1);
  if (files.best)
    fcntl(descriptor, F_OFD_SETLK, &lock);
  return Outcome::Locked;
}

/// Whether the path is, or may become, a regular file.
bool isRegular(const std::string &path) {
  struct stat status = {};
  return stat(path.c_str(), &status) != 0 || S_ISREG(status.st_mode);
}

/// The number N if `path` is BASE.N, or the byte of BASE.best; else 0.
off_t byteOfName(const std::string &path, std::string &base) {
  size_t dot = path.rfind('.');
  if (dot == std::string::npos)
    return 0;
  base = path.substr(0, dot);
  const std::string end = path.substr(dot + 1);
  if (path == bestCheckpointPath(base))
    return byteOfBest;
  const bool isNumber =
      !end.empty() && end.size() < 5 && end[0] != '0' &&
      end.find_first_not_of("0123456789") == std::string::npos;
  return isNumber ? std::atoi(end.c_str()) : 0;
}

/// Other runs may have files of this one by their own names: FILE.1 may be the
/// checkpoint of one, and FILE a generation that another one keeps.
void checkRelated(const OutputFiles &files) {
  for (int i = 1; i < files.generations; ++i)
    checkFree(generationPath(files.path, i), 0, generationPath(files.path, i));
  if (files.best)
    checkFree(bestCheckpointPath(files.path), 0,
              bestCheckpointPath(files.path));
  std::string base;
  if (off_t byte = byteOfName(followLinks(files.path), base))
    checkFree(base, byte, files.path);
}

} // namespace

OutputLock::OutputLock(const OutputFiles &files) {
  if (files.path.empty() || !isRegular(files.path))
    return;
  const std::string path = followLinks(files.path);
  constexpr int mostTurns = 300; // of 10 ms
  for (int turn = 0;; ++turn) {
    descriptor = openLock(path);
    Outcome outcome =
        descriptor >= 0 ? tryLock(descriptor, files) : Outcome::Impossible;
    if (outcome == Outcome::Impossible) {
      goWithout(files.path, errno);
      return;
    }
    name = lockName(path);
    // The previous holder may have removed the file.
    if (outcome == Outcome::Locked && hasName(descriptor, name))
      break;
    const std::string holder = turn < mostTurns ? "" : readHolder(descriptor);
    forget();
    if (turn >= mostTurns)
      throw inUse(files.path, holder);
    usleep(10000);
  }
  try {
    checkRelated(files);
  } catch (...) {
    release();
    throw;
  }
  const std::string self = describeSelf();
  if (ftruncate(descriptor, 0) == 0)
    (void)!pwrite(descriptor, self.data(), self.size(), 0);
}

OutputLock::~OutputLock() { release(); }

OutputLock::OutputLock(OutputLock &&other) noexcept
    : name(std::move(other.name)),
      descriptor(std::exchange(other.descriptor, -1)) {}

/// Closes the lock's file, which ends the lock if this object has it.
void OutputLock::forget() {
  if (descriptor >= 0)
    close(descriptor);
  descriptor = -1;
}

/// Removes the lock's file while it is locked, so that it is nobody else's.
void OutputLock::release() {
  if (descriptor >= 0)
    unlink(name.c_str());
  forget();
}

/// A missing folder is an error where the file itself is opened.
void OutputLock::goWithout(const std::string &path, int error) {
  forget();
  if (error != ENOENT && error != ENOTDIR)
    printError("warning: '" + path +
               "' cannot be locked: " + std::strerror(error) +
               "; make sure that no other run writes it\n");
}
