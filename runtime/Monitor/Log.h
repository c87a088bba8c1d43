//===- Log.h - metrics as JSON lines ----------------------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The file of `--log`: a JSON object per line, "step" first and then the
/// metrics, the loss first.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_MONITOR_LOG_H
#define MESHC_RUNTIME_MONITOR_LOG_H

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

namespace meshc::runtime {

/// Every line of a log begins with it.
constexpr char logBeginning[] = "{\"step\":";

class Log {
public:
  /// An empty path creates a log that drops everything. With `resumeAt`, the
  /// constructor removes lines of later steps, and an unfinished last line of a
  /// killed program, and new lines are appended; otherwise it empties the file.
  /// Throws Failure(Usage) if the file cannot be opened.
  explicit Log(const std::string &path,
               std::optional<int64_t> resumeAt = std::nullopt);
  ~Log();
  Log(const Log &) = delete;
  Log &operator=(const Log &) = delete;

  /// A line under construction. Values that JSON cannot represent (NaN,
  /// infinities) are written as null.
  void begin(int64_t step);
  void add(const std::string &name, double value);
  /// Passes the line to the system, so that a reader sees it; does not flush it
  /// to the disk. A failed write is reported once on stderr.
  void end();

  bool isOpen() const { return file != nullptr; }

  /// Whether the file already had a line with key `name` for the step to resume
  /// at, which must not be written again.
  bool hasAtResume(const std::string &name) const;

private:
  void cutAfter(int64_t step);

  std::string path, line;
  std::vector<std::string> linesAtResume; ///< of the step to resume at
  std::FILE *file = nullptr;
  bool complained = false;
};

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_MONITOR_LOG_H
