//===- TrainBench.h - training runs that write files ------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_TEST_RUNTIME_COMMANDS_TRAINBENCH_H
#define MESHC_TEST_RUNTIME_COMMANDS_TRAINBENCH_H

#include "Subprocess.h"

#include "runtime/Checkpoint/Checkpoint.h"
#include "runtime/Checkpoint/Checksums.h"

#include <filesystem>

namespace meshc::test {

/// A folder with data, and runs of the program in it.
struct TrainBench {
  Folder folder;
  std::string data = writeLineData(folder);
  std::string file = folder.file("c");

  Outcome train(const std::string &options, const std::string &mesh = "1x1") {
    return run(line(mesh) + " train --quiet " + options + data);
  }
  void mustTrain(const std::string &options, const std::string &mesh = "1x1") {
    Outcome outcome = train(options, mesh);
    ASSERT_EQ(outcome.code, 0) << outcome.err;
  }
  /// The checkpoint of an uninterrupted run of so many steps.
  std::string contentAfter(int steps) {
    std::string path = folder.file("plain");
    std::filesystem::remove(path);
    mustTrain("--steps " + std::to_string(steps) + " --checkpoint " + path);
    return readFile(path);
  }
  std::string eval(const std::string &options) {
    Outcome outcome = run(line("1x1") + " eval " + options + data);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.out;
  }
  /// Turns one bit of a file.
  void flip(const std::string &path, size_t byte, int bit = 0) {
    std::string content = readFile(path);
    content.at(byte) = static_cast<char>(content.at(byte) ^ 1 << bit);
    std::ofstream(path, std::ios::binary) << content;
  }
  /// Writes a file of other tools.
  std::string foreign(const std::string &name,
                      const std::vector<runtime::FileTensor> &tensors,
                      const std::string &content) {
    return folder.write(
        name, runtime::writeHeader(tensors, {{"format", "pt"}}) + content);
  }
};

/// The steps of an intact checkpoint.
inline int64_t stepOf(const std::string &path) {
  runtime::SafetensorsFile file(path);
  runtime::verifyFile(file);
  return runtime::readRunState(file).step;
}

} // namespace meshc::test

#endif // MESHC_TEST_RUNTIME_COMMANDS_TRAINBENCH_H
