//===- Characters.cpp - a token is a character ----------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Tokens/Characters.h"

#include "runtime/Base/Crc32c.h"
#include "runtime/Base/Failure.h"
#include "runtime/Data/Bytes.h"
#include "runtime/Tokens/Unicode.h"
#include "runtime/Tokens/VocabularyJson.h"

#include <algorithm>
#include <nlohmann/json.hpp>

using namespace meshc::runtime;
using nlohmann::json;

static Failure notUtf8(const Character &byte, size_t at) {
  char digits[8];
  std::snprintf(digits, sizeof(digits), "0x%02x", byte.code);
  return Failure(ExitCode::Data, "byte " + std::string(digits) + " at offset " +
                                     std::to_string(at) +
                                     " is not part of UTF-8 text; convert the "
                                     "text, or use the tokenizer 'bytes'");
}

void CharacterSet::add(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    Character character = characterAt(text, at);
    if (!character.isValid)
      throw notUtf8(character, at);
    codes.emplace(character.code, 0);
    at += character.size;
  }
}

std::string CharacterSet::toJson() const {
  std::vector<uint32_t> sorted;
  for (const auto &[code, unused] : codes)
    sorted.push_back(code);
  std::sort(sorted.begin(), sorted.end());
  json characters = json::array();
  for (uint32_t code : sorted) {
    std::string text;
    appendUtf8(text, code);
    characters.push_back(text);
  }
  return json{{"characters", characters}}.dump() + '\n';
}

CharacterTokenizer::CharacterTokenizer(const std::string &path) : path(path) {
  std::shared_ptr<const Bytes> bytes = Bytes::open(path);
  const std::string expected = "expected {\"characters\": [\"a\", …]}, as "
                               "'meshc-tokens characters' writes it";
  auto fail = [&](const std::string &what) {
    return Failure(ExitCode::Data,
                   "vocabulary '" + path + "' " + what + "; " + expected);
  };
  json file = parseVocabulary(*bytes, path, expected);
  if (!file.is_object() || !file.contains("characters") ||
      !file["characters"].is_array() || file["characters"].empty())
    throw fail("has no list of characters");
  uint32_t checksum = 0;
  for (const json &entry : file["characters"]) {
    std::string text = entry.is_string() ? entry.get<std::string>() : "";
    Character character =
        text.empty() ? Character{0, 0, false} : characterAt(text, 0);
    if (!character.isValid || character.size != text.size())
      throw fail("has entry " + std::to_string(characters.size()) +
                 ", which is not one character");
    if (!tokens.emplace(character.code, vocabularySize()).second)
      throw fail("has " + describeCode(character.code) + " twice");
    checksum = crc32c(text.data(), text.size(), checksum);
    characters.push_back(text);
  }
  name = "characters:" + formatCrc32c(checksum);
}

void CharacterTokenizer::encode(std::string_view text, const TokenSink &sink) {
  std::vector<int32_t> piece;
  piece.reserve(4096);
  for (size_t at = 0; at < text.size();) {
    Character character = characterAt(text, at);
    if (!character.isValid)
      throw notUtf8(character, at);
    auto found = tokens.find(character.code);
    if (found == tokens.end())
      throw Failure(ExitCode::Data, "character " +
                                        describeCode(character.code) +
                                        " at offset " + std::to_string(at) +
                                        " is not in vocabulary '" + path +
                                        "'; make one from all texts");
    piece.push_back(found->second);
    at += character.size;
    if (piece.size() == 4096 || at == text.size()) {
      sink(piece.data(), piece.size());
      piece.clear();
    }
  }
}

std::string_view CharacterTokenizer::bytesOf(int32_t token, int32_t) const {
  return characters[static_cast<size_t>(token)];
}
