//===- KeyedNumber.cpp - numbers in the system's text files ---------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Base/KeyedNumber.h"

#include <cstdlib>
#include <fstream>

using namespace meshc::runtime;

std::optional<int64_t> meshc::runtime::readKeyedNumber(const std::string &path,
                                                       const std::string &key) {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line))
    if (line.compare(0, key.size(), key) == 0 && line.size() > key.size() &&
        (line[key.size()] == ':' || line[key.size()] == ' '))
      return std::strtoll(line.c_str() + key.size() + 1, nullptr, 10);
  return std::nullopt;
}
