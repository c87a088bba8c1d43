//===- Arena.cpp - the memory of a rank -----------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Device/Arena.h"

#include "runtime/Core/Failure.h"

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

int64_t meshc::runtime::availableMemory() {
  return readKilobytes("/proc/meminfo", "MemAvailable");
}

int64_t meshc::runtime::peakMemory() {
  return readKilobytes("/proc/self/status", "VmHWM");
}

int64_t meshc::runtime::residentMemory() {
  return readKilobytes("/proc/self/status", "VmRSS");
}

Arena::Arena(int64_t size) : base(nullptr), length(size) {
  if (size == 0)
    return;
  int64_t available = availableMemory();
  void *address = MAP_FAILED;
  if (available == 0 || size <= available)
    address = mmap(nullptr, static_cast<size_t>(size), PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED)
    throw Failure(ExitCode::Internal,
                  "a rank needs an arena of " + std::to_string(size) +
                      " bytes and the machine has " +
                      std::to_string(available) +
                      " left; compile for a larger mesh or a smaller batch");
  madvise(address, static_cast<size_t>(size), MADV_HUGEPAGE);
  base = static_cast<char *>(address);
  std::memset(base, 0, static_cast<size_t>(size));
}

Arena::~Arena() {
  if (base)
    munmap(base, static_cast<size_t>(length));
}
