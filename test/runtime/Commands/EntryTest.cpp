//===- EntryTest.cpp - tests of the command line --------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Subprocess.h"

#include <nlohmann/json.hpp>

using namespace meshc::test;
using nlohmann::json;

TEST(Entry, helpSaysAllAndEndsWell) {
  for (const char *command : {"", "train", "eval", "info"}) {
    Outcome outcome = run(line("1x1") + " " + command + " --help");
    EXPECT_EQ(outcome.code, 0);
    expectHas(outcome.out, "Exit codes:");
  }
  expectHas(run(line("1x1") + " train --help").out, "--save-every");
  expectHas(run(line("1x1") + " --version").out, "line, meshc runtime ");
}

TEST(Entry, refusesWhatFitsNoInputAndNoFile) {
  Folder folder;
  std::string data = writeLineData(folder);
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
    expectHas(outcome.out, "step 200/200  epoch 44/44  loss 0.0");
    expectHas(outcome.out, " ms/step  ");
    EXPECT_EQ(outcome.out.find("comm ") != std::string::npos,
              std::string(mesh) == "2x2");
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
      json logged = json::parse(text);
      loss = logged["loss"];
      EXPECT_EQ(logged.contains("communication"), std::string(mesh) == "2x2");
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
  const std::string train = line("2x2") + " train --checkpoint " +
                            folder.file("c") + writeLineData(folder) +
                            " --steps 3 --quiet";
  for (const char *resume : {"", " --resume"}) {
    Outcome outcome = run(train + resume);
    EXPECT_EQ(outcome.code, 0);
    EXPECT_EQ(outcome.out + outcome.err, "");
  }
  expectHas(run(line("2x2") + " train --steps 0" + writeLineData(folder)).out,
            "nothing to do: 0 steps are done and 0 were asked for\n");
}

/// Collectives then wait for cores, which is no time of communication.
TEST(Entry, saysThatRanksShareCores) {
  Folder folder;
  const std::string train = " train --steps 1" + writeLineData(folder);
  // On the first core of those that are allowed here.
  const std::string one = "taskset -c $(taskset -cp $$ | sed 's/.*: *//; "
                          "s/[-,].*//') ";
  expectHas(
      run(one + line("2x2") + train).out,
      ", batch 8; 4 ranks share 1 core: 'comm' and the times of collectives "
      "include waiting for a core\n");
  const std::string alone = run(one + line("1x1") + train).out;
  EXPECT_EQ(alone.find(" share "), std::string::npos) << alone;
  EXPECT_EQ(run(one + line("2x2") + train + " --quiet").out, "");
}

/// The last checkpoint is reported, and its step; not with '--quiet'.
TEST(Entry, saysWhatItHasSaved) {
  Folder folder;
  std::string train = line("2x2") + " train --checkpoint " + folder.file("c") +
                      writeLineData(folder) + " --steps ";
  const std::string saved = "\nsaved '" + folder.file("c") + "' (step ";
  for (const char *options : {"", " --save-every 2", " --save-every 1"})
    expectHas(run(train + "3 --overwrite" + options).out, saved + "3)\n");
  expectHas(run(train + "5 --resume").out, saved + "5)\n");
  EXPECT_EQ(run(train + "3 --overwrite --quiet").out, "");
}

TEST(Entry, infoTellsMeshAndTensors) {
  Outcome outcome = run(line("2x2") + " info");
  EXPECT_EQ(outcome.code, 0);
  expectHas(outcome.out, "mesh data = 2, tensor = 2: 4 ranks");
  expectHas(outcome.out, "arena 6272 bytes per rank");
  expectHas(outcome.out, "\n7 parameters in 2 tensors\n");
  expectHas(outcome.out, "f32  [batch = 8 {data}, feature = 6 {tensor}], "
                         "48 bytes per rank");
  expectHas(outcome.out, "line.mesh:5:7: all_reduce of 'y' over tensor");
  EXPECT_EQ(json::parse(run(line("2x2") + " info --json").out)["model"],
            "line");
}

TEST(Entry, refusesAnotherNumberOfRanks) {
  Folder folder;
  std::string data = writeLineData(folder);
  expectError(run(line("2x2") + " train --ranks 3" + data), 5,
              "got 3 ranks; the mesh data=2 x tensor=2 needs 4");
  expectError(run(line("1x1") + " train --ranks 2" + data), 5,
              "got 2 ranks; the mesh data=1 x tensor=1 needs 1");
  // Nobody said --ranks.
  for (const std::string kind : {"mpi", "shm"}) {
    expectError(run(line("2x2") + " train --comm " + kind + data), 5,
                "got 1 rank; the mesh data=2 x tensor=2 needs 4: mpirun -n 4 ");
    expectError(run(line("1x1") + " train --comm " + kind + data), 2,
                "'--comm " + kind + "' is for processes that mpirun started");
  }
  expectError(run(line("2x2") + " train --comm mpi --ranks 4" + data), 2,
              "'--ranks 4' starts threads");
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
                "input 'x' [batch = 8, feature = 6] needs 6");
  }
}

/// While it trains; the last checkpoint stays.
TEST(Entry, aGzipBombIsNamed) {
  Folder folder;
  std::string target = " --data target=" + folder.file("y.npy");
  writeLineData(folder);
  std::string member = gzip(std::string(size_t(64) << 20, '\0')), bomb;
  for (int i = 0; i < 32; ++i) // 2 GiB
    bomb += member;
  expectError(run("bash -c 'ulimit -v 1500000 && exec " + line("1x1") +
                  " train --threads 1 --data x=" + folder.write("bomb", bomb) +
                  target + "'"),
              1,
              "data file '" + folder.file("bomb") + "': its gzip stream of " +
                  std::to_string(bomb.size()) + " bytes unpacks to more than ");
}

TEST(Entry, aDataFileThatBecomesShorterEndsTheRun) {
  for (const char *mesh : {"1x1", "2x2"})
    for (off_t left : {off_t(4096), off_t(8000 * 24)}) {
      Folder folder;
      std::string data = writeLineData(folder, 8000);
      Process train("env LINE_SLEEP=10 " + line(mesh) +
                    " train --steps 100000 --save-every 1 --checkpoint " +
                    folder.file("c") + data);
      ASSERT_TRUE(
          train.waitUntil([&] { return !readFile(folder.file("c")).empty(); }));
      ASSERT_EQ(truncate(folder.file("x.npy").c_str(), left), 0);
      expectError(train.wait(), 3,
                  "data file '" + folder.file("x.npy") +
                      "' became shorter while it was read");
      EXPECT_EQ(run(line(mesh) + " eval --checkpoint " + folder.file("c") +
                    writeLineData(folder))
                    .code,
                0);
    }
}

/// Stacks of 16 GiB in a memory of 8: the threads cannot be started.
TEST(Entry, threadsThatDoNotStartAreAnError) {
  Folder folder;
  std::string data = writeLineData(folder);
  data.resize(data.find(" --threads"));
  expectError(run("bash -c 'ulimit -s 16000000 && ulimit -v 8000000 && exec " +
                  line("1x1") + " train --quiet --steps 2 --threads 7" + data +
                  "'"),
              1,
              "line: error: too little memory: cannot start the 7 threads of a "
              "rank, with stacks of 16384000000 bytes (15625.0 MiB) (ulimit "
              "-s); ");
}

TEST(Entry, stopsAtALossThatIsNotANumber) {
  Folder folder;
  std::string train = " train --steps 20 --quiet --save-every 3 --overwrite "
                      "--checkpoint " +
                      folder.file("c") + writeLineData(folder);
  for (const char *mesh : {"1x1", "2x2"}) {
    expectError(
        run("env LINE_NAN=7 " + line(mesh) + train), 7,
        "the loss of step 8 is not a number: the first NaN is in "
        "'loss', which kernel 'update' computes at line.mesh:9:1 (add "
        "line.mesh:9:1)" +
            (std::string(mesh) == "2x2" ? std::string(" on rank 0") : "") +
            "; lower the learning rate, and go on from checkpoint '" +
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
