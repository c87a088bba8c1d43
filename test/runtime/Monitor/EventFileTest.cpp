//===- EventFileTest.cpp - tests of files for TensorBoard -----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Monitor/EventFile.h"
#include "test/runtime/Commands/Subprocess.h"

#include <cstring>
#include <filesystem>

using namespace meshc::test;
using namespace meshc::runtime;

static std::string hex(const std::string &bytes) {
  std::string text;
  for (char byte : bytes) {
    char digits[3];
    std::snprintf(digits, sizeof(digits), "%02x",
                  static_cast<unsigned>(static_cast<uint8_t>(byte)));
    text += digits;
  }
  return text;
}

/// The bytes that TensorBoard's own RecordWriter produces for this event.
TEST(EventFile, writesTheBytesOfTensorBoard) {
  EXPECT_EQ(
      hex(makeRecord(
          makeScalarEvent(1.5, 300, {{"loss", 0.25}, {"eval_loss", -1}}))),
      "2d000000000000003c418afb09000000000000f83f10ac022a1f0a0b0a046c6f73731500"
      "00803e0a100a096576616c5f6c6f737315000080bff6b01ada");
}

namespace {
/// The records of a file, whose lengths are checked; checksums are left out.
std::vector<std::string> readRecords(const std::string &path) {
  std::string bytes = readFile(path);
  std::vector<std::string> records;
  size_t at = 0;
  while (at + 16 <= bytes.size()) {
    uint64_t size = 0;
    std::memcpy(&size, bytes.data() + at, sizeof(size));
    if (size > bytes.size() - at - 16)
      break;
    records.push_back(bytes.substr(at + 12, size));
    EXPECT_EQ(hex(makeRecord(records.back())),
              hex(bytes.substr(at, 16 + size)));
    at += 16 + size;
  }
  EXPECT_EQ(at, bytes.size()) << path;
  return records;
}

std::vector<std::string> filesIn(const std::string &folder) {
  std::vector<std::string> names;
  for (const auto &entry : std::filesystem::directory_iterator(folder))
    names.push_back(entry.path().string());
  std::sort(names.begin(), names.end());
  return names;
}
} // namespace

TEST(EventFile, everyRunAddsAFile) {
  Folder folder;
  std::string data = writeLineData(folder), events = folder.file("runs/one");
  for (const char *mesh : {"1x1", "2x2"}) {
    std::string train = line(mesh) + " train --quiet --tensorboard " + events +
                        mesh + " --eval-data x=" + folder.file("x.npy") +
                        " --eval-data target=" + folder.file("y.npy") +
                        " --checkpoint " + folder.file(mesh) + data;
    ASSERT_EQ(run(train + " --steps 3").code, 0);
    std::vector<std::string> files = filesIn(events + mesh);
    ASSERT_EQ(files.size(), 1u);
    expectHas(files[0], "/events.out.tfevents.");
    std::vector<std::string> records = readRecords(files[0]);
    ASSERT_EQ(records.size(), 5u); // version, three steps, evaluation
    // After the time (9 bytes): file_version of 13 bytes.
    EXPECT_EQ(records[0].substr(9), "\x1a\x0d"
                                    "brain.Event:2");
    EXPECT_EQ(records[3].substr(9, 3), "\x10\x03*");
    for (const char *tag : {"loss", "error", "examples_per_second"})
      expectHas(records[3], tag);
    expectHas(records[4], "eval_loss");

    ASSERT_EQ(run(train + " --steps 5 --resume --log-every 2").code, 0);
    files = filesIn(events + mesh);
    ASSERT_EQ(files.size(), 2u);
    records = readRecords(files[1]);
    ASSERT_EQ(records.size(), 4u); // version, start, step 4, evaluation
    // Step 4, session_log { status: START }.
    EXPECT_EQ(hex(records[1].substr(9)), "10043a020801");
    EXPECT_EQ(records[2].substr(9, 2), "\x10\x04");
  }
}

TEST(EventFile, aFolderThatCannotBeMadeIsAnError) {
  Folder folder;
  std::string data = writeLineData(folder);
  expectError(run(line("1x1") + " train --steps 1 --tensorboard " +
                  folder.write("plain", "") + "/logs" + data),
              2, "cannot write events to folder '" + folder.file("plain/logs"));
}
