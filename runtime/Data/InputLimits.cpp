//===- InputLimits.cpp - the numbers that inputs take ---------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Data/InputLimits.h"

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
