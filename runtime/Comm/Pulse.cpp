//===- Pulse.cpp - what a rank shows of its work --------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Comm/Pulse.h"

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

using namespace meshc::runtime;

namespace {

thread_local std::atomic<uint32_t> *ownCounter = nullptr;

/// The fields of a file `stat` of /proc from the third on, the state of the
/// process or thread; empty if it has ended. The second, a name, may contain
/// blanks and brackets.
std::vector<std::string> readStat(const std::string &path) {
  std::ifstream file(path);
  std::string text;
  std::vector<std::string> fields;
  if (!std::getline(file, text))
    return fields;
  std::istringstream rest(text.substr(text.rfind(')') + 1));
  for (std::string field; rest >> field;)
    fields.push_back(field);
  return fields;
}

/// Field `number` of proc(5)'s table of `stat`; 0 if it is missing.
uint64_t fieldOf(const std::vector<std::string> &fields, size_t number) {
  constexpr size_t first = 3;
  return number - first < fields.size() ? std::stoull(fields[number - first])
                                        : 0;
}

} // namespace

void meshc::runtime::noteProgress() {
  if (ownCounter)
    ownCounter->fetch_add(1, std::memory_order_relaxed);
}

void meshc::runtime::setProgressCounter(std::atomic<uint32_t> *counter) {
  ownCounter = counter;
}

std::atomic<uint32_t> *meshc::runtime::progressCounter() { return ownCounter; }

ThreadState meshc::runtime::threadState(uint32_t processId, uint32_t threadId) {
  constexpr size_t userTime = 14, systemTime = 15;
  std::vector<std::string> fields =
      readStat("/proc/" + std::to_string(processId) + "/task/" +
               std::to_string(threadId) + "/stat");
  return {!fields.empty() && fields[0] == "R",
          fieldOf(fields, userTime) + fieldOf(fields, systemTime)};
}

uint64_t meshc::runtime::processStart(uint32_t processId) {
  constexpr size_t startTime = 22;
  std::vector<std::string> fields =
      readStat("/proc/" + std::to_string(processId) + "/stat");
  bool ended = fields.empty() || fields[0] == "Z" || fields[0] == "X";
  return ended ? 0 : fieldOf(fields, startTime);
}
