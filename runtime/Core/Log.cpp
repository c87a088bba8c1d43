//===- Log.cpp - metrics as JSON lines ------------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Core/Log.h"

#include "runtime/Core/Failure.h"
#include "runtime/Core/StandardStreams.h"

#include <cerrno>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

using namespace meshc::runtime;

Log::Log(const std::string &path, bool append) : path(path) {
  if (path.empty())
    return;
  file = std::fopen(path.c_str(), append ? "ae" : "we");
  if (!file)
    throw Failure(ExitCode::Usage,
                  "log file '" + path +
                      "' cannot be opened: " + std::strerror(errno));
  line.reserve(512);
}

Log::~Log() {
  if (file)
    std::fclose(file);
}

void Log::begin(int64_t step) { line = "{\"step\":" + std::to_string(step); }

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
