//===- EventFile.cpp - metrics for TensorBoard ----------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Monitor/EventFile.h"

#include "runtime/Base/Crc32c.h"
#include "runtime/Base/Failure.h"
#include "runtime/Base/StandardStreams.h"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <unistd.h>

using namespace meshc::runtime;

/// `value` in little endian.
template <typename Number> static std::string bytesOf(Number value) {
  static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
  std::string bytes(sizeof(value), '\0');
  std::memcpy(bytes.data(), &value, sizeof(value));
  return bytes;
}

/// A checksum as masked in TFRecords: data that contains checksums would
/// otherwise have a predictable checksum.
static uint32_t maskedChecksum(const std::string &data) {
  uint32_t checksum = crc32c(data.data(), data.size());
  return (checksum >> 15 | checksum << 17) + 0xa282ead8u;
}

std::string meshc::runtime::makeRecord(const std::string &data) {
  std::string length = bytesOf(static_cast<uint64_t>(data.size()));
  return length + bytesOf(maskedChecksum(length)) + data +
         bytesOf(maskedChecksum(data));
}

// Fields of messages: a number that is 8 · the field's number + how it is
// encoded (0: varint, 1: 64 bits, 2: a length and so many bytes, 5: 32 bits),
// and the value.

static std::string varint(uint64_t value) {
  std::string bytes;
  for (; value >= 128; value >>= 7)
    bytes += static_cast<char>(value | 128);
  return bytes + static_cast<char>(value);
}

static std::string varintField(int number, uint64_t value) {
  return varint(static_cast<uint64_t>(number) << 3) + varint(value);
}

static std::string doubleField(int number, double value) {
  return varint(static_cast<uint64_t>(number) << 3 | 1) + bytesOf(value);
}

static std::string floatField(int number, float value) {
  return varint(static_cast<uint64_t>(number) << 3 | 5) + bytesOf(value);
}

static std::string bytesField(int number, const std::string &value) {
  return varint(static_cast<uint64_t>(number) << 3 | 2) + varint(value.size()) +
         value;
}

/// The fields of every Event.
static std::string beginEvent(double wallTime, int64_t step) {
  return doubleField(1, wallTime) +
         (step ? varintField(2, static_cast<uint64_t>(step)) : "");
}

std::string meshc::runtime::makeScalarEvent(
    double wallTime, int64_t step,
    const std::vector<std::pair<std::string, double>> &scalars) {
  std::string summary;
  for (const auto &[tag, value] : scalars)
    summary += bytesField(1, bytesField(1, tag) +
                                 floatField(2, static_cast<float>(value)));
  return beginEvent(wallTime, step) + bytesField(5, summary);
}

static double now() {
  return std::chrono::duration<double>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

EventFile::EventFile(const std::string &folder,
                     std::optional<int64_t> resumeAt) {
  if (folder.empty())
    return;
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  char host[256] = "";
  gethostname(host, sizeof(host) - 1);
  double time = now();
  // The name that TensorBoard expects; files of later runs sort after it.
  char name[400];
  for (int number = 0; !file && !error; ++number) {
    std::snprintf(name, sizeof(name), "/events.out.tfevents.%010lld.%s.%d.%d",
                  static_cast<long long>(time), host,
                  static_cast<int>(getpid()), number);
    path = folder + name;
    file = std::fopen(path.c_str(), "wxe");
    if (!file && errno != EEXIST)
      error = std::error_code(errno, std::generic_category());
  }
  if (error)
    throw Failure(ExitCode::Usage, "cannot write events to folder '" + folder +
                                       "': " + error.message());
  append(beginEvent(time, 0) + bytesField(3, "brain.Event:2"));
  // A SessionLog with status START.
  if (resumeAt)
    append(beginEvent(time, *resumeAt + 1) + bytesField(7, varintField(1, 1)));
}

EventFile::~EventFile() {
  if (file)
    std::fclose(file);
}

void EventFile::write(
    int64_t step, const std::vector<std::pair<std::string, double>> &scalars) {
  if (file)
    append(makeScalarEvent(now(), step, scalars));
}

void EventFile::append(const std::string &event) {
  std::string record = makeRecord(event);
  bool written =
      std::fwrite(record.data(), 1, record.size(), file) == record.size();
  if ((std::fflush(file) != 0 || !written) && !complained) {
    complained = true;
    printError("warning: event file '" + path +
               "' cannot be written: " + std::strerror(errno) + '\n');
  }
}
