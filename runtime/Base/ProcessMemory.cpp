//===- ProcessMemory.cpp - how much memory this process holds -------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Base/ProcessMemory.h"

#include "runtime/Base/KeyedNumber.h"

#include <cstdlib>
#include <fstream>
#include <string>

using namespace meshc::runtime;

/// A line "KEY: N kB" of the state of this process, in bytes.
static int64_t readStatus(const char *key) {
  return readKeyedNumber("/proc/self/status", key).value_or(0) * 1024;
}

int64_t meshc::runtime::peakMemory() { return readStatus("VmHWM"); }

int64_t meshc::runtime::residentMemory() { return readStatus("VmRSS"); }

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
