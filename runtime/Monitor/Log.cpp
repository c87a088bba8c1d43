//===- Log.cpp - metrics as JSON lines ------------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Monitor/Log.h"

#include "runtime/Base/Failure.h"
#include "runtime/Base/StandardStreams.h"
#include "runtime/Monitor/OutputFile.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

using namespace meshc::runtime;

Log::Log(const std::string &path, std::optional<int64_t> resumeAt)
    : path(path) {
  if (path.empty())
    return;
  file = openOutputFile(path, "log file", /*appends=*/resumeAt.has_value());
  line.reserve(512);
  if (resumeAt)
    cutAfter(*resumeAt);
}

/// The step of a line that begins like those of end(), or -1.
static int64_t stepOf(const char *text) {
  long long step = -1;
  return std::strncmp(text, logBeginning, sizeof(logBeginning) - 1) == 0 &&
                 std::sscanf(text + sizeof(logBeginning) - 1, "%lld", &step) ==
                     1
             ? step
             : -1;
}

/// Removes lines that a run wrote after `step`. One system call truncates the
/// file, so that a killed program leaves either all lines or only those to
/// keep. A file that cannot be truncated (a pipe) is left unchanged.
void Log::cutAfter(int64_t step) {
  struct stat status = {};
  if (fstat(fileno(file), &status) != 0 || !S_ISREG(status.st_mode))
    return;
  char *text = nullptr;
  size_t room = 0;
  off_t end = 0;
  for (ssize_t size; (size = getline(&text, &room, file)) > 0; end += size) {
    int64_t lineStep = stepOf(text);
    bool unfinished = text[size - 1] != '\n' && text[0] == '{';
    if (lineStep > step || unfinished)
      break;
    if (lineStep == step)
      linesAtResume.emplace_back(text);
  }
  std::free(text);
  std::fseek(file, 0, SEEK_END); // switch from reading to writing
  if (end < status.st_size && ftruncate(fileno(file), end) != 0)
    throw Failure(ExitCode::Usage,
                  "log file '" + path + "' cannot be cut after step " +
                      std::to_string(step) + ": " + std::strerror(errno));
}

bool Log::hasAtResume(const std::string &name) const {
  std::string key = ',' + nlohmann::json(name).dump() + ':';
  return std::any_of(linesAtResume.begin(), linesAtResume.end(),
                     [&](const std::string &text) {
                       return text.find(key) != std::string::npos;
                     });
}

Log::~Log() {
  if (file)
    std::fclose(file);
}

void Log::begin(int64_t step) { line = logBeginning + std::to_string(step); }

void Log::add(const std::string &name, double value) {
  char number[40] = "null";
  if (std::isfinite(value))
    std::snprintf(number, sizeof(number), "%.9g", value);
  line += ',' + nlohmann::json(name).dump() + ':' + number;
}

void Log::end() {
  if (!file)
    return;
  line += "}\n";
  bool written = std::fwrite(line.data(), 1, line.size(), file) == line.size();
  if ((std::fflush(file) != 0 || !written) && !complained) {
    complained = true;
    printError("warning: log file '" + path +
               "' cannot be written: " + std::strerror(errno) + '\n');
  }
}
