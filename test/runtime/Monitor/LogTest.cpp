//===- LogTest.cpp - tests of logs and of which files a run writes --------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "test/runtime/Commands/Subprocess.h"

#include <nlohmann/json.hpp>
#include <sys/stat.h>

using namespace meshc::test;
using nlohmann::json;

namespace {

std::vector<json> readLines(const std::string &path) {
  std::istringstream lines(readFile(path));
  std::vector<json> values;
  for (std::string text; std::getline(lines, text);)
    values.push_back(json::parse(text));
  return values;
}

std::vector<int> stepsWith(const std::vector<json> &lines,
                           const std::string &key) {
  std::vector<int> steps;
  for (const json &line : lines)
    if (line.contains(key))
      steps.push_back(line["step"]);
  return steps;
}

std::vector<int> range(int first, int last) {
  std::vector<int> numbers;
  for (int i = first; i <= last; ++i)
    numbers.push_back(i);
  return numbers;
}

} // namespace

TEST(Log, aResumedRunHasEachStepOnce) {
  Folder folder;
  std::string data = writeLineData(folder), log = folder.file("log");
  for (const char *mesh : {"1x1", "2x2"}) {
    std::string train = line(mesh) + " train --quiet --save-every 4 " +
                        "--eval-every 2 --eval-data x=" + folder.file("x.npy") +
                        " --eval-data target=" + folder.file("y.npy") +
                        " --checkpoint " + folder.file(mesh) + " --log " + log +
                        data;
    // The checkpoint is of step 8, the log of step 10, and its last line is not
    // whole, as after a full disk.
    EXPECT_NE(run("env LINE_NAN=10 " + train + " --steps 20").code, 0);
    ASSERT_EQ(stepsWith(readLines(log), "loss"), range(1, 10));
    std::ofstream(log, std::ios::app) << "{\"step\":11,\"lo";
    EXPECT_EQ(run(train + " --steps 20 --resume").code, 0);
    std::vector<json> lines = readLines(log);
    EXPECT_EQ(stepsWith(lines, "loss"), range(1, 20));
    std::vector<int> evaluated = {2, 4, 6, 8, 10, 12, 14, 16, 18, 20};
    EXPECT_EQ(stepsWith(lines, "eval_loss"), evaluated);
    // Nothing to do: the log already has the final evaluation's step.
    EXPECT_EQ(run(train + " --steps 20 --resume").code, 0);
    EXPECT_EQ(readLines(log), lines);
    // From the start, which empties it.
    EXPECT_EQ(run(train + " --steps 5 --overwrite").code, 0);
    EXPECT_EQ(stepsWith(readLines(log), "loss"), range(1, 5));
  }
}

TEST(Log, whatIsNoLogStays) {
  Folder folder;
  std::string data = writeLineData(folder), log = folder.write("log", "mine\n");
  std::string train = line("1x1") + " train --quiet --checkpoint " +
                      folder.file("c") + " --log " + log + data;
  ASSERT_EQ(run(line("1x1") + " train --quiet --steps 3 --checkpoint " +
                folder.file("c") + data)
                .code,
            0);
  const std::string saved = readFile(folder.file("c")),
                    why = "which exists and is no log that a run wrote; give "
                          "another name, or '--overwrite'";
  expectError(run(train + " --steps 4 --resume"), 2,
              "'--log' is '" + log + "', " + why);
  expectError(run(line("1x1") + " train --quiet --steps 1 --log " +
                  folder.file("c") + data),
              2, "'--log' is '" + folder.file("c") + "', " + why);
  expectError(run(line("1x1") + " train --quiet --steps 1 --trace " +
                  folder.file("c") + data),
              2,
              "'--trace' is '" + folder.file("c") +
                  "', which exists and is no trace that a run wrote");
  expectError(run(line("1x1") + " eval --checkpoint " + folder.file("c") +
                  " --log " + log + data),
              2, "'--log' is '" + log + "', " + why);
  EXPECT_EQ(readFile(log), "mine\n");
  EXPECT_EQ(readFile(folder.file("c")), saved);
  ASSERT_EQ(run(train + " --steps 4 --resume --overwrite").code, 0);
  EXPECT_EQ(readFile(log).rfind("mine\n{\"step\":4,", 0), 0u) << readFile(log);
}

TEST(DistinctFiles, noFileIsWrittenTwiceOrRead) {
  Folder folder;
  std::string data = writeLineData(folder), x = folder.file("x.npy");
  std::string before = readFile(x);
  std::string links = "cd " + folder.file("") + " && ln x.npy hard && " +
                      "ln -s x.npy soft && mkdir sub && ln -s ../new sub/new "
                      "&& ln -s ../c sub/c";
  ASSERT_EQ(run("sh -c '" + links + "'").code, 0);
  auto file = [&](const char *name) { return folder.file(name); };
  const std::string cases[][2] = {
      {"--log " + x, "'--data' and '--log' are the same file: '" + x + "'"},
      {"--checkpoint " + file("hard"),
       "'--data' and '--checkpoint' are the same file: '" + x + "' and '" +
           file("hard") + "'"},
      {"--trace " + file("soft"), "'--data' and '--trace'"},
      {"--eval-data x=" + x + " --eval-data target=" + file("y.npy") +
           " --log " + file("y.npy"),
       "'--data' and '--log'"},
      {"--log " + file("new") + " --trace " + file("sub/new"),
       "'--log' and '--trace'"},
      {"--log " + file("new") + " --checkpoint " + file("sub/../new"),
       "'--log' and '--checkpoint'"},
      {"--log " + file("new") + " --tensorboard " + file("new"),
       "'--log' and '--tensorboard'"},
      {"--resume " + file("c") + " --log " + file("c"),
       "'--log' and '--resume'"},
      {"--weights " + file("c") + " --log " + file("c"),
       "'--weights' and '--log'"},
      {"--weights " + file("c") + " --checkpoint " + file("sub/../c"),
       "'--weights' and '--checkpoint'"},
      {"--resume " + file("c") + " --checkpoint " + x,
       "'--data' and '--checkpoint'"},
      // Earlier generations: '--keep 3' writes two of them.
      {"--checkpoint " + file("d") + " --keep 3 --log " + file("d.2"),
       "'--log' and '--checkpoint' are the same file: '" + file("d.2") + "'"},
      {"--checkpoint " + file("sub/c") + " --keep 2 --log " + file("c.1"),
       "'--log' and '--checkpoint'"},
      {"--checkpoint " + file("d") + " --keep 2 --weights " + file("d.1"),
       "'--weights' and '--checkpoint'"},
  };
  for (const char *mesh : {"1x1", "2x2"}) {
    std::string train = line(mesh) + " train --quiet --steps 2 ";
    ASSERT_EQ(run(train + "--checkpoint " + file("c") + data).code, 0);
    std::string saved = readFile(file("c"));
    for (const auto &[options, message] : cases)
      expectError(run(train + options + data), 2, message);
    expectError(run(line(mesh) + " eval --checkpoint " + file("c") + " --log " +
                    file("c") + data),
                2, "'--log' and '--checkpoint,--weights' are the same file");
    // Two generations are one file after a kill while they were shifted.
    // '--keep 2' does not write the third.
    std::string kept = file(mesh);
    std::filesystem::copy_file(file("c"), kept);
    std::filesystem::create_hard_link(kept, kept + ".1");
    EXPECT_EQ(run(line(mesh) + " train --quiet --steps 3 --resume --keep 2 " +
                  "--checkpoint " + kept + " --log " + kept + ".2" + data)
                  .code,
              0);
    EXPECT_EQ(readFile(file("c")), saved);
  }
  EXPECT_EQ(readFile(x), before);
  // Files that are only read may be the same, and devices are shared.
  EXPECT_EQ(run(line("1x1") + " train --quiet --steps 3 --checkpoint " +
                file("c") + " --resume " + file("c") + " --eval-data x=" + x +
                " --eval-data target=" + file("y.npy") +
                " --log /dev/null --trace /dev/null" + data)
                .code,
            0);
}

TEST(Log, aPipeNeedsAReader) {
  Folder folder;
  const std::string pipe = folder.file("pipe"), read = folder.file("read");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const std::string data = writeLineData(folder);
  const std::string train =
      line("2x2") + " train --quiet --steps 4 --save-every 2 --checkpoint " +
      folder.file("c") + data;
  const std::string why = "' cannot be opened: it is a pipe that no process "
                          "reads; start its reader first, or name a file";
  Process log(train + "--log " + pipe);
  Process trace(line("1x1") + " train --quiet --steps 4 --trace " + pipe +
                data);
  expectError(log.wait(), 2, "log file '" + pipe + why);
  expectError(trace.wait(), 2, "trace file '" + pipe + why);

  // A reader may come a little later, and a resumed run needs one, too.
  for (const char *resume : {"", " --resume"}) {
    Process reader("sh -c 'sleep 0.3; cat " + pipe + " >" + read + "'");
    Outcome outcome = run(train + "--log " + pipe + resume);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    reader.wait();
    std::vector<int> all = range(1, 4), none;
    EXPECT_EQ(stepsWith(readLines(read), "loss"), *resume ? none : all);
  }
}
