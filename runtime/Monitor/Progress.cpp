//===- Progress.cpp - how far a training run is ---------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Monitor/Progress.h"

#include "runtime/Base/Figure.h"
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

/// "104648", "12.3", "0.46"
static std::string formatRate(double rate) {
  char text[400];
  std::snprintf(text, sizeof(text), "%.*f",
                rate < 9.995   ? 2
                : rate < 99.95 ? 1
                               : 0,
                rate);
  return text;
}

namespace {
/// What is left out of a line if space is short, the highest first. Metrics
/// other than the loss lie between Eta and Bar.
enum Importance {
  Always = 0,
  Loss,
  Eta,
  FirstMetric,
  LastMetric = 90,
  Bar,
  Epoch,
  Skipped,
  StepTime,
  LongWords,
  Communication,
  Rate
};
/// A part of a line.
struct Field {
  std::string text;
  int importance;
};
} // namespace

static std::vector<Field> makeFields(const ProgressStatus &status,
                                     bool isShort) {
  std::vector<Field> fields;
  fields.push_back({(isShort ? "" : "step ") + std::to_string(status.done) +
                        '/' + std::to_string(status.total),
                    Always});
  if (status.epoch > 0)
    fields.push_back({"epoch " + std::to_string(status.epoch) + '/' +
                          std::to_string(status.epochs),
                      Epoch});
  for (size_t i = 0; i < status.values.size(); ++i) {
    int place = FirstMetric + static_cast<int>(i) - 1;
    fields.push_back({status.names[i] + ' ' + formatFigure(status.values[i]),
                      i == 0 ? Loss : std::min<int>(place, LastMetric)});
  }
  fields.push_back(
      {formatMilliseconds(status.stepSeconds) + (isShort ? " ms" : " ms/step"),
       StepTime});
  fields.push_back(
      {formatRate(status.examplesPerSecond) + " examples/s", Rate});
  if (status.communication)
    fields.push_back(
        {"comm " + std::to_string(std::lround(100 * *status.communication)) +
             '%',
         Communication});
  if (status.skipped)
    fields.push_back({"skipped " + std::to_string(status.skipped), Skipped});
  fields.push_back({(status.done == status.total ? "took " : "ETA ") +
                        formatTime(status.seconds),
                    Eta});
  return fields;
}

/// The fields of at most that importance.
static std::string join(const std::vector<Field> &fields, int least) {
  std::string line;
  for (const Field &field : fields)
    if (field.importance <= least)
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
  return join(makeFields(status, /*isShort=*/false), Rate);
}

std::string meshc::runtime::formatProgress(const ProgressStatus &status,
                                           size_t width) {
  constexpr size_t smallestBar = 8, largestBar = 26;
  // The last column stays empty: some terminals wrap as soon as it is filled.
  const size_t room = std::max<size_t>(width, 2) - 1;
  const std::vector<Field> full = makeFields(status, /*isShort=*/false),
                           brief = makeFields(status, /*isShort=*/true);
  std::string line;
  for (int shown = Rate; shown >= Always; --shown) {
    line = join(shown >= LongWords ? full : brief, shown);
    size_t bar = shown >= Bar ? smallestBar + 1 : 0;
    if (line.size() + bar > room)
      continue;
    return bar ? formatBar(status,
                           std::min(room - line.size() - 1, largestBar)) +
                     ' ' + line
               : line;
  }
  return line.substr(0, room);
}

int64_t TrainingPlan::epochOf(int64_t step) const {
  if (examples <= 0)
    return 0;
  return (position + (step - first) * batch - 1) / examples + 1;
}

Progress::Progress(const TrainingPlan &plan, int64_t lineEvery,
                   std::optional<double> communication, bool silent)
    : plan(plan), lineEvery(lineEvery), silent(silent),
      terminal(!silent && isWatched()), begin(Clock::now()), shown(begin),
      shownSteps(plan.first), shownCommunication(communication.value_or(0)) {}

double Progress::elapsed() const { return seconds(Clock::now() - begin); }

void Progress::leaveOut(double time, double communication) {
  shown += std::chrono::duration_cast<Clock::duration>(
      std::chrono::duration<double>(time));
  shownCommunication += communication;
}

bool Progress::isDue(int64_t done, Clock::time_point now) const {
  if (done == plan.total)
    return true;
  if (terminal)
    return now - shown > std::chrono::milliseconds(100);
  if (lineEvery)
    return done % lineEvery == 0;
  return done == plan.first + 1 || now - shown > std::chrono::seconds(2);
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
  status.total = plan.total;
  status.epoch = plan.epochOf(done);
  status.epochs = plan.epochOf(plan.total);
  status.names = names;
  status.values = values;
  status.stepSeconds = time / std::max(steps, 1.0);
  status.examplesPerSecond = steps * static_cast<double>(plan.batch) / time;
  if (communication)
    status.communication =
        std::clamp((*communication - shownCommunication) / time, 0.0, 1.0);
  status.skipped = skipped;
  status.seconds = seconds(now - begin);
  if (done != plan.total)
    status.seconds *= static_cast<double>(plan.total - done) /
                      static_cast<double>(done - plan.first);
  if (terminal)
    printRaw("\r" + formatProgress(status, terminalWidth()) + "\033[K");
  else
    printOut(formatProgress(status) + '\n');
  lineOpen = terminal;
  if (done == plan.total)
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
