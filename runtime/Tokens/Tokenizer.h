//===- Tokenizer.h - text to tokens and back --------------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Tokenizers: a text is a string of bytes, usually UTF-8, and a token a number
/// from 0 to vocabularySize() - 1.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_TOKENS_TOKENIZER_H
#define MESHC_RUNTIME_TOKENS_TOKENIZER_H

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace meshc::runtime {

/// Receives tokens of a text, in order and piece by piece.
using TokenSink = std::function<void(const int32_t *tokens, size_t count)>;

class Tokenizer {
public:
  virtual ~Tokenizer() = default;

  /// How many tokens there are.
  virtual int32_t vocabularySize() const = 0;

  /// The kind and a checksum of the vocabulary, the same for equal ones:
  /// "gpt2:1a2b3c4d". At most 64 bytes.
  virtual std::string identity() const = 0;

  /// The special tokens before and after a text, if the vocabulary has any.
  /// encode() never returns them.
  virtual std::optional<int32_t> startOfText() const { return std::nullopt; }
  virtual std::optional<int32_t> endOfText() const { return std::nullopt; }

  /// Passes the tokens of `text` to `sink`. Special tokens that are written out
  /// in the text are text like any other. Throws Failure(Data) for a text that
  /// the vocabulary cannot represent; the message says at which byte. Not for
  /// several threads at once.
  virtual void encode(std::string_view text, const TokenSink &sink) = 0;

  /// The bytes that `token`, of the vocabulary, stands for after `previous`;
  /// -1: at the start of a text. The bytes of one token need not be whole
  /// characters. They live as long as the tokenizer.
  virtual std::string_view bytesOf(int32_t token, int32_t previous) const = 0;

  /// All tokens of a text.
  std::vector<int32_t> encode(std::string_view text);
  /// The text of `count` tokens. Throws Failure(Data) for a number that is not
  /// a token.
  std::string decode(const int32_t *tokens, size_t count) const;
};

/// Opens a tokenizer by its description:
///
/// - "bytes": a token is a byte.
/// - "characters:FILE": a token is a character of the vocabulary in FILE
///   (Characters.h).
/// - "gpt2:FOLDER": GPT-2's byte-level encoding, from vocab.bpe and
///   encoder.json in FOLDER (Gpt2.h).
/// - "sentencepiece:FILE": a SentencePiece BPE vocabulary in llama2.c's format
///   (SentencePieces.h).
///
/// Throws Failure: Usage for another description, Data for a file that is
/// missing or damaged.
std::unique_ptr<Tokenizer> openTokenizer(const std::string &description);

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_TOKENS_TOKENIZER_H
