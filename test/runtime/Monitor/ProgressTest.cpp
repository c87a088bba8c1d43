//===- ProgressTest.cpp - tests of lines on the screen --------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Monitor/Progress.h"
#include "test/runtime/Commands/Subprocess.h"

#include <cmath>
#include <pty.h>
#include <regex>
#include <sys/ioctl.h>

using namespace meshc::test;
using namespace meshc::runtime;

static ProgressStatus makeStatus() {
  ProgressStatus status;
  status.done = 420;
  status.total = 1200;
  status.epoch = 4;
  status.epochs = 10;
  status.names = {"loss", "accuracy"};
  status.values = {0.3846f, 0.844f};
  status.stepSeconds = 0.004779;
  status.examplesPerSecond = 104648;
  status.communication = 0.118;
  status.seconds = 3.7;
  return status;
}

TEST(Progress, plainLinesSayEverything) {
  ProgressStatus status = makeStatus();
  EXPECT_EQ(formatProgress(status),
            "step 420/1200  epoch 4/10  loss 0.38460  accuracy 0.84400  4.78 "
            "ms/step  104648 examples/s  comm 12%  ETA 0:04");
  status.communication.reset();
  status.epoch = 0;
  status.skipped = 3;
  status.done = 1200;
  EXPECT_EQ(formatProgress(status),
            "step 1200/1200  loss 0.38460  accuracy 0.84400  4.78 ms/step  "
            "104648 examples/s  skipped 3  took 0:04");
}

TEST(Progress, lowRatesHaveThreeDigits) {
  ProgressStatus status = makeStatus();
  for (auto [rate, text] :
       std::vector<std::pair<double, std::string>>{{0.0123, "0.01"},
                                                   {0.456, "0.46"},
                                                   {9.99, "9.99"},
                                                   {9.996, "10.0"},
                                                   {12.34, "12.3"},
                                                   {99.96, "100"},
                                                   {123.4, "123"},
                                                   {0, "0.00"}}) {
    status.examplesPerSecond = rate;
    std::string wanted = "  " + text + " examples/s  ";
    EXPECT_NE(formatProgress(status).find(wanted), std::string::npos)
        << formatProgress(status);
  }
}

TEST(Progress, smallAndLargeLossesHaveFiveDigits) {
  ProgressStatus status = makeStatus();
  status.values = {1e-6f, 7640850432.0f};
  EXPECT_NE(
      formatProgress(status).find("  loss 1.0000e-06  accuracy 7.6409e+09  "),
      std::string::npos)
      << formatProgress(status);
}

TEST(Progress, countsEpochs) {
  // 4 steps of 30 examples are an epoch of 100 and 20 of the next.
  TrainingPlan plan{0, 7, 30, 100, 0};
  EXPECT_EQ(plan.epochOf(1), 1);
  EXPECT_EQ(plan.epochOf(3), 1);
  EXPECT_EQ(plan.epochOf(4), 2);
  EXPECT_EQ(plan.epochOf(7), 3);
  // A resumed run counts from where it begins.
  EXPECT_EQ((TrainingPlan{10, 20, 50, 100, 500}.epochOf(11)), 6);
  EXPECT_EQ((TrainingPlan{10, 20, 50, 100, 500}.epochOf(12)), 6);
  EXPECT_EQ((TrainingPlan{10, 20, 50, 100, 500}.epochOf(13)), 7);
  EXPECT_EQ((TrainingPlan{0, 7, 30, 0, 0}.epochOf(7)), 0);
}

/// Whatever the sign bit of a NaN, which is set on x86.
TEST(Progress, nanHasNoSign) {
  ProgressStatus status = makeStatus();
  status.values = {-std::nanf(""), std::nanf("")};
  EXPECT_EQ(formatProgress(status).rfind(
                "step 420/1200  epoch 4/10  loss nan  accuracy nan  4.78 "
                "ms/step",
                0),
            0u)
      << formatProgress(status);
}

TEST(Progress, fitsEveryWidth) {
  ProgressStatus status = makeStatus();
  status.skipped = 12;
  for (int metrics = 0; metrics < 6; ++metrics) {
    for (size_t width = 1; width < 200; ++width) {
      std::string line = formatProgress(status, width);
      EXPECT_LE(line.size(), std::max<size_t>(width, 2) - 1) << line;
      EXPECT_FALSE(line.empty());
    }
    status.names.push_back("metric_" + std::to_string(metrics));
    status.values.push_back(-1234.5f);
  }
}

TEST(Progress, leavesOutTheLeastImportantFirst) {
  ProgressStatus status = makeStatus();
  EXPECT_EQ(formatProgress(status, 120),
            "[==    ] step 420/1200  epoch 4/10  loss 0.38460  accuracy "
            "0.84400  4.78 ms/step  104648 examples/s  comm 12%  ETA 0:04");
  EXPECT_EQ(
      formatProgress(status, 110),
      "[=====          ] step 420/1200  epoch 4/10  loss 0.38460  accuracy "
      "0.84400  4.78 ms/step  comm 12%  ETA 0:04");
  // At 80 columns, the bar and all metrics are there.
  EXPECT_EQ(
      formatProgress(status, 80),
      "[====          ] 420/1200  epoch 4/10  loss 0.38460  accuracy 0.84400  "
      "ETA 0:04");
  EXPECT_EQ(formatProgress(status, 60),
            "[==    ] 420/1200  loss 0.38460  accuracy 0.84400  ETA 0:04");
  EXPECT_EQ(formatProgress(status, 52),
            "420/1200  loss 0.38460  accuracy 0.84400  ETA 0:04");
  EXPECT_EQ(formatProgress(status, 42), "420/1200  loss 0.38460  ETA 0:04");
  EXPECT_EQ(formatProgress(status, 12), "420/1200");
  EXPECT_EQ(formatProgress(status, 5), "420/");
}

namespace {
/// A program on its own terminal.
class Terminal {
public:
  Terminal(const std::string &command, unsigned short columns) {
    struct winsize size = {24, columns, 0, 0};
    child = forkpty(&master, nullptr, nullptr, &size);
    if (child == 0) {
      execl("/bin/sh", "sh", "-c", ("exec " + command).c_str(), nullptr);
      _exit(127);
    }
  }
  ~Terminal() { close(master); }

  void resize(unsigned short columns) const {
    struct winsize size = {24, columns, 0, 0};
    ioctl(master, TIOCSWINSZ, &size);
  }
  /// The output until `part` has appeared `count` times; all of it if the
  /// program ends.
  std::string readUntil(const std::string &part, size_t count) const {
    std::string text;
    char buffer[4096];
    while (count > 0) {
      ssize_t size = read(master, buffer, sizeof(buffer));
      if (size <= 0)
        break;
      for (ssize_t i = 0; i < size; ++i) {
        text += buffer[i];
        if (text.size() >= part.size() &&
            text.compare(text.size() - part.size(), part.size(), part) == 0 &&
            count > 0)
          --count;
      }
    }
    return text;
  }
  void interrupt() const { kill(child, SIGINT); }
  /// Reads the rest, without which the program could not write it.
  int wait() const {
    char buffer[4096];
    while (read(master, buffer, sizeof(buffer)) > 0) {
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

private:
  int master = -1;
  pid_t child;
};

/// The longest of the lines that were drawn over one another.
size_t longestDrawn(const std::string &text) {
  static const std::regex drawn("\r([^\r\n\033]*)\033\\[K");
  size_t longest = 0;
  for (std::sregex_iterator i(text.begin(), text.end(), drawn), end; i != end;
       ++i)
    longest = std::max(longest, static_cast<size_t>((*i)[1].length()));
  return longest;
}
} // namespace

TEST(Progress, followsTheSizeOfTheTerminal) {
  Folder folder;
  Terminal terminal("env LINE_SLEEP=2 " + line("2x2") +
                        " train --steps 1000000" + writeLineData(folder),
                    60);
  std::string narrow = terminal.readUntil("\033[K", 4);
  EXPECT_LE(longestDrawn(narrow), 59u) << narrow;
  EXPECT_GT(longestDrawn(narrow), 20u) << narrow;
  terminal.resize(130);
  // One line may have been in progress.
  std::string wide = terminal.readUntil("\033[K", 4);
  EXPECT_GT(longestDrawn(wide), 80u) << wide;
  EXPECT_LE(longestDrawn(wide), 129u) << wide;
  expectHas(wide, " ms/step");
  expectHas(wide, "comm ");
  terminal.resize(30);
  terminal.readUntil("\033[K", 2);
  EXPECT_LE(longestDrawn(terminal.readUntil("\033[K", 3)), 29u);
  // One line is drawn again and again: no other begins.
  EXPECT_EQ(std::count(wide.begin(), wide.end(), '\n'), 0);
  terminal.interrupt();
  EXPECT_EQ(terminal.wait(), 130);
}
