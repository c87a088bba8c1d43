//===- AvailableMemory.cpp - how much memory a run may take ---------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Base/AvailableMemory.h"

#include "runtime/Base/KeyedNumber.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <malloc.h>
#include <optional>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>

using namespace meshc::runtime;

void AvailableMemory::restrict(int64_t other, const std::string &otherLimit) {
  other = std::max<int64_t>(other, 0);
  if (other < bytes) {
    bytes = other;
    limit = otherLimit;
  }
}

/// The number in a file; nothing for "max", or where there is no such file.
static std::optional<int64_t> readNumber(const std::string &path) {
  std::ifstream file(path);
  int64_t number = 0;
  if (file >> number)
    return number;
  return std::nullopt;
}

namespace {
/// The files of one version of control groups.
struct CgroupVersion {
  const char *limit, *usage;
  /// Keys of memory.stat: parts of the usage that the kernel takes back before
  /// it refuses memory. The cache of a file that was read more than once is on
  /// the active list. Null: no further one.
  const char *reclaimable[3];
};
constexpr CgroupVersion version1 = {"/memory.limit_in_bytes",
                                    "/memory.usage_in_bytes",
                                    {"total_inactive_file", "total_active_file",
                                     nullptr}},
                        version2 = {"/memory.max",
                                    "/memory.current",
                                    {"inactive_file", "active_file",
                                     "slab_reclaimable"}};
} // namespace

/// Bytes of the group that are used and cannot be reclaimed.
static int64_t heldBytes(int64_t usage, const std::string &folder,
                         const CgroupVersion &version) {
  for (const char *key : version.reclaimable)
    if (key)
      usage -= readKeyedNumber(folder + "/memory.stat", key).value_or(0);
  // The two files were not read at the same instant.
  return std::max<int64_t>(usage, 0);
}

/// The limits of the group `path` below `mount` and of those around it. In a
/// container the path may be that of the host, and `mount` the group itself.
static void restrictByGroups(const std::string &mount, std::string path,
                             const CgroupVersion &version,
                             AvailableMemory &available) {
  while (true) {
    while (!path.empty() && path.back() == '/')
      path.pop_back();
    std::string folder = mount + path;
    auto limit = readNumber(folder + version.limit);
    auto usage = readNumber(folder + version.usage);
    if (limit && usage)
      available.restrict(*limit - heldBytes(*usage, folder, version),
                         "the limit of control group '" + folder + "', " +
                             describeBytes(*limit));
    if (path.empty())
      return;
    path.resize(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
  }
}

/// /proc/self/cgroup has lines NUMBER:CONTROLLERS:PATH; those of version 2 are
/// without controllers.
static void restrictByCgroups(const MemoryFiles &files,
                              AvailableMemory &available) {
  std::ifstream file(files.proc + "/self/cgroup");
  std::string line;
  while (std::getline(file, line)) {
    size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos)
      continue;
    std::string path = line.substr(second + 1);
    std::string controllers =
        "," + line.substr(first + 1, second - first - 1) + ",";
    if (controllers == ",,") {
      restrictByGroups(files.cgroups, path, version2, available);
      restrictByGroups(files.cgroups + "/unified", path, version2, available);
    } else if (controllers.find(",memory,") != std::string::npos) {
      restrictByGroups(files.cgroups + "/memory", path, version1, available);
    }
  }
}

AvailableMemory meshc::runtime::availableOnHost(const MemoryFiles &files) {
  AvailableMemory available;
  if (auto kilobytes = readKeyedNumber(files.proc + "/meminfo", "MemAvailable"))
    available.restrict(*kilobytes * 1024, "the machine's free memory");
  restrictByCgroups(files, available);
  return available;
}

AvailableMemory meshc::runtime::availableToProcess(const MemoryFiles &files) {
  AvailableMemory available;
  auto restrict = [&](auto resource, const char *key, const char *name) {
    rlimit limit{};
    if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
      return;
    auto bytes = static_cast<int64_t>(
        std::min<rlim_t>(limit.rlim_cur, static_cast<rlim_t>(INT64_MAX)));
    int64_t used =
        readKeyedNumber(files.proc + "/self/status", key).value_or(0) * 1024;
    available.restrict(bytes - used, std::string(name) + " of the process, " +
                                         describeBytes(bytes));
  };
  restrict(RLIMIT_AS, "VmSize", "RLIMIT_AS (ulimit -v)");
  restrict(RLIMIT_DATA, "VmData", "RLIMIT_DATA (ulimit -d)");
  return available;
}

AvailableMemory meshc::runtime::availableMemory() {
  AvailableMemory available = availableOnHost(), own = availableToProcess();
  available.restrict(own.bytes, own.limit);
  return available;
}

std::string meshc::runtime::describeBytes(int64_t bytes) {
  std::string text = std::to_string(bytes) + " bytes";
  if (bytes < 1024 * 1024)
    return text;
  char number[32];
  std::snprintf(number, sizeof(number), " (%.1f MiB)",
                static_cast<double>(bytes) / (1024 * 1024));
  return text + number;
}

Failure meshc::runtime::tooLittleMemory(const std::string &action,
                                        const MemoryFiles &files) {
  AvailableMemory available = availableOnHost(files);
  const AvailableMemory own = availableToProcess(files);
  available.restrict(own.bytes, own.limit);
  std::string left;
  if (!available.limit.empty())
    left = "; " + describeBytes(available.bytes) + " are left within " +
           available.limit;
  return Failure(ExitCode::Internal, "too little memory: cannot " + action +
                                         left + "; raise the limit");
}

void meshc::runtime::shareHeapWithinLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    mallopt(M_ARENA_MAX, 1);
}

bool meshc::runtime::meansTooLittleMemory(const std::string &linkerError) {
  auto has = [&](const char *part) {
    return linkerError.find(part) != std::string::npos;
  };
  // It names the cause of some failures only.
  const std::string unnamed = "failed to map segment from shared object";
  return has("Cannot allocate memory") || has("cannot allocate memory") ||
         (linkerError.size() >= unnamed.size() &&
          linkerError.compare(linkerError.size() - unnamed.size(),
                              unnamed.size(), unnamed) == 0);
}

std::optional<Failure>
meshc::runtime::noRoomForStacks(const std::string &threads) {
  pthread_attr_t attributes;
  size_t bytes = size_t(8) << 20;
  if (pthread_getattr_default_np(&attributes) == 0) {
    pthread_attr_getstacksize(&attributes, &bytes);
    pthread_attr_destroy(&attributes);
  }
  void *stack =
      mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (stack == MAP_FAILED)
    return tooLittleMemory("start " + threads + ", with stacks of " +
                           describeBytes(static_cast<int64_t>(bytes)) +
                           " (ulimit -s)");
  munmap(stack, bytes);
  return std::nullopt;
}

/// "the 4 ranks of this host need 8 bytes each and rank 0 another 2 bytes"
static std::string describeNeed(const MemoryNeed &need, int64_t ranks,
                                const char *where) {
  std::string text;
  if (ranks == 1)
    text = "a rank needs " +
           describeBytes(need.bytesPerRank + need.bytesOfRankZero);
  else
    text = "the " + std::to_string(ranks) + " ranks of this " + where +
           " need " + describeBytes(need.bytesPerRank) + " each";
  if (ranks != 1 && need.bytesOfRankZero)
    text += " and rank 0 another " + describeBytes(need.bytesOfRankZero);
  if (need.bytesOfLibraries)
    text += ", libraries another " + describeBytes(need.bytesOfLibraries);
  return text;
}

static void check(const MemoryNeed &need, int64_t ranks, const char *where,
                  const AvailableMemory &available) {
  // Without overflow: the product may exceed 2^63.
  const int64_t forAll =
      available.bytes - need.bytesOfRankZero - need.bytesOfLibraries;
  if (forAll >= 0 &&
      (need.bytesPerRank == 0 || ranks <= forAll / need.bytesPerRank))
    return;
  // Where libraries alone take more, it is of no use to take less beside them.
  std::string ways = "raise the limit";
  if (need.bytesOfLibraries <= available.bytes) {
    std::string savings = "compile for a larger mesh or a smaller batch, ";
    for (const std::string &saving : need.savings)
      savings += saving + ", ";
    ways = savings + "or " + ways;
  }
  throw Failure(ExitCode::Internal,
                "too little memory: " + describeNeed(need, ranks, where) +
                    ", and " + describeBytes(available.bytes) +
                    " are left within " + available.limit + "; " + ways);
}

void meshc::runtime::checkMemory(const MemoryNeed &need,
                                 const MemoryFiles &files) {
  check(need, need.ranksHere, "process", availableToProcess(files));
  MemoryNeed ofHost = need;
  ofHost.bytesOfLibraries = 0;
  check(ofHost, need.ranksOnHost, "host", availableOnHost(files));
}
