//===- MpirunTest.cpp - tests under mpirun --------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "TraceFile.h"

#include <cmath>
#include <filesystem>

using namespace meshc::test;

static const std::string mpirun =
    "env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "
    "OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_btl_vader_single_copy_"
    "mechanism=none mpirun ";

/// A launcher, with which programs may or may not be able to speak.
class Plugin : public testing::Test {
protected:
  void SetUp() override {
    if (std::system("mpirun --version >/dev/null 2>&1") != 0)
      GTEST_SKIP() << "mpirun is not installed";
  }
};

class Mpirun : public Plugin {
  void SetUp() override {
    Plugin::SetUp();
    if (std::string(PLUGIN_DIRECTORY).empty())
      GTEST_SKIP() << "built without MPI";
  }
};

TEST_F(Mpirun, trainsLikeThreads) {
  Folder folder;
  std::string data = writeLineData(folder);
  std::string train = line("2x2") + " train --quiet --steps 20 --checkpoint ";
  Outcome outcome = run(mpirun + "-n 4 " + train + folder.file("mpi") + data);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  ASSERT_EQ(run(train + folder.file("threads") + data).code, 0);
  EXPECT_EQ(readFile(folder.file("mpi")), readFile(folder.file("threads")));
}

TEST_F(Mpirun, tracesAllRanks) {
  Folder folder;
  std::string data = writeLineData(folder), file = folder.file("t.json");
  Outcome outcome = run(mpirun + "-n 4 " + line("2x2") +
                        " train --quiet --steps 20 --trace " + file + data);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  TraceFile trace(file);
  ASSERT_TRUE(trace.isJson) << readFile(file);
  EXPECT_EQ(trace.ranks, (std::set<int>{0, 1, 2, 3}));
  EXPECT_EQ(trace.steps, 5 * 4);
  EXPECT_GE(trace.least, 0);
  EXPECT_EQ(trace.events["collective all_reduce of gradients over data"],
            5 * 4);
  expectHas(outcome.out, "trace: 5 steps of rank 0 after step 10, ");
}

TEST_F(Mpirun, refusesAnotherNumberOfRanks) {
  Folder folder;
  Outcome outcome = run(mpirun + "-n 3 " + line("2x2") + " train --steps 2" +
                        writeLineData(folder));
  EXPECT_EQ(outcome.code, 5);
  std::string wanted = "got 3 ranks; the mesh data=2 x tensor=2 needs 4: "
                       "mpirun -n 4 ";
  size_t at = outcome.err.find(wanted);
  ASSERT_NE(at, std::string::npos) << outcome.err;
  EXPECT_EQ(outcome.err.find(wanted, at + 1), std::string::npos)
      << "told more than once:\n"
      << outcome.err;
}

TEST_F(Mpirun, tellsErrorsOnce) {
  Folder folder;
  writeLineData(folder);
  Outcome outcome =
      run(mpirun + "-n 4 " + line("2x2") +
          " train --data x=/no/file --data target=" + folder.file("y.npy"));
  EXPECT_EQ(outcome.code, 3) << outcome.err;
  size_t at = outcome.err.find("data file '/no/file' cannot be opened");
  ASSERT_NE(at, std::string::npos) << outcome.err;
  EXPECT_EQ(outcome.err.find("cannot be opened", at + 40), std::string::npos)
      << "told more than once:\n"
      << outcome.err;
}

TEST_F(Mpirun, anEvaluationThatIsNotFiniteIsPrintedAndToldOnce) {
  Folder folder;
  std::string data = writeLineData(folder), file = folder.file("c");
  ASSERT_EQ(
      run(line("2x2") + " train --quiet --steps 3 --checkpoint " + file + data)
          .code,
      0);
  folder.write("y.npy", npy("{'descr': '<f4', 'fortran_order': False, 'shape': "
                            "(37,), }",
                            bytesOf(std::vector<float>(37, NAN))));
  Outcome outcome =
      run(mpirun + "-n 4 " + line("2x2") + " eval --checkpoint " + file + data);
  EXPECT_EQ(outcome.code, 3) << outcome.err;
  expectHas(outcome.out, "loss nan (37 examples)");
  std::string wanted =
      "line: error: the loss of the evaluation is not a number";
  size_t at = outcome.err.find(wanted);
  ASSERT_NE(at, std::string::npos) << outcome.err;
  EXPECT_EQ(outcome.err.find(wanted, at + 1), std::string::npos);
}

TEST_F(Mpirun, aKilledRankEndsTheJob) {
  Folder folder;
  std::string data = writeLineData(folder), file = folder.file("c");
  Outcome outcome =
      run("env LINE_KILL=2:9 " + mpirun + "-n 4 -x LINE_KILL " + line("2x2") +
          " train --quiet --steps 100000 --save-every 8 --checkpoint " + file +
          data);
  EXPECT_NE(outcome.code, 0);
  ASSERT_EQ(run(line("2x2") + " train --quiet --steps 8 --checkpoint " +
                folder.file("d") + data)
                .code,
            0);
  EXPECT_EQ(readFile(file), readFile(folder.file("d")));
}

TEST_F(Plugin, isToldOnceWhereItIsMissing) {
  Folder folder;
  std::string moved = folder.file("moved");
  std::filesystem::copy_file(line("lost"), moved);
  std::string train =
      moved + " train --quiet --steps 2" + writeLineData(folder);
  EXPECT_EQ(run(train).code, 0); // as threads

  Outcome outcome = run(mpirun + "-n 4 " + train);
  EXPECT_EQ(outcome.code, 6) << outcome.err;
  std::string wanted =
      "line: error: the MPI plugin 'libmeshc_mpi.so' is needed "
      "and was not found in '";
  size_t at = outcome.err.find(wanted);
  ASSERT_NE(at, std::string::npos) << outcome.err;
  EXPECT_EQ(outcome.err.find(wanted, at + 1), std::string::npos);
  expectHas(outcome.err, "; set MESHC_PLUGIN_PATH to its directory");

  // A file of that name that is no library.
  folder.write("libmeshc_mpi.so", "no library");
  outcome = run(mpirun + "-n 4 " + train);
  EXPECT_EQ(outcome.code, 6) << outcome.err;
  expectHas(outcome.err, "line: error: cannot open the MPI plugin: " +
                             folder.file("libmeshc_mpi.so"));

  // The path goes before the program's folder.
  if (std::string(PLUGIN_DIRECTORY).empty())
    return;
  outcome = run(std::string("env MESHC_PLUGIN_PATH=/no/folder:") +
                PLUGIN_DIRECTORY + " " + mpirun + "-n 4 " + train);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
}
