//===- WorldTest.cpp - which world the options ask for --------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Comm/World.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

using namespace meshc::runtime;

namespace {

/// Without the variables of a launcher that may have started the tests.
class WorldChoice : public testing::Test {
protected:
  void SetUp() override {
    for (const char *name : {"OMPI_COMM_WORLD_RANK",
                             "OMPI_COMM_WORLD_SIZE",
                             "OMPI_COMM_WORLD_LOCAL_RANK",
                             "OMPI_COMM_WORLD_LOCAL_SIZE",
                             "PMI_RANK",
                             "PMI_SIZE",
                             "PMIX_RANK",
                             "PMIX_SIZE",
                             "MESHC_TIMEOUT",
                             "MESHC_PLUGIN_PATH",
                             "FLUX_TASK_RANK",
                             "FLUX_JOB_SIZE",
                             "PALS_RANKID",
                             "MV2_COMM_WORLD_RANK",
                             "MV2_COMM_WORLD_SIZE",
                             "SLURM_PROCID",
                             "SLURM_STEP_NUM_TASKS",
                             "SLURM_STEP_TASKS_PER_NODE",
                             "SLURM_LOCALID",
                             "SLURM_NODEID",
                             "SLURM_CPUS_ON_NODE"})
      unsetenv(name);
  }
  void launch(const char *rank, const char *size) {
    setenv("OMPI_COMM_WORLD_RANK", rank, 1);
    setenv("OMPI_COMM_WORLD_SIZE", size, 1);
  }
  static std::string messageOf(const WorldOptions &options) {
    try {
      openWorld(options);
    } catch (const Failure &failure) {
      return failure.what();
    }
    return "no failure";
  }
};

TEST_F(WorldChoice, AloneIsOneRank) {
  std::unique_ptr<World> world = openWorld({});
  EXPECT_EQ(world->size(), 1);
  EXPECT_STREQ(world->kind(), "threads");
  int ranks = 0;
  world->run([&](Communicator &communicator) { ranks += communicator.size(); });
  EXPECT_EQ(ranks, 1);
}

TEST_F(WorldChoice, RanksAreThreads) {
  WorldOptions options;
  options.ranks = 3;
  EXPECT_EQ(openWorld(options)->size(), 3);
}

TEST_F(WorldChoice, OneProcessOfMpirunNeedsNoMpi) {
  launch("0", "1");
  EXPECT_STREQ(openWorld({})->kind(), "threads");
}

TEST_F(WorldChoice, ThreadsAndMpirunContradict) {
  launch("0", "4");
  WorldOptions options;
  options.kind = CommunicatorKind::Threads;
  EXPECT_EQ(
      messageOf(options),
      "'--comm threads' under mpirun: each of its processes would run all "
      "ranks; leave out one of the two");
  options.kind = CommunicatorKind::Auto;
  options.ranks = 2;
  EXPECT_NE(messageOf(options).find("start 'mpirun -n 2' instead"),
            std::string::npos);
}

TEST_F(WorldChoice, ProcessesNeedMpirun) {
  for (auto [kind, name] : {std::pair(CommunicatorKind::Shm, "shm"),
                            std::pair(CommunicatorKind::Mpi, "mpi")}) {
    WorldOptions options;
    options.kind = kind;
    EXPECT_EQ(messageOf(options),
              std::string("'--comm ") + name +
                  "' is for processes that mpirun started, and it did not "
                  "start this one; start it with 'mpirun -n N' for a mesh of N "
                  "ranks, or leave out '--comm'");
  }
}

TEST_F(WorldChoice, PluginThatDoesNotOpenIsNamed) {
  launch("0", "4");
  std::string directory =
      testing::TempDir() + "meshc-no-plugin-" + std::to_string(getpid());
  std::string file = directory + "/libmeshc_mpi.so";
  std::filesystem::create_directory(directory);
  std::ofstream(file) << "broken";
  setenv("MESHC_PLUGIN_PATH", directory.c_str(), 1);
  std::string message = messageOf({});
  EXPECT_NE(message.find("cannot open the MPI plugin"), std::string::npos);
  EXPECT_NE(message.find(file), std::string::npos) << message;
  std::filesystem::remove_all(directory);
}

TEST_F(WorldChoice, LaunchersAreKnown) {
  EXPECT_FALSE(findMpiLaunch().launched);
  setenv("PMI_RANK", "2", 1);
  setenv("PMI_SIZE", "3", 1);
  EXPECT_TRUE(findMpiLaunch().launched);
  EXPECT_EQ(findMpiLaunch().rank, 2);
  EXPECT_EQ(findMpiLaunch().size, 3);
  EXPECT_EQ(findMpiLaunch().localRank, -1);
  EXPECT_EQ(findMpiLaunch().localSize, 0);
  setenv("OMPI_COMM_WORLD_LOCAL_RANK", "1", 1);
  setenv("OMPI_COMM_WORLD_LOCAL_SIZE", "2", 1);
  EXPECT_EQ(findMpiLaunch().localRank, 1);
  EXPECT_EQ(findMpiLaunch().localSize, 2);
}

/// As srun sets them for one of four tasks on two nodes.
void setSlurm() {
  setenv("SLURM_PROCID", "3", 1);
  setenv("SLURM_STEP_NUM_TASKS", "4", 1);
  setenv("SLURM_STEP_TASKS_PER_NODE", "2(x1),2", 1);
  setenv("SLURM_NODEID", "1", 1);
  setenv("SLURM_LOCALID", "1", 1);
  setenv("SLURM_CPUS_ON_NODE", "8", 1);
}

TEST_F(WorldChoice, SlurmSaysWhatPmixDoesNot) {
  setSlurm();
  setenv("PMIX_RANK", "3", 1);
  MpiLaunch launch = findMpiLaunch();
  EXPECT_TRUE(launch.launched);
  EXPECT_EQ(launch.rank, 3);
  EXPECT_EQ(launch.size, 4);
  EXPECT_EQ(launch.localRank, 1);
  EXPECT_EQ(launch.localSize, 2);
  EXPECT_EQ(launch.coresOfJob, 8);
  EXPECT_EQ(launch.obstacle, "");
  // mpirun in a job: Slurm's variables are those of mpirun's own daemons.
  setenv("OMPI_COMM_WORLD_RANK", "5", 1);
  setenv("OMPI_COMM_WORLD_SIZE", "8", 1);
  setenv("OMPI_COMM_WORLD_LOCAL_RANK", "0", 1);
  setenv("OMPI_COMM_WORLD_LOCAL_SIZE", "1", 1);
  launch = findMpiLaunch();
  EXPECT_EQ(launch.rank, 5);
  EXPECT_EQ(launch.size, 8);
  EXPECT_EQ(launch.localSize, 1);
  EXPECT_EQ(launch.coresOfJob, 0);
}

TEST_F(WorldChoice, TasksThatCannotMeetAreRefused) {
  setSlurm();
  const std::string end = ", through which Open MPI connects them: each would "
                          "be a run of its own; start them with 'srun "
                          "--mpi=pmix', or give '--comm threads' if each shall "
                          "be a run of its own";
  EXPECT_EQ(findMpiLaunch().rank, 3);
  EXPECT_EQ(messageOf({}), "srun started 4 processes without PMIx" + end);
  setenv("PMI_RANK", "3", 1);
  EXPECT_EQ(messageOf({}),
            "srun started 4 processes with PMI and without PMIx" + end);
  WorldOptions threads;
  threads.kind = CommunicatorKind::Threads;
  threads.ranks = 2;
  EXPECT_EQ(openWorld(threads)->size(), 2);
}

TEST_F(WorldChoice, ASingleTaskIsARunOfThreads) {
  setSlurm();
  setenv("SLURM_PROCID", "0", 1);
  setenv("SLURM_STEP_NUM_TASKS", "1", 1);
  EXPECT_FALSE(findMpiLaunch().launched);
  setenv("PMIX_RANK", "0", 1);
  EXPECT_FALSE(findMpiLaunch().launched);
  unsetenv("PMIX_RANK");
  EXPECT_STREQ(openWorld({})->kind(), "threads");
  // A batch script has a rank, though it is no step.
  unsetenv("SLURM_STEP_NUM_TASKS");
  setenv("SLURM_NTASKS", "4", 1);
  EXPECT_FALSE(findMpiLaunch().launched);
}

TEST_F(WorldChoice, OtherLaunchersAreNamed) {
  setenv("PMI_RANK", "1", 1);
  setenv("PMI_SIZE", "2", 1);
  std::string message = messageOf({});
  EXPECT_NE(message.find("MPICH's launcher started 2 processes with PMI"),
            std::string::npos)
      << message;
  EXPECT_NE(message.find("'mpirun.openmpi'"), std::string::npos);
  setenv("PALS_RANKID", "1", 1);
  EXPECT_NE(messageOf({}).find("start them with 'mpiexec --pmi=pmix'"),
            std::string::npos);
  // Open MPI connects processes through Flux's interface.
  setenv("FLUX_TASK_RANK", "1", 1);
  setenv("FLUX_JOB_SIZE", "2", 1);
  EXPECT_EQ(findMpiLaunch().obstacle, "");
  EXPECT_TRUE(findMpiLaunch().launched);
}

TEST_F(WorldChoice, TimeoutComesFromTheEnvironment) {
  setenv("MESHC_TIMEOUT", "1.5", 1);
  EXPECT_EQ(withEnvironment({}).timeoutSeconds, 1.5);
  setenv("MESHC_TIMEOUT", "soon", 1);
  EXPECT_THROW(withEnvironment({}), Failure);
}

TEST_F(WorldChoice, KindsHaveNames) {
  EXPECT_EQ(parseCommunicatorKind("shm"), CommunicatorKind::Shm);
  EXPECT_THROW(parseCommunicatorKind("nccl"), Failure);
}

} // namespace
