//===- Gpt2.h - GPT-2's byte-level BPE --------------------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The encoding of GPT-2 (Radford et al., "Language models are unsupervised
/// multitask learners", 2019; github.com/openai/gpt-2, src/encoder.py): text is
/// cut into words by a pattern, and the bytes of each word are merged.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_TOKENS_GPT2_H
#define MESHC_RUNTIME_TOKENS_GPT2_H

#include "runtime/Tokens/KnownWords.h"
#include "runtime/Tokens/PairMerges.h"
#include "runtime/Tokens/Tokenizer.h"

#include <array>
#include <unordered_map>

namespace meshc::runtime {

/// The end of the word that begins at byte `begin` < text.size(), by GPT-2's
/// pattern:
///     's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+|
///     ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
/// A byte that is not part of well-formed UTF-8 counts as a character that is
/// neither white space, nor a letter, nor a number.
size_t endOfGpt2Word(std::string_view text, size_t begin);

class Gpt2Tokenizer : public Tokenizer {
public:
  /// Reads `folder`/vocab.bpe, whose lines are the pairs to merge in order, and
  /// `folder`/encoder.json, the numbers of the tokens. Both write a byte as a
  /// printable character. Throws Failure(Data) if a file is missing or damaged,
  /// or if they do not fit each other.
  explicit Gpt2Tokenizer(const std::string &folder);

  int32_t vocabularySize() const override {
    return static_cast<int32_t>(tokenBytes.size());
  }
  std::string identity() const override { return name; }
  /// <|endoftext|>, if encoder.json has it. GPT-2 has it before a text, too.
  std::optional<int32_t> startOfText() const override { return special; }
  std::optional<int32_t> endOfText() const override { return special; }
  using Tokenizer::encode;
  void encode(std::string_view text, const TokenSink &sink) override;
  std::string_view bytesOf(int32_t token, int32_t previous) const override;

private:
  void readTokens(const std::string &path);
  void readMerges(const std::string &path);
  void appendWord(std::string_view word, std::vector<int32_t> &out);

  std::string name;
  uint32_t checksum = 0; ///< of both files
  std::vector<std::string> tokenBytes;
  std::unordered_map<std::string, int32_t> tokens; ///< by their bytes
  std::array<int32_t, 256> byteTokens;
  std::optional<int32_t> special;
  PairMerges merges;

  KnownWords known;
  std::vector<int32_t> word;
};

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_TOKENS_GPT2_H
