//===- EventFile.h - metrics for TensorBoard --------------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The event files of `--tensorboard`: TFRecords (length, its checksum, data,
/// its checksum; tensorflow/core/lib/io/record_writer.h) of Event messages in
/// the wire format of protocol buffers (tensorflow/core/util/event.proto).
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_MONITOR_EVENTFILE_H
#define MESHC_RUNTIME_MONITOR_EVENTFILE_H

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace meshc::runtime {

/// A TFRecord that holds `data`.
std::string makeRecord(const std::string &data);

/// An Event of scalars, by tag. `wallTime`: seconds since 1970.
std::string
makeScalarEvent(double wallTime, int64_t step,
                const std::vector<std::pair<std::string, double>> &scalars);

class EventFile {
public:
  /// Creates `folder` if it does not exist, and a new file in it whose name no
  /// other run has. With `resumeAt`, TensorBoard forgets the later steps in
  /// older files of the folder. An empty `folder` creates a file object that
  /// drops everything. Throws Failure(Usage) if the file cannot be created.
  explicit EventFile(const std::string &folder,
                     std::optional<int64_t> resumeAt = std::nullopt);
  ~EventFile();
  EventFile(const EventFile &) = delete;
  EventFile &operator=(const EventFile &) = delete;

  /// Passes the scalars of a step to the system, so that a reader sees them;
  /// does not flush them to the disk. A failed write is reported once on
  /// stderr.
  void write(int64_t step,
             const std::vector<std::pair<std::string, double>> &scalars);

private:
  void append(const std::string &event);

  std::string path;
  std::FILE *file = nullptr;
  bool complained = false;
};

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_MONITOR_EVENTFILE_H
