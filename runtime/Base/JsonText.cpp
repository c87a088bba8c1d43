//===- JsonText.cpp - JSON in files ---------------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Base/JsonText.h"

#include <algorithm>

using namespace meshc::runtime;
using nlohmann::json;

std::string meshc::runtime::describeJsonDamage(const char *text, size_t size,
                                               size_t byte) {
  if (size == 0)
    return "is empty";
  if (byte > size)
    return "ends early: its JSON text is not complete";
  const char *at = text + std::max<size_t>(byte, 1) - 1;
  const auto line = std::count(text, at, '\n') + 1;
  const char *begin = at;
  while (begin != text && begin[-1] != '\n')
    --begin;
  return "is no JSON text from line " + std::to_string(line) + ", column " +
         std::to_string(at - begin + 1) + " on";
}

json meshc::runtime::parseJson(const char *text, size_t size,
                               std::string &damage) {
  const char *nul = std::find(text, text + size, '\0');
  if (nul != text + size) {
    damage =
        describeJsonDamage(text, size, static_cast<size_t>(nul - text) + 1);
    return {};
  }
  try {
    return json::parse(text, text + size);
  } catch (const json::parse_error &error) {
    damage = describeJsonDamage(text, size, error.byte);
  } catch (const json::exception &) { // a number that no type can hold
    damage = "has a number that is too large";
  }
  return {};
}
