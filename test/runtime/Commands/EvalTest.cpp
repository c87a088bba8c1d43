//===- EvalTest.cpp - tests of metrics over all examples ------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Subprocess.h"

#include "runtime/Base/Figure.h"

#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

using namespace meshc::test;

/// The metrics of N examples are means over N, whether or not the batch of 8
/// divides N; computed here by hand from the checkpoint's numbers.
TEST(Eval, countsEveryExampleOnce) {
  for (const char *mesh : {"1x1", "2x2"})
    for (int count : {1, 5, 8, 16, 37}) {
      Folder folder;
      std::string data = writeLineData(folder, count);
      ASSERT_EQ(run(line(mesh) + " train --quiet --steps 3 --checkpoint " +
                    folder.file("c") + data)
                    .code,
                0);
      Outcome outcome =
          run(line(mesh) + " eval --checkpoint " + folder.file("c") +
              " --log " + folder.file("log") + data);
      ASSERT_EQ(outcome.code, 0) << outcome.err;

      std::string file = readFile(folder.file("c"));
      uint64_t length = 0;
      std::memcpy(&length, file.data(), 8);
      auto header = nlohmann::json::parse(file.substr(8, length));
      auto value = [&](const char *name, int i) {
        size_t at = header[name]["data_offsets"][0];
        float result;
        std::memcpy(&result, &file[8 + length + at + 4 * size_t(i)], 4);
        return double(result);
      };
      std::string x = readFile(folder.file("x.npy")),
                  y = readFile(folder.file("y.npy"));
      auto number = [&](const std::string &array, int i, int all) {
        float result;
        std::memcpy(&result, &array[array.size() - 4 * size_t(all - i)], 4);
        return double(result);
      };
      double loss = 0, error = 0;
      for (int i = 0; i < count; ++i) {
        double difference = value("b", 0) - number(y, i, count);
        for (int j = 0; j < 6; ++j)
          difference += value("w", j) * number(x, 6 * i + j, 6 * count);
        loss += difference * difference / count;
        error += std::abs(difference) / count;
      }
      auto log = nlohmann::json::parse(readFile(folder.file("log")));
      EXPECT_NEAR(log["loss"], loss, 1e-5 * (1 + loss)) << mesh << count;
      EXPECT_NEAR(log["error"], error, 1e-5 * (1 + error)) << mesh << count;
      EXPECT_EQ(log["examples"], count);
      EXPECT_EQ(log["step"], 3);
      expectHas(outcome.out, "error " +
                                 meshc::runtime::formatFigure(log["error"]) +
                                 " (" + std::to_string(count) +
                                 (count == 1 ? " example)" : " examples)"));
    }
}

TEST(Eval, isPartOfTraining) {
  Folder folder;
  std::string data = writeLineData(folder);
  std::string evalData = " --eval-data x=" + folder.file("x.npy") +
                         " --eval-data target=" + folder.file("y.npy");
  Outcome outcome =
      run(line("2x2") + " train --quiet --steps 10 --eval-every 4 --log " +
          folder.file("log") + data + evalData);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  for (const char *text :
       {"after step 4\n", "after step 8\n", "after step 10\n"})
    EXPECT_NE(outcome.out.find(text), std::string::npos) << outcome.out;
  EXPECT_NE(readFile(folder.file("log")).find("{\"step\":8,\"eval_loss\":"),
            std::string::npos);
}

/// The rates of steps leave out the evaluations between them. Each batch
/// sleeps, and the two evaluations have five at least, so that the steps take
/// so much less than the whole.
TEST(Eval, isNoPartOfTheTimeOfSteps) {
  Folder folder;
  std::string data = writeLineData(folder);
  Outcome outcome =
      run("env LINE_SLEEP=20 " + line("1x1") +
          " train --quiet --steps 6 --eval-every 2 --log " +
          folder.file("log") + data + " --eval-data x=" + folder.file("x.npy") +
          " --eval-data target=" + folder.file("y.npy"));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  std::istringstream lines(readFile(folder.file("log")));
  double steps = 0, whole = 0;
  for (std::string text; std::getline(lines, text);) {
    auto logged = nlohmann::json::parse(text);
    if (!logged.contains("time"))
      continue;
    whole = logged["time"];
    steps += 8 / double(logged["examples_per_second"]);
  }
  EXPECT_GE(steps, 6 * 0.02);
  EXPECT_LE(steps, whole - 2 * 5 * 0.02);
}

TEST(Eval, refusesWhatItCannotRead) {
  Folder folder;
  std::string data = writeLineData(folder);
  EXPECT_EQ(run(line("1x1") + " eval" + data).code, 2);
  EXPECT_EQ(run(line("1x1") + " eval --checkpoint /no/file" + data).code, 4);
}

/// The metrics are printed nevertheless, and the exit code reports it.
TEST(Eval, aMetricThatIsNotFiniteIsAnError) {
  Folder folder;
  std::string data = writeLineData(folder), file = folder.file("c");
  std::vector<float> targets(37, 0.5f);
  targets[20] = NAN;
  std::string bad =
      folder.write("bad.npy", npy("{'descr': '<f4', 'fortran_order': False, "
                                  "'shape': (37,), }",
                                  bytesOf(targets)));
  std::string x = " x=" + folder.file("x.npy"), y = " target=" + bad;
  for (const char *mesh : {"1x1", "2x2"}) {
    ASSERT_EQ(
        run(line(mesh) + " train --quiet --steps 3 --checkpoint " + file + data)
            .code,
        0);
    std::string before = readFile(file);
    Outcome outcome = run(line(mesh) + " eval --threads 1 --checkpoint " +
                          file + " --data" + x + " --data" + y);
    expectError(outcome, 3,
                "line: error: the loss of the evaluation is not a number: data "
                "file '" +
                    bad + "': example 20 has a NaN for input 'target'");
    expectHas(outcome.out, "loss nan (37 examples)\n");

    // Training ends and is saved.
    expectError(run(line(mesh) + " train --quiet --steps 3 --checkpoint " +
                    folder.file("d") + data + " --eval-every 2 --eval-data" +
                    x + " --eval-data" + y),
                3, "the loss of the evaluation is not a number");
    EXPECT_EQ(readFile(folder.file("d")), before);
  }
}
