//===- ResumeTest.cpp - tests of checkpoints and of going on from them ----===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Subprocess.h"

#include <cstring>

using namespace meshc::test;

static std::string train(const std::string &mesh, const std::string &options) {
  return line(mesh) + " train --quiet " + options;
}

TEST(Resume, continuesToTheBit) {
  Folder folder;
  std::string data = writeLineData(folder);
  for (const char *mesh : {"1x1", "2x2"}) {
    std::string whole = folder.file("whole"), parts = folder.file("parts");
    ASSERT_EQ(
        run(train(mesh, "--seed 9 --steps 23 --checkpoint " + whole + data))
            .code,
        0);
    ASSERT_EQ(run(train(mesh, "--seed 9 --steps 10 --overwrite --checkpoint " +
                                  parts + data))
                  .code,
              0);
    EXPECT_NE(readFile(whole), readFile(parts));
    Outcome resumed =
        run(train(mesh, "--steps 23 --resume --checkpoint " + parts + data));
    EXPECT_EQ(resumed.code, 0) << resumed.err;
    EXPECT_EQ(readFile(whole), readFile(parts));
  }
}

/// A checkpoint is saved before the evaluation of its step, which a killed run
/// may not have made.
TEST(Resume, makesTheEvaluationThatIsMissing) {
  Folder folder;
  const std::string data = writeLineData(folder), log = folder.file("log");
  for (const char *mesh : {"1x1", "2x2"}) {
    auto runTo = [&](const std::string &steps, const std::string &options) {
      Outcome outcome = run(train(mesh, "--steps " + steps + " --checkpoint " +
                                            folder.file(mesh) + " --log " +
                                            log + data + options));
      EXPECT_EQ(outcome.code, 0) << outcome.err;
      return outcome.out;
    };
    std::string evaluations =
        " --resume --eval-every 4 --eval-data x=" + folder.file("x.npy") +
        " target=" + folder.file("y.npy");
    runTo("4", "");
    std::string out = runTo("6", evaluations);
    expectHas(out, "eval loss ");
    expectHas(out, " after step 4\n");
    expectHas(out, " after step 6\n");
    const std::string logged = readFile(log);
    expectHas(logged, "{\"step\":4,\"eval_loss\":");
    // The log has that of step 8, after which the run ends.
    runTo("8", evaluations);
    out = runTo("9", evaluations);
    EXPECT_EQ(out.find(" after step 8\n"), std::string::npos) << out;
    expectHas(out, " after step 9\n");
    // Not a step of an evaluation.
    out = runTo("10", evaluations);
    EXPECT_EQ(out.find(" after step 9\n"), std::string::npos) << out;
  }
}

TEST(Resume, otherMeshesReadTheCheckpoint) {
  Folder folder;
  std::string data = writeLineData(folder);
  ASSERT_EQ(
      run(train("2x2", "--steps 5 --checkpoint " + folder.file("c") + data))
          .code,
      0);
  Outcome outcome =
      run(train("1x1", "--steps 8 --resume " + folder.file("c") + data));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
}

TEST(Resume, savesWhileItRuns) {
  Folder folder;
  std::string data = writeLineData(folder);
  for (int steps : {4, 8})
    ASSERT_EQ(
        run(train("1x1", "--steps " + std::to_string(steps) + " --checkpoint " +
                             folder.file(std::to_string(steps)) + data))
            .code,
        0);
  auto killed = [&](const std::string &options) {
    std::remove(folder.file("c").c_str());
    EXPECT_EQ(run("env LINE_KILL=0:9 " +
                  train("1x1", "--steps 20 --save-every 4 --checkpoint " +
                                   folder.file("c") + data + options))
                  .code,
              128 + SIGKILL);
    return readFile(folder.file("c"));
  };
  // The complete file of step 8; in the background, that of step 4 if the
  // following step was faster.
  EXPECT_EQ(killed("--save sync"), readFile(folder.file("8")));
  std::string content = killed("");
  EXPECT_TRUE(content == readFile(folder.file("8")) ||
              content == readFile(folder.file("4")));
}

TEST(Resume, refusesOtherSeedsAndBadFiles) {
  Folder folder;
  std::string data = writeLineData(folder), file = folder.file("c");
  ASSERT_EQ(run(train("1x1", "--steps 5 --checkpoint " + file + data)).code, 0);
  Outcome outcome = run(train("1x1", "--seed 3 --resume " + file + data));
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.err.find("was begun with seed 0 and '--seed' is 3"),
            std::string::npos)
      << outcome.err;
  std::string content = readFile(file);
  folder.write("cut", content.substr(0, content.size() - 3));
  for (const char *mesh : {"1x1", "2x2"}) {
    outcome = run(train(mesh, "--resume " + folder.file("cut") + data));
    EXPECT_EQ(outcome.code, 4);
    EXPECT_NE(outcome.err.find("ends early: tensor 'b.momentum'"),
              std::string::npos)
        << outcome.err;
    outcome = run(train(mesh, "--resume " + folder.file("none") + data));
    EXPECT_EQ(outcome.code, 4);
    outcome = run(train(mesh, "--checkpoint /no/folder/c" + data));
    EXPECT_EQ(outcome.code, 4);
  }
}

/// A limit on file sizes stands for the full disk.
TEST(Resume, aFullDiskLeavesTheOldCheckpoint) {
  Folder folder;
  std::string data = writeLineData(folder), file = folder.file("c");
  for (const char *mesh : {"1x1", "2x2"}) {
    ASSERT_EQ(run(train(mesh, "--steps 5 --checkpoint " + file + data)).code,
              0);
    std::string before = readFile(file);
    // Messages go through a pipe, which has no size.
    Outcome outcome =
        run("bash -c 'set -o pipefail; (ulimit -f 0; exec " +
            train(mesh, "--steps 9 --resume --checkpoint " + file + data) +
            ") 2>&1 | cat >&2'");
    EXPECT_EQ(outcome.code, 4) << outcome.err;
    EXPECT_NE(outcome.err.find("cannot write checkpoint '" + file),
              std::string::npos)
        << outcome.err;
    EXPECT_NE(outcome.err.find("the checkpoint of before is intact"),
              std::string::npos);
    EXPECT_EQ(readFile(file), before);
    EXPECT_EQ(run("sh -c '! ls " + file + ".*'").code, 0);
  }
}

/// Whenever the writer is killed: the checkpoint is whole, and the next save
/// leaves nothing else behind.
TEST(Resume, killedSavesLeaveNothingForGood) {
  Folder folder;
  std::string data = writeLineData(folder), file = folder.file("c");
  for (int delay = 0; delay < 20; ++delay) {
    Process process(train(
        "1x1", "--steps 1000000 --save-every 1 --overwrite --checkpoint " +
                   file + data));
    ASSERT_TRUE(process.waitUntil([&] { return !readFile(file).empty(); }));
    usleep(static_cast<useconds_t>(1000 * delay));
    process.signal(SIGKILL);
    EXPECT_EQ(process.wait().code, 128 + SIGKILL);
    Outcome outcome = run(line("1x1") + " eval --checkpoint " + file + data);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
  }
  ASSERT_EQ(
      run(train("1x1", "--steps 1 --overwrite --checkpoint " + file + data))
          .code,
      0);
  EXPECT_EQ(run("sh -c '! ls " + file + "?*'").code, 0);
}
