//===- Arena.cpp - the memory of a rank -----------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Device/Arena.h"

#include "runtime/Core/Failure.h"
#include "runtime/Device/AvailableMemory.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <sys/mman.h>

using namespace meshc::runtime;

/// The value of `key` in a file of lines "key:  value kB", in bytes; else 0.
static int64_t readKilobytes(const char *path, const std::string &key) {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line))
    if (line.compare(0, key.size(), key) == 0 && line[key.size()] == ':')
      return std::strtoll(line.c_str() + key.size() + 1, nullptr, 10) * 1024;
  return 0;
}

int64_t meshc::runtime::peakMemory() {
  return readKilobytes("/proc/self/status", "VmHWM");
}

int64_t meshc::runtime::residentMemory() {
  return readKilobytes("/proc/self/status", "VmRSS");
}

int64_t meshc::runtime::residentMemory(const void *begin, int64_t bytes) {
  const auto first = reinterpret_cast<uintptr_t>(begin);
  std::ifstream file("/proc/self/smaps");
  std::string line;
  int64_t resident = 0;
  bool isInside = false;
  while (std::getline(file, line)) {
    // "55d0-55e0 r--p …" begins a mapping, "Rss:  4 kB" is of the last one.
    char *end = nullptr;
    uintptr_t address = std::strtoull(line.c_str(), &end, 16);
    if (*end == '-' && end != line.c_str())
      isInside =
          address >= first && address < first + static_cast<uintptr_t>(bytes);
    else if (isInside && line.compare(0, 4, "Rss:") == 0)
      resident += std::strtoll(line.c_str() + 4, nullptr, 10) * 1024;
  }
  return resident;
}

Arena::Arena(int64_t size) : base(nullptr), length(size) {
  if (size == 0)
    return;
  checkMemory({size, 1, 1});
  void *address =
      mmap(nullptr, static_cast<size_t>(size), PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED)
    throw Failure(ExitCode::Internal,
                  "cannot map an arena of " + describeBytes(size) + ": " +
                      std::strerror(errno) +
                      "; compile for a larger mesh or a smaller batch");
  madvise(address, static_cast<size_t>(size), MADV_HUGEPAGE);
  base = static_cast<char *>(address);
  std::memset(base, 0, static_cast<size_t>(size));
}

Arena::~Arena() {
  if (base)
    munmap(base, static_cast<size_t>(length));
}
