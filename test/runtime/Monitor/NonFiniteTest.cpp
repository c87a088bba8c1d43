//===- NonFiniteTest.cpp - tests of values that are not finite ------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Base/Finiteness.h"
#include "test/runtime/Commands/Subprocess.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

using namespace meshc::test;
using namespace meshc::runtime;
using nlohmann::json;

TEST(Finiteness, classifiesEveryType) {
  const float nan = std::nanf(""), inf = std::numeric_limits<float>::infinity();
  const float values[] = {1, -inf, nan, -nan, 3e38f, 0, 1e-40f};
  EXPECT_EQ(classify(MESHC_F32, values, 7), HasNan | HasInfinity);
  EXPECT_EQ(classify(MESHC_F32, values, 2), HasInfinity);
  EXPECT_EQ(classify(MESHC_F32, values + 2, 2), HasNan);
  EXPECT_EQ(classify(MESHC_F32, values + 4, 3), 0);
  EXPECT_EQ(classify(MESHC_F32, values, 2, 4), 0); // each fourth
  EXPECT_EQ(classify(MESHC_F32, values, 0), 0);
  const uint16_t bf16[] = {0x3f80, 0xff80, 0x7f81, 0x7f7f};
  EXPECT_EQ(classify(MESHC_BF16, bf16, 2), HasInfinity);
  EXPECT_EQ(classify(MESHC_BF16, bf16 + 2, 1), HasNan);
  EXPECT_EQ(classify(MESHC_BF16, bf16 + 3, 1), 0);
  const uint16_t f16[] = {0x3c00, 0xfc00, 0x7c01, 0x7bff};
  EXPECT_EQ(classify(MESHC_F16, f16, 2), HasInfinity);
  EXPECT_EQ(classify(MESHC_F16, f16 + 2, 1), HasNan);
  EXPECT_EQ(classify(MESHC_F16, f16 + 3, 1), 0);
  const int32_t whole[] = {0x7f800000, -1};
  EXPECT_EQ(classify(MESHC_I32, whole, 2), 0);
}

/// Followed back over a kernel, collectives and ranks.
TEST(NonFinite, theFirstCallAndRankAreNamed) {
  Folder folder;
  std::string train = " train --steps 20 --quiet" + writeLineData(folder);
  const std::string first =
      "the loss of step 8 is infinite: the first infinite value is in 'y', "
      "which kernel 'subtract' computes at line.mesh:6:3 (add line.mesh:6:3)";
  expectError(run("env LINE_INF=0:7 " + line("1x1") + train), 7,
              first + "; lower the learning rate\n");
  expectError(run("env LINE_INF=1:7 " + line("2x2") + train), 7,
              first + " on rank 2; lower the learning rate\n");
}

/// NaN in the padding of an input, a product, a sum over ranks, kernels'
/// results and parameters is not what is looked for.
TEST(NonFinite, paddingIsNotBlamed) {
  Folder folder;
  std::string train = " train --steps 20 --quiet" + writeLineData(folder);
  const std::string first = "the loss of step 8 is infinite: the first "
                            "infinite value is in 'y', which kernel "
                            "'subtract' computes at line.mesh:6:3 (add "
                            "line.mesh:6:3) on rank 8;";
  expectError(run("env LINE_INF=2:7 " + line("3x4") + train), 7, first);
  expectError(run("env LINE_NAN=7 " + line("3x4") + train), 7,
              "the loss of step 8 is not a number: the first NaN is in "
              "'loss', which kernel 'update' computes at line.mesh:9:1");
  expectError(run("env LINE_SPOIL=7 " + line("3x4") + train), 7,
              ": in step 8, the first infinite value is in 'w', which kernel "
              "'update' computes at line.mesh:9:1");
}

/// A parameter is infinite after step 9; the loss of step 10 shows it.
TEST(NonFinite, theStepThatSpoilsAParameterIsNamed) {
  Folder folder;
  std::string data = writeLineData(folder);
  for (const char *mesh : {"1x1", "2x2"}) {
    std::string saved = folder.file(mesh);
    Outcome outcome =
        run("env LINE_SPOIL=8 " + line(mesh) +
            " train --steps 20 --save-every 4 --checkpoint " + saved + data);
    expectError(outcome, 7, "the loss of step 10 is ");
    expectHas(outcome.err, ": in step 9, the first infinite value is in 'w', "
                           "which kernel 'update' computes at line.mesh:9:1");
    expectHas(outcome.err,
              ", and go on from checkpoint '" + saved + "' of step 8");
    // From the checkpoint on, not from the start.
    expectHas(outcome.out, "replaying steps 9 to 10 to find the op");
  }
}

TEST(NonFinite, aSingleStepIsReplayed) {
  Folder folder;
  Outcome outcome = run("env LINE_NAN=8 " + line("1x1") +
                        " train --steps 20 --save-every 8 --checkpoint " +
                        folder.file("c") + writeLineData(folder));
  expectError(outcome, 7, "the loss of step 9 is not a number");
  expectHas(outcome.out, "replaying step 9 to find the op");
}

TEST(NonFinite, anInputIsNamedByFileAndExample) {
  Folder folder;
  std::string data = writeLineData(folder);
  std::string x = readFile(folder.file("x.npy"));
  const float nan = std::nanf("");
  // Element 2 of example 30.
  std::memcpy(x.data() + x.size() - 37 * 24 + 30 * 24 + 8, &nan, 4);
  folder.write("x.npy", x);
  std::string wanted = "data file '" + folder.file("x.npy") +
                       "': example 30 has a NaN for input 'x', its element 2";
  for (const char *mesh : {"1x1", "2x2"}) {
    expectError(run(line(mesh) + " train --steps 20 --quiet" + data), 3,
                " is not a number: " + wanted);
    Outcome outcome = run(line(mesh) + " train --steps 0 --checkpoint " +
                          folder.file(mesh) + data);
    ASSERT_EQ(outcome.code, 0);
    expectError(
        run(line(mesh) + " eval --checkpoint " + folder.file(mesh) + data), 3,
        wanted);
  }
}

TEST(NonFinite, skippedUpdatesAreDroppedAndCounted) {
  Folder folder;
  std::string data = writeLineData(folder);
  for (const char *mesh : {"1x1", "2x2"})
    for (const char *fault : {"LINE_INF=0:7", "LINE_SPOIL=7", "LINE_NAN=7"}) {
      std::string log = folder.file("log"), saved = folder.file(mesh);
      Outcome outcome = run(std::string("env ") + fault + " " + line(mesh) +
                            " train --steps 12 --on-nonfinite skip --log " +
                            log + " --checkpoint " + saved + data);
      EXPECT_EQ(outcome.code, 0) << outcome.err;
      expectHas(outcome.err, "line: warning: the update of step 8 is skipped, "
                             "as it is not finite: the first ");
      EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1);
      expectHas(outcome.out, "  skipped 1  took ");
      expectHas(outcome.out,
                "skipped the updates of 1 of 12 steps, which were not finite");
      expectHas(outcome.out,
                " bytes per rank is kept for '--on-nonfinite skip'");
      std::istringstream lines(readFile(log));
      int step = 0;
      for (std::string text; std::getline(lines, text);)
        EXPECT_EQ(json::parse(text)["skipped"], ++step < 8 ? 0 : 1) << text;
      EXPECT_EQ(step, 12);
      // The checkpoint, too, is finite.
      EXPECT_EQ(run(line(mesh) + " eval --checkpoint " + saved + data).code, 0);
    }
}

/// Every step is skipped, the first one is explained.
TEST(NonFinite, onlyTheFirstSkippedStepIsExplained) {
  Folder folder;
  std::string data = writeLineData(folder);
  std::string y = readFile(folder.file("y.npy"));
  const float inf = std::numeric_limits<float>::infinity();
  for (int i = 0; i < 37; ++i)
    std::memcpy(y.data() + y.size() - 37 * 4 + i * 4, &inf, 4);
  folder.write("y.npy", y);
  Outcome outcome = run(line("2x2") + " train --quiet --on-nonfinite skip " +
                        "--steps 9 --checkpoint " + folder.file("c") + data);
  EXPECT_EQ(outcome.code, 0);
  expectHas(outcome.err, "has an infinite value for input 'target'");
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1);
  expectHas(outcome.out, "skipped the updates of 9 of 9 steps");
  // Nothing has changed.
  ASSERT_EQ(run(line("2x2") + " train --quiet --steps 0 --checkpoint " +
                folder.file("begin") + data)
                .code,
            0);
  auto tensors = [&](const char *name) {
    std::string bytes = readFile(folder.file(name));
    return bytes.substr(bytes.size() - 2 * 7 * 4);
  };
  EXPECT_EQ(tensors("c"), tensors("begin"));
}
