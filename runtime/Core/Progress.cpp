//===- Progress.cpp - how far a training run is ---------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Core/Progress.h"

#include "runtime/Comm/World.h"
#include "runtime/Core/StandardStreams.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <unistd.h>

using namespace meshc::runtime;

static double seconds(std::chrono::steady_clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

/// Whether people watch stdout. mpirun gives its processes a pseudo-terminal
/// whether or not it has one itself, so under it its own stdout counts.
static bool isWatched() {
  if (!isatty(STDOUT_FILENO))
    return false;
  if (!findMpiLaunch().launched)
    return true;
  std::string link = "/proc/" + std::to_string(getppid()) + "/fd/1";
  char target[64] = "";
  return readlink(link.c_str(), target, sizeof(target) - 1) > 0 &&
         (std::strncmp(target, "/dev/pts/", 9) == 0 ||
          std::strncmp(target, "/dev/tty", 8) == 0);
}

/// "1:02:03", "2:03"
static std::string formatTime(double time) {
  auto whole = static_cast<long long>(std::min(time, 3.6e8) + 0.5);
  char text[32];
  if (whole >= 3600)
    std::snprintf(text, sizeof(text), "%lld:%02lld:%02lld", whole / 3600,
                  whole / 60 % 60, whole % 60);
  else
    std::snprintf(text, sizeof(text), "%lld:%02lld", whole / 60, whole % 60);
  return text;
}

Progress::Progress(int64_t first, int64_t total, int64_t batch,
                   int64_t lineEvery, bool silent)
    : first(first), total(total), batch(batch), lineEvery(lineEvery),
      silent(silent), terminal(!silent && isWatched()), begin(Clock::now()),
      shown(begin), shownSteps(first) {}

double Progress::elapsed() const { return seconds(Clock::now() - begin); }

bool Progress::isDue(int64_t done, Clock::time_point now) const {
  if (done == total)
    return true;
  if (terminal)
    return now - shown > std::chrono::milliseconds(100);
  if (lineEvery)
    return done % lineEvery == 0;
  return done == first + 1 || now - shown > std::chrono::seconds(2);
}

std::string Progress::bar(int64_t done) const {
  constexpr int64_t width = 24;
  auto filled = static_cast<size_t>(width * done / std::max<int64_t>(total, 1));
  return "[" + std::string(filled, '=') + std::string(width - filled, ' ') +
         "] ";
}

void Progress::afterStep(int64_t done, const std::vector<std::string> &names,
                         const std::vector<float> &values) {
  if (silent)
    return;
  Clock::time_point now = Clock::now();
  if (!isDue(done, now))
    return;
  std::string line = terminal ? "\r" + bar(done) : "";
  line += "step " + std::to_string(done) + '/' + std::to_string(total);
  char text[96];
  for (size_t i = 0; i < values.size(); ++i) {
    std::snprintf(text, sizeof(text), " %.4f", static_cast<double>(values[i]));
    line += "  " + names[i] + text;
  }
  double rate = static_cast<double>((done - shownSteps) * batch) /
                std::max(seconds(now - shown), 1e-9);
  double left = seconds(now - begin) / static_cast<double>(done - first) *
                static_cast<double>(total - done);
  std::snprintf(
      text, sizeof(text), "  %.0f examples/s  %s %s", rate,
      done == total ? "took" : "ETA",
      formatTime(done == total ? seconds(now - begin) : left).c_str());
  line += text;
  line += terminal ? "\033[K" : "\n";
  printOut(line);
  lineOpen = terminal;
  if (done == total)
    endLine();
  shown = now;
  shownSteps = done;
}

void Progress::endLine() {
  if (lineOpen)
    printOut("\n");
  lineOpen = false;
}
