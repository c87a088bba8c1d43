//===- Progress.cpp - how far a training run is ---------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Monitor/Progress.h"

#include "runtime/Base/StandardStreams.h"
#include "runtime/Comm/World.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

using namespace meshc::runtime;

static double seconds(std::chrono::steady_clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

/// The standard output of the parent process.
static std::string parentOutput() {
  return "/proc/" + std::to_string(getppid()) + "/fd/1";
}

/// Whether people watch stdout. mpirun gives its processes a pseudo-terminal
/// whether or not it has one itself, so under mpirun its own stdout counts.
static bool isWatched() {
  if (!isatty(STDOUT_FILENO))
    return false;
  if (!findMpiLaunch().launched)
    return true;
  char target[64] = "";
  return readlink(parentOutput().c_str(), target, sizeof(target) - 1) > 0 &&
         (std::strncmp(target, "/dev/pts/", 9) == 0 ||
          std::strncmp(target, "/dev/tty", 8) == 0);
}

/// Current columns of the terminal that people watch. Queried for each line, so
/// that the window size may change. COLUMNS counts if the terminal does not
/// know, and 80 if nobody does.
static size_t terminalWidth() {
  struct winsize size = {};
  if (findMpiLaunch().launched) {
    int terminal =
        open(parentOutput().c_str(), O_RDONLY | O_NOCTTY | O_CLOEXEC);
    if (terminal >= 0) {
      ioctl(terminal, TIOCGWINSZ, &size);
      close(terminal);
    }
  } else {
    ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
  }
  if (size.ws_col > 0)
    return size.ws_col;
  const char *columns = std::getenv("COLUMNS");
  int width = columns ? std::atoi(columns) : 0;
  return width > 0 ? static_cast<size_t>(width) : 80;
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

/// "4.8", "0.12", "1234": three significant digits.
static std::string formatMilliseconds(double seconds) {
  double value = seconds * 1e3;
  char text[40];
  std::snprintf(text, sizeof(text), "%.*f",
                value < 1     ? 3
                : value < 10  ? 2
                : value < 100 ? 1
                              : 0,
                value);
  return text;
}

/// "104648", "12.3", "0.46"; or in short "105k"
static std::string formatRate(double rate, bool isShort) {
  char text[64];
  if (isShort && rate >= 1e7)
    std::snprintf(text, sizeof(text), "%.0fM", rate / 1e6);
  else if (isShort && rate >= 1e4)
    std::snprintf(text, sizeof(text), "%.0fk", rate / 1e3);
  else
    std::snprintf(text, sizeof(text), "%.*f",
                  rate < 9.995   ? 2
                  : rate < 99.95 ? 1
                                 : 0,
                  rate);
  return text;
}

namespace {
/// A part of a line, and how early it is dropped if space is short: the highest
/// first, 0 never.
struct Field {
  std::string text;
  int dispensable;
};
} // namespace

static std::vector<Field> makeFields(const ProgressStatus &status,
                                     bool isShort) {
  std::vector<Field> fields;
  char text[400];
  fields.push_back({(isShort ? "" : "step ") + std::to_string(status.done) +
                        '/' + std::to_string(status.total),
                    0});
  for (size_t i = 0; i < status.values.size(); ++i) {
    double value = status.values[i];
    std::snprintf(text, sizeof(text), " %.4f", value);
    fields.push_back({status.names[i] + (std::isnan(value) ? " nan" : text),
                      i == 0 ? 1 : 10 + static_cast<int>(i)});
  }
  fields.push_back(
      {formatMilliseconds(status.stepSeconds) + (isShort ? " ms" : " ms/step"),
       3});
  fields.push_back({formatRate(status.examplesPerSecond, isShort) +
                        (isShort ? " ex/s" : " examples/s"),
                    4});
  if (status.communication) {
    std::snprintf(text, sizeof(text), "comm %.0f%%",
                  100 * *status.communication);
    fields.push_back({text, 5});
  }
  if (status.skipped)
    fields.push_back({"skipped " + std::to_string(status.skipped), 6});
  fields.push_back({(status.done == status.total ? "took " : "ETA ") +
                        formatTime(status.seconds),
                    2});
  return fields;
}

static std::string join(const std::vector<Field> &fields) {
  std::string line;
  for (const Field &field : fields)
    line += (line.empty() ? "" : "  ") + field.text;
  return line;
}

/// A bar of `width` ≥ 3 characters.
static std::string formatBar(const ProgressStatus &status, size_t width) {
  auto places = static_cast<double>(width - 2);
  auto filled = static_cast<size_t>(
      places * static_cast<double>(status.done) /
      static_cast<double>(std::max<int64_t>(status.total, 1)));
  filled = std::min(filled, width - 2);
  return "[" + std::string(filled, '=') + std::string(width - 2 - filled, ' ') +
         "]";
}

std::string meshc::runtime::formatProgress(const ProgressStatus &status) {
  return join(makeFields(status, /*isShort=*/false));
}

std::string meshc::runtime::formatProgress(const ProgressStatus &status,
                                           size_t width) {
  constexpr size_t smallestBar = 8, largestBar = 26;
  // The last column stays empty: some terminals wrap as soon as it is filled.
  const size_t room = std::max<size_t>(width, 2) - 1;
  std::string line = formatProgress(status);
  if (line.size() + 1 + smallestBar <= room)
    return formatBar(status, std::min(room - line.size() - 1, largestBar)) +
           ' ' + line;
  if (line.size() <= room)
    return line;
  std::vector<Field> fields = makeFields(status, /*isShort=*/true);
  for (line = join(fields); line.size() > room; line = join(fields)) {
    auto least = std::max_element(fields.begin(), fields.end(),
                                  [](const Field &a, const Field &b) {
                                    return a.dispensable < b.dispensable;
                                  });
    if (least->dispensable == 0)
      return line.substr(0, room);
    fields.erase(least);
  }
  return line;
}

Progress::Progress(int64_t first, int64_t total, int64_t batch,
                   int64_t lineEvery, std::optional<double> communication,
                   bool silent)
    : first(first), total(total), batch(batch), lineEvery(lineEvery),
      silent(silent), terminal(!silent && isWatched()), begin(Clock::now()),
      shown(begin), shownSteps(first),
      shownCommunication(communication.value_or(0)) {}

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

void Progress::afterStep(int64_t done, const std::vector<std::string> &names,
                         const std::vector<float> &values,
                         std::optional<double> communication, int64_t skipped) {
  if (silent)
    return;
  Clock::time_point now = Clock::now();
  if (!isDue(done, now))
    return;
  auto steps = static_cast<double>(done - shownSteps);
  double time = std::max(seconds(now - shown), 1e-9);
  ProgressStatus status;
  status.done = done;
  status.total = total;
  status.names = names;
  status.values = values;
  status.stepSeconds = time / std::max(steps, 1.0);
  status.examplesPerSecond = steps * static_cast<double>(batch) / time;
  if (communication)
    status.communication =
        std::clamp((*communication - shownCommunication) / time, 0.0, 1.0);
  status.skipped = skipped;
  status.seconds = seconds(now - begin);
  if (done != total)
    status.seconds *=
        static_cast<double>(total - done) / static_cast<double>(done - first);
  if (terminal)
    printRaw("\r" + formatProgress(status, terminalWidth()) + "\033[K");
  else
    printOut(formatProgress(status) + '\n');
  lineOpen = terminal;
  if (done == total)
    endLine();
  shown = now;
  shownSteps = done;
  shownCommunication = communication.value_or(0);
}

void Progress::endLine() {
  if (lineOpen)
    printOut("\n");
  lineOpen = false;
}
