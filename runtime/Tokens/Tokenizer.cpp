//===- Tokenizer.cpp - text to tokens and back ----------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Tokens/Tokenizer.h"

#include "runtime/Base/Failure.h"
#include "runtime/Tokens/Characters.h"
#include "runtime/Tokens/Gpt2.h"
#include "runtime/Tokens/SentencePieces.h"

#include <algorithm>
#include <array>

using namespace meshc::runtime;

std::vector<int32_t> Tokenizer::encode(std::string_view text) {
  std::vector<int32_t> all;
  encode(text, [&](const int32_t *tokens, size_t count) {
    all.insert(all.end(), tokens, tokens + count);
  });
  return all;
}

std::string Tokenizer::decode(const int32_t *tokens, size_t count) const {
  std::string text;
  int32_t previous = -1;
  for (size_t i = 0; i < count; ++i) {
    if (tokens[i] < 0 || tokens[i] >= vocabularySize())
      throw Failure(ExitCode::Data, std::to_string(tokens[i]) +
                                        " is not a token of '" + identity() +
                                        "'; expected 0 to " +
                                        std::to_string(vocabularySize() - 1));
    text += bytesOf(tokens[i], previous);
    previous = tokens[i];
  }
  return text;
}

namespace {

/// A token is a byte.
class ByteTokenizer : public Tokenizer {
public:
  ByteTokenizer() {
    for (size_t i = 0; i < bytes.size(); ++i)
      bytes[i] = static_cast<char>(i);
  }
  int32_t vocabularySize() const override { return 256; }
  std::string identity() const override { return "bytes"; }
  void encode(std::string_view text, const TokenSink &sink) override {
    std::array<int32_t, 4096> tokens;
    while (!text.empty()) {
      size_t count = std::min(text.size(), tokens.size());
      for (size_t i = 0; i < count; ++i)
        tokens[i] = static_cast<uint8_t>(text[i]);
      sink(tokens.data(), count);
      text.remove_prefix(count);
    }
  }
  std::string_view bytesOf(int32_t token, int32_t) const override {
    return {&bytes[static_cast<size_t>(token)], 1};
  }

private:
  std::array<char, 256> bytes;
};

} // namespace

std::unique_ptr<Tokenizer>
meshc::runtime::openTokenizer(const std::string &description) {
  size_t colon = description.find(':');
  std::string kind = description.substr(0, colon);
  std::string path =
      colon == std::string::npos ? "" : description.substr(colon + 1);
  if (description == "bytes")
    return std::make_unique<ByteTokenizer>();
  if (!path.empty() && kind == "characters")
    return std::make_unique<CharacterTokenizer>(path);
  if (!path.empty() && kind == "gpt2")
    return std::make_unique<Gpt2Tokenizer>(path);
  if (!path.empty() && kind == "sentencepiece")
    return std::make_unique<SentencePieceTokenizer>(path);
  throw Failure(ExitCode::Usage, "'" + description +
                                     "' is not a tokenizer; expected 'bytes', "
                                     "'characters:FILE', 'gpt2:FOLDER' or "
                                     "'sentencepiece:FILE'");
}
