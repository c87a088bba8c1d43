//===- AtomicFile.cpp - files that appear whole or not at all -------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Checkpoint/AtomicFile.h"

#include "runtime/Base/Failure.h"
#include "runtime/Base/FollowLinks.h"
#include "runtime/Checkpoint/ExportWeights.h"
#include "runtime/Checkpoint/Generations.h"
#include "runtime/Comm/Pulse.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace meshc::runtime;

bool meshc::runtime::hasTextAt(int descriptor, off_t at,
                               std::string_view text) {
  std::string found(text.size(), '\0');
  return pread(descriptor, found.data(), found.size(), at) ==
             static_cast<ssize_t>(text.size()) &&
         found == text;
}

bool meshc::runtime::holdsOther(
    const std::string &path,
    const std::function<bool(int descriptor)> &begins) {
  const int descriptor =
      ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0)
    return false; // it does not exist, or opening it for writing says why not
  struct stat status = {};
  const bool isOther = fstat(descriptor, &status) == 0 &&
                       S_ISREG(status.st_mode) && status.st_size > 0 &&
                       !begins(descriptor);
  ::close(descriptor);
  return isOther;
}

/// A save or an export to the same name was killed.
static bool isUnfinishedSafetensors(int descriptor) {
  return beginsAsCheckpoint(descriptor) || beginsAsExport(descriptor);
}

const FileForm meshc::runtime::checkpointForm = {
    "checkpoint", ExitCode::Checkpoint, isUnfinishedSafetensors};
const FileForm meshc::runtime::exportForm = {
    "exported file", ExitCode::Checkpoint, isUnfinishedSafetensors};

std::string meshc::runtime::findTarget(const std::string &path,
                                       const FileForm &form) {
  struct stat status;
  const bool exists = stat(path.c_str(), &status) == 0;
  const char *other = !exists && errno == ELOOP ? "a link that leads to itself"
                      : !exists || S_ISREG(status.st_mode) ? nullptr
                      : S_ISDIR(status.st_mode)            ? "a folder"
                      : S_ISFIFO(status.st_mode) ? "a FIFO (named pipe)"
                                                 : "a device";
  if (other)
    throw Failure(form.code, std::string(form.name) + " '" + path +
                                 "' cannot be written: " + other +
                                 " has that name; give the name of a file");
  return followLinks(path);
}

std::string meshc::runtime::temporaryPath(const std::string &target) {
  return target + ".meshc-tmp";
}

/// Flushes the entry of a file in its folder to the disk.
static void flushFolderOf(const std::string &path) {
  size_t slash = path.rfind('/');
  std::string folder =
      slash == std::string::npos ? "." : path.substr(0, slash + 1);
  int directory = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory >= 0) {
    fsync(directory); // some file systems cannot flush folders
    ::close(directory);
  }
}

void meshc::runtime::removeFile(const std::string &path, const FileForm &form) {
  const std::string target = findTarget(path, form);
  if (unlink(target.c_str()) == 0)
    flushFolderOf(target);
  else if (errno != ENOENT)
    throw Failure(form.code, std::string("cannot remove ") + form.name + " '" +
                                 target + "': " + std::strerror(errno));
}

AtomicFile::AtomicFile(const std::string &name, const FileForm &form)
    : form(form), path(findTarget(name, form)), temporary(temporaryPath(path)) {
  open();
  while (isLinkedElsewhere()) { // its content stays under the other name
    unlink(temporary.c_str());
    open();
  }
  if (ftruncate(descriptor, 0) != 0)
    refuse("'" + temporary +
           "' is there, and cannot be emptied: " + std::strerror(errno));
  inheritMode(/*final=*/false);
}

/// Opens or creates the temporary file, and locks it.
void AtomicFile::open() {
  do {
    if (descriptor >= 0)
      ::close(descriptor);
    descriptor =
        ::open(temporary.c_str(),
               O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
    if (descriptor < 0)
      fail("create", errno);
    takeLock();
    // The previous holder of the lock may have renamed or removed the file.
  } while (!isOurs());
  if (!isUnfinished())
    refuse("'" + temporary + "' exists and is not an unfinished " + form.name +
           "; move it away");
}

/// Waits some seconds for another program that is writing the same file. File
/// systems without locks do not grant any.
void AtomicFile::takeLock() {
  for (int turn = 0; flock(descriptor, LOCK_EX | LOCK_NB) != 0; ++turn) {
    if (errno != EWOULDBLOCK && errno != EINTR)
      return;
    if (turn == 300)
      refuse("another program is writing it");
    usleep(10000);
  }
}

/// Whether the open file still has the temporary name.
bool AtomicFile::isOurs() const {
  struct stat open, named;
  return fstat(descriptor, &open) == 0 &&
         lstat(temporary.c_str(), &named) == 0 && open.st_dev == named.st_dev &&
         open.st_ino == named.st_ino;
}

/// Whether the open file, which existed before, was left by a save that was
/// killed.
bool AtomicFile::isUnfinished() const {
  struct stat status;
  if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode))
    return false;
  if (status.st_size == 0)
    return true;
  return form.begins(descriptor);
}

bool AtomicFile::isLinkedElsewhere() const {
  struct stat status;
  return fstat(descriptor, &status) == 0 && status.st_nlink > 1;
}

/// Gives the temporary file the mode of the file that it will replace, so that
/// nobody else can read it meanwhile. At the end (`final`) gives it exactly
/// that mode and, if the system permits, its owner and group.
void AtomicFile::inheritMode(bool final) const {
  struct stat status;
  if (stat(path.c_str(), &status) != 0)
    return;
  if (!final) {
    fchmod(descriptor, (status.st_mode & 0777) | S_IRUSR | S_IWUSR);
    return;
  }
  mode_t mode = status.st_mode & 0777;
  if (fchown(descriptor, status.st_uid, status.st_gid) == 0)
    mode = status.st_mode & 07777;
  else if (fchown(descriptor, static_cast<uid_t>(-1), status.st_gid) != 0)
    mode &= 0707;           // its permissions were for another group
  fchmod(descriptor, mode); // after chown, which clears the upper bits
}

AtomicFile::~AtomicFile() {
  if (descriptor < 0)
    return;
  if (isOurs()) // and while it is locked
    unlink(temporary.c_str());
  ::close(descriptor);
}

void AtomicFile::refuse(const std::string &why) {
  ::close(descriptor);
  descriptor = -1;
  throw Failure(form.code, std::string(form.name) + " '" + path +
                               "' cannot be written: " + why);
}

void AtomicFile::fail(const char *action, int error) {
  throw Failure(
      form.code,
      std::string("cannot ") + action + " " + form.name + " '" + path +
          "' (as '" + temporary + "'): " + std::strerror(error) +
          (access(path.c_str(), F_OK) == 0
               ? std::string("; the ") + form.name + " of before is intact"
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
    flush(static_cast<int64_t>(written));
  }
}

/// Flushes the data to the disk piece by piece, so that the end of a large file
/// does not wait for all of it. If a file system has no such call, commit()
/// flushes everything.
void AtomicFile::flush(int64_t newBytes) {
  constexpr int64_t pieceBytes = int64_t(64) << 20;
  noteProgress();
  writtenBytes += newBytes;
  if (writtenBytes - flushedBytes < pieceBytes)
    return;
  sync_file_range(descriptor, flushedBytes, writtenBytes - flushedBytes,
                  SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
                      SYNC_FILE_RANGE_WAIT_AFTER);
  noteProgress();
  flushedBytes = writtenBytes;
}

void AtomicFile::rewriteStart(const void *data, size_t bytes) {
  const char *at = static_cast<const char *>(data);
  for (size_t done = 0; done < bytes;) {
    ssize_t written =
        pwrite(descriptor, at + done, bytes - done, static_cast<off_t>(done));
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      fail("write", errno);
    done += static_cast<size_t>(written);
  }
}

void AtomicFile::commit(int generations) {
  inheritMode(/*final=*/true);
  if (fsync(descriptor) != 0)
    fail("write", errno);
  if (!isOurs())
    refuse("another program took its temporary name '" + temporary + "'");
  shiftGenerations(path, generations);
  if (rename(temporary.c_str(), path.c_str()) != 0)
    fail("rename", errno);
  ::close(descriptor);
  descriptor = -1;
  flushFolderOf(path);
}
