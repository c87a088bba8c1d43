//===- UnevenTest.cpp - a program whose axes do not divide its dims -------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// LineProgram on the mesh 3x4: of 8 examples, ranks have 3, 3 and 2; of 6
/// features 2, 2, 2 and none; of 2 texts 1, 1 and none. Its kernels write NaN
/// to the padding.
///
//===----------------------------------------------------------------------===//
#include "Subprocess.h"

#include <nlohmann/json.hpp>

using namespace meshc::test;
using nlohmann::json;

namespace {

struct Bench {
  Folder folder;
  std::string data = writeLineData(folder);

  Outcome train(const std::string &mesh, const std::string &options) const {
    return run(line(mesh) + " train " + options + data);
  }
  /// The file that a successful training leaves.
  std::string checkpoint(const std::string &mesh, const std::string &name,
                         const std::string &options) const {
    Outcome outcome =
        train(mesh, "--quiet --checkpoint " + folder.file(name) + options);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return readFile(folder.file(name));
  }
  /// The metrics that `eval` prints.
  std::string evaluate(const std::string &mesh,
                       const std::string &options) const {
    Outcome outcome = run(line(mesh) + " eval " + options + data);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.out.substr(outcome.out.find('\n'));
  }
  /// The numbers under `key` in the log of a run.
  std::vector<double> logged(const std::string &name, const char *key) const {
    std::istringstream lines(readFile(folder.file(name)));
    std::vector<double> values;
    for (std::string text; std::getline(lines, text);)
      if (json entry = json::parse(text); entry.contains(key))
        values.push_back(entry[key]);
    return values;
  }
};

} // namespace

TEST(Uneven, trainsAsOneRankDoes) {
  Bench bench;
  std::vector<double> losses[2];
  for (int i : {0, 1}) {
    Outcome outcome =
        bench.train(i ? "3x4" : "1x1",
                    "--steps 20 --eval-every 10 --eval-data x=" +
                        bench.folder.file("x.npy") +
                        " --eval-data target=" + bench.folder.file("y.npy") +
                        " --log " + bench.folder.file("log"));
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    expectHas(outcome.out, "37 examples, batch 8");
    losses[i] = bench.logged("log", "loss");
    for (double loss : bench.logged("log", "eval_loss"))
      losses[i].push_back(loss);
  }
  ASSERT_EQ(losses[0].size(), 22u);
  ASSERT_EQ(losses[1].size(), 22u);
  for (size_t i = 0; i < 22; ++i)
    EXPECT_NEAR(losses[0][i], losses[1][i], 1e-5 * losses[0][i] + 1e-6);
}

TEST(Uneven, eachMeshReadsTheFilesOfTheOther) {
  Bench bench;
  // Before the first step all numbers are those of the seed.
  const std::string begin = bench.checkpoint("1x1", "begin", " --steps 0");
  EXPECT_EQ(bench.checkpoint("3x4", "same", " --steps 0"), begin);
  bench.checkpoint("3x4", "c", " --steps 6 --save-every 2 --keep 3");
  for (const char *mesh : {"1x1", "2x2", "3x4"})
    EXPECT_EQ(bench.checkpoint(mesh, mesh,
                               " --steps 6 --resume " + bench.folder.file("c")),
              readFile(bench.folder.file("c")));
  // A program without padding goes on from a file of one with padding.
  for (const char *mesh : {"1x1", "3x4"})
    bench.checkpoint(mesh, mesh,
                     std::string(" --overwrite --steps 9 ") + "--resume " +
                         bench.folder.file("c"));
  const std::string last = "--checkpoint " + bench.folder.file("3x4");
  EXPECT_EQ(bench.evaluate("1x1", last), bench.evaluate("3x4", last));
  EXPECT_EQ(bench.evaluate("1x1", last),
            bench.evaluate("1x1", "--checkpoint " + bench.folder.file("1x1")));
}

TEST(Uneven, weightsOfOtherToolsAreRead) {
  Bench bench;
  const std::string c = bench.folder.file("c");
  bench.checkpoint("2x2", "c", " --steps 4");
  const std::string map = bench.folder.write("m", "w = one [0/1, feature]\n"
                                                  "b = two\n"),
                    constant = bench.folder.write("n", "w = 0.5\nb = 2\n"
                                                       "ignore .*\n"),
                    one = bench.folder.file("one");
  ASSERT_EQ(run(line("3x4") + " export --checkpoint " + c + " --weights-map " +
                map + " --to " + one)
                .code,
            0);
  for (const std::string &weights :
       {"--checkpoint " + c, "--weights " + one + " --weights-map " + map,
        "--weights " + one + " --weights-map " + constant})
    EXPECT_EQ(bench.evaluate("3x4", weights), bench.evaluate("1x1", weights));
}

TEST(Uneven, paddingIsNoReasonToSkipAnUpdate) {
  Bench bench;
  Outcome outcome = bench.train("3x4", "--steps 5 --on-nonfinite skip");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  EXPECT_EQ(outcome.out.find("skipped 1"), std::string::npos) << outcome.out;
  outcome = run("env LINE_SPOIL=3 " + line("3x4") +
                " train --steps 5 --on-nonfinite skip" + bench.data);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  expectHas(outcome.out, "skipped the updates of 1 of 5 steps");
}

/// Ranks that have no text take part, and caches change places with their
/// texts.
TEST(Uneven, generatesTheTextsOfOneRank) {
  Bench bench;
  bench.checkpoint("1x1", "c", " --steps 1");
  auto generate = [&](const std::string &mesh, const std::string &what) {
    Outcome outcome = run(line(mesh) +
                          " generate --quiet --threads 1 "
                          "--weights " +
                          bench.folder.file("c") + what);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.out;
  };
  for (const char *what :
       {" --greedy --prompt abcdefghijklmno --prompt zyxwvutsrqpo",
        " --greedy --prompt ab", " --beams 2 --prompt onmlkjihgfed"})
    EXPECT_EQ(generate("3x4", what), generate("1x1", what));
}

TEST(Uneven, infoTellsTheBlocks) {
  Outcome outcome = run(line("3x4") + " info");
  EXPECT_EQ(outcome.code, 0);
  expectHas(outcome.out, "mesh data = 3, tensor = 4: 12 ranks");
  expectHas(outcome.out, "f32  [batch = 8 {data: blocks of 3}, feature = 6 "
                         "{tensor: blocks of 2}], 24 bytes per rank");
}
