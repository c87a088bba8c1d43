//===- TraceFile.h - reading what --trace wrote -----------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_TEST_RUNTIME_COMMANDS_TRACEFILE_H
#define MESHC_TEST_RUNTIME_COMMANDS_TRACEFILE_H

#include "Subprocess.h"

#include <map>
#include <nlohmann/json.hpp>
#include <set>

namespace meshc::test {

/// The events of a trace, counted.
struct TraceFile {
  bool isJson = false;
  std::map<std::string, int> events; ///< "X" events, by category and name
  std::set<int> ranks;
  int steps = 0; ///< events of category "step"
  double last = 0, least = 0;
  nlohmann::json all;

  explicit TraceFile(const std::string &path) {
    all = nlohmann::json::parse(readFile(path), nullptr, false);
    isJson = !all.is_discarded();
    if (!isJson)
      return;
    for (const nlohmann::json &event : all["traceEvents"]) {
      ranks.insert(event["pid"].get<int>());
      if (event["ph"] != "X")
        continue;
      double begin = event["ts"], length = event["dur"];
      EXPECT_GE(length, 0);
      least = std::min(least, begin);
      last = std::max(last, begin + length);
      std::string category = event["cat"];
      if (category == "step")
        ++steps;
      else
        ++events[category + " " + event["name"].get<std::string>()];
    }
  }

  /// The first event with that name.
  nlohmann::json find(const std::string &name) const {
    for (const nlohmann::json &event : all["traceEvents"])
      if (event["ph"] == "X" && event["name"] == name)
        return event;
    return {};
  }
};

/// The line of a table that ends with `what`.
inline std::string findLine(const std::string &text, const std::string &what) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (line.size() >= what.size() &&
        line.compare(line.size() - what.size(), what.size(), what) == 0)
      return line;
  ADD_FAILURE() << "no line ends with '" << what << "' in:\n" << text;
  return "";
}

} // namespace meshc::test

#endif // MESHC_TEST_RUNTIME_COMMANDS_TRACEFILE_H
