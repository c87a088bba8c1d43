//===- Characters.h - a token is a character --------------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_TOKENS_CHARACTERS_H
#define MESHC_RUNTIME_TOKENS_CHARACTERS_H

#include "runtime/Tokens/Tokenizer.h"

#include <unordered_map>

namespace meshc::runtime {

/// The characters of texts, for a vocabulary.
class CharacterSet {
public:
  /// Adds the characters of `text`. Throws Failure(Data) if it is not UTF-8;
  /// the message says at which byte.
  void add(std::string_view text);
  /// The vocabulary's file: the JSON object {"characters": ["\n", " ", …]},
  /// with the characters sorted by code point. Token i is the i-th of them.
  std::string toJson() const;
  size_t size() const { return codes.size(); }

private:
  std::unordered_map<uint32_t, int32_t> codes;
};

/// A token is a character of UTF-8 text. Text must consist of the characters of
/// the vocabulary.
class CharacterTokenizer : public Tokenizer {
public:
  /// Reads a file like that of CharacterSet. Throws Failure(Data).
  explicit CharacterTokenizer(const std::string &path);

  int32_t vocabularySize() const override {
    return static_cast<int32_t>(characters.size());
  }
  std::string identity() const override { return name; }
  using Tokenizer::encode;
  void encode(std::string_view text, const TokenSink &sink) override;
  std::string_view bytesOf(int32_t token, int32_t previous) const override;

private:
  std::string path, name;
  std::vector<std::string> characters;
  std::unordered_map<uint32_t, int32_t> tokens; ///< by code point
};

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_TOKENS_CHARACTERS_H
