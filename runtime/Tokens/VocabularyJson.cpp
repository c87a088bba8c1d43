//===- VocabularyJson.cpp - vocabularies in JSON --------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Tokens/VocabularyJson.h"

#include "runtime/Base/Failure.h"
#include "runtime/Base/JsonText.h"

using namespace meshc::runtime;
using nlohmann::json;

json meshc::runtime::parseVocabulary(const Bytes &file, const std::string &path,
                                     const std::string &expected) {
  const auto *text = reinterpret_cast<const char *>(file.data());
  std::string damage;
  json content = parseJson(text, file.size(), damage);
  file.checkIntact();
  if (!damage.empty())
    throw Failure(ExitCode::Data,
                  "vocabulary '" + path + "' " + damage + "; " + expected);
  return content;
}
