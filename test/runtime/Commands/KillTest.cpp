//===- KillTest.cpp - runs that are killed, and go on ---------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A chain is a run that is killed and started again, by the same command,
/// until it ends. Whenever it was killed, its newest checkpoint and all kept
/// generations are intact and of no earlier step than before, and the last
/// checkpoint is that of a run that was never killed, to the bit. A few kills
/// by default; test/kill/run does many:
///   MESHC_KILLS=N          kills at random times, in all
///   MESHC_KILL_STRIDE=N    each Nth of the events of KillPoint.cpp, N odd
///   MESHC_KILL_SEED=N      of the random times
///
//===----------------------------------------------------------------------===//
#include "Subprocess.h"

#include "runtime/Checkpoint/Checkpoint.h"
#include "runtime/Checkpoint/Checksums.h"
#include "runtime/Checkpoint/Generations.h"

#include <chrono>
#include <cmath>
#include <filesystem>
#include <random>

using namespace meshc::test;
using namespace meshc::runtime;
namespace fs = std::filesystem;

static long setting(const char *name, long otherwise) {
  const char *text = std::getenv(name);
  return text ? std::atol(text) : otherwise;
}

namespace {

struct Setting {
  const char *mesh, *options;
  int steps;
  bool keepsBest = false; ///< by evaluations after every step
};

const Setting settings[] = {
    {"1x1", "--save-every 2 --keep 3", 12},
    {"2x2", "--save-every 2 --keep 2", 8},
    {"1x1", "--save-every 3", 12},
    {"2x2", "--save-every 2 --keep 3 --save sync", 6},
    {"1x1", "--save-every 3", 8, true},
    {"2x2", "--save-every 2 --save sync", 5, true},
};

class Chain {
public:
  explicit Chain(const Setting &setting) : setting(setting) {
    EXPECT_EQ(run(command("plain", setting.steps)).code, 0);
    expected = readFile(folder.file("plain"));
    if (setting.keepsBest)
      expectedBest = readFile(folder.file("plain.best"));
  }

  /// Forgets the run.
  void begin() {
    for (const fs::directory_entry &entry :
         fs::directory_iterator(folder.file("")))
      if (entry.path().filename().string().rfind("c", 0) == 0)
        fs::remove(entry.path());
    step = -1;
    best = HUGE_VAL;
  }
  /// The command of the run; `environment` is set for it.
  std::string train(const std::string &environment) const {
    return "env KILL_PATH=" + folder.file("c") + " LD_PRELOAD=" + KILL_POINT +
           " " + environment + " " + command("c", setting.steps);
  }
  /// After a kill.
  void expectIntact() {
    const std::string file = folder.file("c");
    std::vector<int> generations = listGenerations(file);
    if (step >= 0) {
      ASSERT_FALSE(generations.empty());
    }
    int64_t before = INT64_MAX;
    for (int generation : generations) {
      int64_t its = -1;
      try {
        SafetensorsFile content(generationPath(file, generation));
        verifyFile(content);
        its = readRunState(content).step;
      } catch (const Failure &failure) {
        FAIL() << failure.what();
      }
      EXPECT_LE(its, before);
      before = its;
      if (generation != generations.front())
        continue;
      EXPECT_EQ(generation, 0); // FILE exists at any time
      EXPECT_GE(its, step);
      step = its;
    }
    expectBest();
  }
  /// The best checkpoint is complete, and stays the best.
  void expectBest() {
    const std::string file = folder.file("c.best");
    if (best < HUGE_VAL) {
      ASSERT_TRUE(fs::exists(file));
    }
    if (!fs::exists(file))
      return;
    try {
      SafetensorsFile content(file);
      verifyFile(content);
      const RunState state = readRunState(content);
      EXPECT_EQ(state.best.step, state.step);
      EXPECT_LE(state.best.value, best);
      best = state.best.value;
    } catch (const Failure &failure) {
      FAIL() << failure.what();
    }
  }
  /// After the end.
  void expectEnd() {
    EXPECT_TRUE(readFile(folder.file("c")) == expected);
    EXPECT_FALSE(fs::exists(folder.file("c.meshc-tmp")));
    if (setting.keepsBest) {
      EXPECT_TRUE(readFile(folder.file("c.best")) == expectedBest);
      EXPECT_FALSE(fs::exists(folder.file("c.best.meshc-tmp")));
    }
    expectIntact();
    EXPECT_EQ(step, setting.steps);
  }
  long countEvents() {
    begin();
    EXPECT_EQ(run(train("KILL_COUNT=" + folder.file("count"))).code, 0);
    return std::atol(readFile(folder.file("count")).c_str());
  }

private:
  std::string command(const std::string &name, int steps) const {
    return line(setting.mesh) + " train --quiet --seed 5 --resume=auto " +
           setting.options + " --steps " + std::to_string(steps) +
           " --checkpoint " + folder.file(name) + data +
           (setting.keepsBest
                ? " --keep-best error --eval-every 1 --eval-data "
                  "x=" +
                      folder.file("x.npy") +
                      " --eval-data target=" + folder.file("y.npy")
                : "");
  }

  const Setting &setting;
  Folder folder;
  std::string data = writeLineData(folder), expected, expectedBest;
  int64_t step = -1;      ///< of the newest checkpoint so far
  double best = HUGE_VAL; ///< of the best one
};

} // namespace

/// Before and after every call that touches a checkpoint.
TEST(Kill, atEveryCall) {
  const long stride = setting("MESHC_KILL_STRIDE", 41);
  long kills = 0, events = 0;
  for (const Setting &setting : settings) {
    Chain chain(setting);
    const long count = chain.countEvents();
    ASSERT_GT(count, 60);
    events += count;
    for (long at = kills % stride; at < count; at += stride) {
      chain.begin();
      Outcome outcome = run(chain.train("KILL_AT=" + std::to_string(at)));
      // Threads may reach a call in another order, and reach fewer.
      EXPECT_TRUE(outcome.code == 128 + SIGKILL || outcome.code == 0)
          << outcome.err;
      kills += outcome.code != 0;
      chain.expectIntact();
      outcome = run(chain.train(""));
      EXPECT_EQ(outcome.code, 0) << outcome.err;
      chain.expectEnd();
      if (HasFailure()) {
        FAIL() << "killed at event " << at << ", " << setting.options;
      }
    }
  }
  EXPECT_GE(kills, events / stride / 2);
  std::printf("%ld kills at %ld events\n", kills, events);
}

TEST(Kill, atRandomTimes) {
  const long wanted = setting("MESHC_KILLS", 24);
  const auto seed = static_cast<unsigned>(setting(
      "MESHC_KILL_SEED",
      std::chrono::system_clock::now().time_since_epoch().count() % 1000000));
  std::mt19937 random(seed);
  long kills = 0, chains = 0;
  std::printf("MESHC_KILL_SEED=%u\n", seed);
  for (size_t i = 0; kills < wanted; ++i) {
    Chain chain(settings[i % std::size(settings)]);
    chain.begin();
    // Longer each time: a slow machine, too, comes to a save and to the end.
    useconds_t most = 90000;
    for (bool ended = false; !ended; most += most / 8) {
      Process process(chain.train("LINE_SLEEP=8"));
      usleep(std::uniform_int_distribution<useconds_t>(0, most)(random));
      process.signal(SIGKILL);
      Outcome outcome = process.wait();
      ended = outcome.code == 0;
      EXPECT_TRUE(ended || outcome.code == 128 + SIGKILL) << outcome.err;
      kills += !ended;
      chain.expectIntact();
      if (HasFailure()) {
        FAIL() << "after " << kills << " kills";
      }
    }
    chain.expectEnd();
    ++chains;
  }
  std::printf("%ld kills in %ld chains\n", kills, chains);
}
