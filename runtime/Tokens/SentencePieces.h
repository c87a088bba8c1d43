//===- SentencePieces.h - SentencePiece's BPE -------------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A BPE vocabulary of SentencePiece (Kudo and Richardson, "SentencePiece: a
/// simple and language independent subword tokenizer", 2018) in the file format
/// of llama2.c (github.com/karpathy/llama2.c, tokenizer.py).
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_TOKENS_SENTENCEPIECES_H
#define MESHC_RUNTIME_TOKENS_SENTENCEPIECES_H

#include "runtime/Tokens/PairMerges.h"
#include "runtime/Tokens/Tokenizer.h"

#include <array>
#include <unordered_map>

namespace meshc::runtime {

/// A text gets a space before it; its characters are tokens, or the bytes of a
/// character that is not in the vocabulary. Two neighbours are merged if
/// together they are a piece, those of the highest score first.
class SentencePieceTokenizer : public Tokenizer {
public:
  /// Reads a file of little-endian numbers: the length of the longest piece
  /// (i32), then for each piece its score (f32), its length (i32) and its
  /// bytes. Pieces 0, 1 and 2 are <unk>, <s> and </s>; a piece "<0x41>" stands
  /// for that byte. Throws Failure(Data) if the file is missing or damaged, or
  /// lacks a byte.
  explicit SentencePieceTokenizer(const std::string &path);

  int32_t vocabularySize() const override {
    return static_cast<int32_t>(pieces.size());
  }
  std::string identity() const override { return name; }
  std::optional<int32_t> startOfText() const override { return start; }
  std::optional<int32_t> endOfText() const override { return end; }
  using Tokenizer::encode;
  void encode(std::string_view text, const TokenSink &sink) override;
  /// The space before a text is not part of it. <s> and </s> are empty.
  std::string_view bytesOf(int32_t token, int32_t previous) const override;

private:
  static constexpr int32_t start = 1, end = 2, specials = 3;

  std::vector<float> readPieces(const std::string &path);
  void findBytes(const std::string &path);
  void findMerges(const std::vector<float> &scores);

  std::string name;
  std::vector<std::string> pieces;                     ///< what they stand for
  std::unordered_map<std::string_view, int32_t> whole; ///< but bytes, specials
  std::array<int32_t, 256> byteTokens;
  PairMerges merges;
};

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_TOKENS_SENTENCEPIECES_H
