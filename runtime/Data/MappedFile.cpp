//===- MappedFile.cpp - a file as memory ----------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Data/MappedFile.h"

#include "runtime/Base/AvailableMemory.h"
#include "runtime/Base/Counted.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <mutex>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace meshc::runtime;

/// An entry of a list that a signal handler may walk at any time: entries are
/// never freed, and entries of removed mappings are reused.
struct meshc::runtime::MappedRegion {
  std::atomic<uintptr_t> begin{0}, end{0}; ///< whole pages; end 0: free
  std::atomic<bool> lost{false}; ///< a part could not be read and is zeros now
  MappedRegion *next = nullptr;
};

static std::atomic<MappedRegion *> regions{nullptr};
static struct sigaction actionBefore;
static uintptr_t pageSize = 4096;

/// Maps zeros over a file's unreadable part, from that page to the end of its
/// mapping, so that the reader continues until it checks.
extern "C" void meshcRuntimeOnBusError(int, siginfo_t *info, void *) {
  auto address = reinterpret_cast<uintptr_t>(info->si_addr);
  int before = errno;
  for (MappedRegion *region = regions; region; region = region->next) {
    if (address < region->begin || address >= region->end)
      continue;
    uintptr_t page = address / pageSize * pageSize;
    region->lost = true;
    if (mmap(reinterpret_cast<void *>(page), region->end - page, PROT_READ,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
      break;
    errno = before;
    return;
  }
  sigaction(SIGBUS, &actionBefore, nullptr); // the access is tried again
}

/// Registers a mapping with the handler, which the first one installs.
static MappedRegion *watch(const void *begin, size_t length) {
  static std::mutex mutex;
  std::lock_guard<std::mutex> lock(mutex);
  if (!regions) {
    pageSize = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
    struct sigaction action = {};
    action.sa_sigaction = meshcRuntimeOnBusError;
    action.sa_flags = SA_SIGINFO;
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, &actionBefore);
  }
  MappedRegion *region = regions;
  while (region && region->end != 0)
    region = region->next;
  bool isNew = !region;
  if (isNew)
    region = new MappedRegion;
  auto first = reinterpret_cast<uintptr_t>(begin);
  region->lost = false;
  region->begin = first;
  region->end = (first + length + pageSize - 1) / pageSize * pageSize;
  if (isNew) {
    region->next = regions;
    regions = region;
  }
  return region;
}

Failure MappedFile::failure(const std::string &what) const {
  return Failure(code, std::string(kind) + " '" + name + "' " + what);
}

MappedFile::MappedFile(std::string path, ExitCode code, const char *kind)
    : name(std::move(path)), code(code), kind(kind) {
  descriptor = ::open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0)
    throw failure(std::string("cannot be opened: ") + std::strerror(errno));
  struct stat status;
  if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
    ::close(descriptor);
    throw failure("is not a regular file");
  }
  length = static_cast<size_t>(status.st_size);
  if (length == 0)
    return; // an empty file has no mapping
  void *address = mmap(nullptr, length, PROT_READ, MAP_PRIVATE, descriptor, 0);
  if (address == MAP_FAILED) {
    int error = errno;
    ::close(descriptor);
    if (error == ENOMEM)
      throw tooLittleMemory("map the " + describeBytes(status.st_size) +
                            " of " + kind + " '" + name + "'");
    throw failure(std::string("cannot be mapped: ") + std::strerror(error));
  }
  begin = static_cast<const uint8_t *>(address);
  region = watch(begin, length);
}

MappedFile::~MappedFile() {
  if (region) {
    // Before the addresses can belong to another file: first the region covers
    // no address, then it is free.
    region->begin = UINTPTR_MAX;
    region->end = 0;
    munmap(const_cast<uint8_t *>(begin), length);
  }
  ::close(descriptor);
}

void MappedFile::checkIntact() const {
  struct stat status;
  if (fstat(descriptor, &status) == 0 &&
      static_cast<size_t>(status.st_size) < length)
    throw failure("became shorter while it was read: it has " +
                  counted(status.st_size, "byte") + ", and had " +
                  std::to_string(length));
  if (region && region->lost)
    throw failure("can no longer be read: the disk failed, or the file was "
                  "shorter for a while");
}
