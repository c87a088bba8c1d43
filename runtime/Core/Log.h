//===- Log.h - metrics as JSON lines ---------------------------*- C++ -*--===//
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
#ifndef MESHC_RUNTIME_CORE_LOG_H
#define MESHC_RUNTIME_CORE_LOG_H

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace meshc::runtime {

class Log {
public:
  /// An empty path makes a log that drops everything. Throws Failure(Usage)
  /// where the file cannot be opened.
  Log(const std::string &path, bool append);
  ~Log();
  Log(const Log &) = delete;
  Log &operator=(const Log &) = delete;

  /// One line in the making. Values that JSON has not (NaN, infinities) are
  /// written as null.
  void begin(int64_t step);
  void add(const std::string &name, double value);
  /// Writes the line to the system, so that a reader sees it, not to the disk.
  /// What cannot be written is told once on stderr.
  void end();

  bool isOpen() const { return file != nullptr; }

private:
  std::string path, line;
  std::FILE *file = nullptr;
  bool complained = false;
};

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_CORE_LOG_H
