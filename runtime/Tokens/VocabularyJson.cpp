//===- VocabularyJson.cpp - vocabularies in JSON --------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Tokens/VocabularyJson.h"

#include "runtime/Base/Failure.h"

#include <algorithm>

using namespace meshc::runtime;
using nlohmann::json;

/// "ends early" or "is no JSON text from line 2, column 7 on". `byte` counts
/// from 1 and may be behind the end.
static std::string describeDamage(const char *text, size_t size, size_t byte) {
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

json meshc::runtime::parseVocabulary(const Bytes &file, const std::string &path,
                                     const std::string &expected) {
  const auto *text = reinterpret_cast<const char *>(file.data());
  std::string damage;
  json content;
  try {
    content = json::parse(text, text + file.size());
  } catch (const json::parse_error &error) {
    damage = describeDamage(text, file.size(), error.byte);
  } catch (const json::exception &) { // a number that no type can hold
    damage = "has a number that is too large";
  }
  file.checkIntact();
  if (!damage.empty())
    throw Failure(ExitCode::Data,
                  "vocabulary '" + path + "' " + damage + "; " + expected);
  return content;
}
