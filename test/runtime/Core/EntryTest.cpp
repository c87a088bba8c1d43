//===- EntryTest.cpp - tests of the command line --------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Subprocess.h"

#include <algorithm>
#include <nlohmann/json.hpp>

using namespace meshc::test;
using nlohmann::json;

static void expectHas(const std::string &text, const std::string &part) {
  EXPECT_NE(text.find(part), std::string::npos)
      << "wanted '" << part << "' in:\n"
      << text;
}

/// One line of error, with the exit code.
static void expectError(const Outcome &outcome, int code,
                        const std::string &part) {
  EXPECT_EQ(outcome.code, code) << outcome.err;
  expectHas(outcome.err, part);
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1)
      << outcome.err;
}

TEST(Entry, helpSaysAllAndEndsWell) {
  for (const char *command : {"", "train", "eval", "info"}) {
    Outcome outcome = run(line("1x1") + " " + command + " --help");
    EXPECT_EQ(outcome.code, 0);
    expectHas(outcome.out, "Exit codes:");
  }
  expectHas(run(line("1x1") + " train --help").out, "--save-every");
  expectHas(run(line("1x1") + " --version").out, "line, meshc runtime ");
}

TEST(Entry, refusesWrongCommandLines) {
  Folder folder;
  std::string data = writeLineData(folder);
  EXPECT_EQ(run(line("1x1")).code, 2);
  EXPECT_EQ(run(line("1x1") + " fly").code, 2);
  EXPECT_EQ(run(line("1x1") + " train").code, 2);
  EXPECT_EQ(run(line("1x1") + " train --ranks 0" + data).code, 2);
  EXPECT_EQ(run(line("1x1") + " train --resume" + data).code, 2);
  EXPECT_EQ(run(line("1x1") + " train --steps 1 --epochs 1" + data).code, 2);
  EXPECT_EQ(run(line("1x1") + " train --comm pigeon" + data).code, 2);
  EXPECT_EQ(run("env MESHC_GEMM=no " + line("1x1") + " train" + data).code, 2);
  expectError(run(line("1x1") + " train --data z=1"), 2,
              "no input is named 'z'");
  expectError(run(line("1x1") + " train --log /no/such/log --steps 1" + data),
              2, "log file '/no/such/log' cannot be opened");
}

TEST(Entry, trainsAndLogs) {
  Folder folder;
  std::string data = writeLineData(folder);
  for (const char *mesh : {"1x1", "2x2"}) {
    Outcome outcome = run(line(mesh) + " train --steps 200 --memory --log " +
                          folder.file("log") + data);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    expectHas(outcome.out, "37 examples, batch 8");
    expectHas(outcome.out, "step 200/200  loss 0.0");
    expectHas(outcome.out, "memory: peak ");
    std::istringstream lines(readFile(folder.file("log")));
    std::string text;
    int64_t step = 0;
    double loss = 0;
    while (std::getline(lines, text)) {
      EXPECT_EQ(
          text.rfind("{\"step\":" + std::to_string(++step) + ",\"loss\":", 0),
          0u)
          << text;
      loss = json::parse(text)["loss"];
    }
    EXPECT_EQ(step, 200);
    EXPECT_LT(loss, 0.05);
  }
}

TEST(Entry, layoutsAgree) {
  Folder folder;
  std::string data = writeLineData(folder);
  auto losses = [&](const std::string &command) {
    EXPECT_EQ(run(command + " train --steps 50 --quiet --log " +
                  folder.file("log") + data)
                  .code,
              0);
    std::istringstream lines(readFile(folder.file("log")));
    std::vector<double> values;
    for (std::string text; std::getline(lines, text);)
      values.push_back(json::parse(text)["loss"]);
    return values;
  };
  std::vector<double> one = losses(line("1x1")), four = losses(line("2x2"));
  ASSERT_EQ(one.size(), 50u);
  ASSERT_EQ(four.size(), 50u);
  for (size_t i = 0; i < 50; ++i)
    EXPECT_NEAR(one[i], four[i], 1e-5 * one[i] + 1e-6);
}

TEST(Entry, quietPrintsNothing) {
  Folder folder;
  Outcome outcome =
      run(line("2x2") + " train --quiet --steps 3" + writeLineData(folder));
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.out + outcome.err, "");
}

TEST(Entry, infoTellsMeshAndTensors) {
  Outcome outcome = run(line("2x2") + " info");
  EXPECT_EQ(outcome.code, 0);
  expectHas(outcome.out, "mesh data = 2, tensor = 2: 4 ranks");
  expectHas(outcome.out, "arena 1664 bytes per rank");
  expectHas(outcome.out, "f32  [batch = 8 {data}, feature = 6 {tensor}], "
                         "48 bytes per rank");
  expectHas(outcome.out, "line.mesh:5:7: all_reduce of 'y' over tensor");
  EXPECT_EQ(run(line("2x2") + " info --json").out, "{\"model\": \"line\"}\n");
}

TEST(Entry, refusesAnotherNumberOfRanks) {
  Folder folder;
  std::string data = writeLineData(folder);
  expectError(run(line("2x2") + " train --ranks 3" + data), 5,
              "got 3 ranks; the mesh data=2 x tensor=2 wants 4");
  expectError(run(line("1x1") + " train --ranks 2" + data), 5,
              "got 2 ranks; the mesh data=1 x tensor=1 wants 1");
}

TEST(Entry, refusesBadData) {
  Folder folder;
  std::string data = writeLineData(folder);
  std::string target = " --data target=" + folder.file("y.npy");
  std::string zipped = gzip(readFile(folder.file("x.npy")));
  std::string cut = folder.write("cut", zipped.substr(0, zipped.size() / 2));
  for (const char *mesh : {"1x1", "2x2"}) {
    std::string train = line(mesh) + " train --data x=";
    expectError(run(train + cut + target), 3, "gzip stream that ends early");
    expectError(run(train + "/no/file" + target), 3, "cannot be opened");
    expectError(run(train + folder.file("y.npy") + target), 3,
                "input 'x' [batch = 8, feature = 6] wants 6");
  }
}

TEST(Entry, stopsAtALossThatIsNotANumber) {
  Folder folder;
  std::string train = " train --steps 20 --quiet --save-every 3 --checkpoint " +
                      folder.file("c") + writeLineData(folder);
  for (const char *mesh : {"1x1", "2x2"}) {
    expectError(run("env LINE_NAN=7 " + line(mesh) + train), 7,
                "the loss of step 8 is not a number; lower the learning rate, "
                "and go on from checkpoint '" +
                    folder.file("c") + "' of step 6");
    std::string before = readFile(folder.file("c"));
    expectError(run("env LINE_SPOIL=8 " + line(mesh) + train), 7,
                "parameter 'w' is not finite after step 9");
    EXPECT_EQ(readFile(folder.file("c")), before);
  }
}

TEST(Entry, aFailedRankEndsTheRunWithOneMessage) {
  Folder folder;
  expectError(run("env LINE_THROW=2:5 " + line("2x2") + " train --steps 20 " +
                  "--quiet" + writeLineData(folder)),
              1, "rank 2 failed: asked to fail");
}
