//===- InputLimits.cpp - the numbers that inputs take ---------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Data/InputLimits.h"

#include "runtime/Base/TensorBlock.h"

#include <cstring>
#include <nlohmann/json.hpp>

using namespace meshc::runtime;

std::map<std::string, InputLimits>
meshc::runtime::readLimits(const MeshcProgram &program) {
  using nlohmann::json;
  std::map<std::string, InputLimits> limits;
  json report = json::parse(program.manifest ? program.manifest : "{}", nullptr,
                            /*allow_exceptions=*/false);
  if (!report.is_object())
    return limits;
  for (auto [key, member] : {std::pair("targets", &InputLimits::classes),
                             std::pair("indices", &InputLimits::indices)})
    if (report[key].is_object())
      for (const auto &[name, size] : report[key].items())
        if (size.is_number_integer())
          limits[name].*member = size.get<int64_t>();
  if (report["ignored"].is_object())
    for (const auto &[name, number] : report["ignored"].items())
      if (number.is_number_integer())
        limits[name].ignored = number.get<int64_t>();
  return limits;
}

/// Replaces those of `count` numbers.
static void replaceBadTargets(const InputLimits &limits, char *block,
                              int64_t count) {
  if (limits.classes == 0)
    return;
  for (int64_t i = 0; i < count; ++i) {
    int32_t number = 0;
    char *at = block + i * static_cast<int64_t>(sizeof(number));
    std::memcpy(&number, at, sizeof(number));
    if ((number < 0 || number >= limits.classes) && number != limits.ignored)
      std::memset(at, 0, sizeof(number));
  }
}

void meshc::runtime::replaceBadTargets(
    const std::map<std::string, InputLimits> &limits,
    const std::vector<std::pair<const MeshcTensor *, char *>> &blocks) {
  for (const auto &[input, block] : blocks)
    if (auto known = limits.find(input->name); known != limits.end())
      ::replaceBadTargets(known->second, block, localElements(*input));
}
