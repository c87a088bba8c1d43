//===- SentencePieces.cpp - SentencePiece's BPE ---------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Tokens/SentencePieces.h"

#include "runtime/Base/Crc32c.h"
#include "runtime/Base/Failure.h"
#include "runtime/Data/Bytes.h"
#include "runtime/Tokens/Unicode.h"

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace meshc::runtime;

static Failure pieceFailure(const std::string &path, const std::string &what) {
  return Failure(ExitCode::Data,
                 "vocabulary '" + path + "' " + what +
                     "; expected the pieces of a SentencePiece model as "
                     "llama2.c's tokenizer.py writes them");
}

/// The byte of a piece "<0x41>", or -1.
static int byteOfPiece(const std::string &piece) {
  if (piece.size() != 6 || piece.compare(0, 3, "<0x") != 0 || piece[5] != '>' ||
      !std::isxdigit(static_cast<uint8_t>(piece[3])) ||
      !std::isxdigit(static_cast<uint8_t>(piece[4])))
    return -1;
  return std::stoi(piece.substr(3, 2), nullptr, 16);
}

SentencePieceTokenizer::SentencePieceTokenizer(const std::string &path)
    : merges(0) {
  std::vector<float> scores = readPieces(path);
  findBytes(path);
  findMerges(scores);
}

/// Reads the pieces as they are written. Returns their scores.
std::vector<float> SentencePieceTokenizer::readPieces(const std::string &path) {
  std::shared_ptr<const Bytes> file = Bytes::open(path);
  std::string_view rest(reinterpret_cast<const char *>(file->data()),
                        file->size());
  name = "sentencepiece:" + formatCrc32c(crc32c(rest.data(), rest.size()));
  int32_t longest = 0;
  std::vector<float> scores;
  if (rest.size() < sizeof(longest))
    throw pieceFailure(path, "ends early");
  std::memcpy(&longest, rest.data(), sizeof(longest));
  rest.remove_prefix(sizeof(longest));
  while (!rest.empty()) {
    float score = 0;
    int32_t length = 0;
    if (rest.size() >= 8) {
      std::memcpy(&score, rest.data(), 4);
      std::memcpy(&length, rest.data() + 4, 4);
      rest.remove_prefix(8);
    }
    if (length < 1 || length > longest || size_t(length) > rest.size() ||
        !std::isfinite(score))
      throw pieceFailure(path, "is damaged or ends early, at piece " +
                                   std::to_string(pieces.size()));
    scores.push_back(score);
    pieces.emplace_back(rest.substr(0, length));
    rest.remove_prefix(length);
  }
  file->checkIntact();
  return scores;
}

/// Replaces pieces like "<0x41>" by their bytes, and lists all others.
void SentencePieceTokenizer::findBytes(const std::string &path) {
  if (vocabularySize() < specials)
    throw pieceFailure(path,
                       "has only " + std::to_string(pieces.size()) + " pieces");
  byteTokens.fill(-1);
  for (int32_t token = 0; token < vocabularySize(); ++token) {
    int byte = byteOfPiece(pieces[token]);
    if (byte >= 0) {
      byteTokens[byte] = token;
      pieces[token].assign(1, static_cast<char>(byte));
    } else if (token == start || token == end) {
      pieces[token].clear();
    } else if (token >= specials) {
      whole.emplace(pieces[token], token);
    }
  }
  for (size_t byte = 0; byte < byteTokens.size(); ++byte)
    if (byteTokens[byte] < 0)
      throw pieceFailure(path, "has no piece for byte " + std::to_string(byte));
}

/// Adds each way to put a piece together from two others.
void SentencePieceTokenizer::findMerges(const std::vector<float> &scores) {
  std::vector<float> sorted = scores;
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  size_t total = 0;
  for (const auto &[piece, token] : whole)
    total += piece.size();
  merges = PairMerges(total);
  for (const auto &[piece, token] : whole)
    for (size_t cut = 1; cut < piece.size(); ++cut) {
      auto left = whole.find(piece.substr(0, cut));
      auto right = whole.find(piece.substr(cut));
      if (left == whole.end() || right == whole.end())
        continue;
      auto rank = std::lower_bound(sorted.begin(), sorted.end(), scores[token],
                                   std::greater<>());
      merges.add(left->second, right->second,
                 {static_cast<int32_t>(rank - sorted.begin()), token});
    }
}

void SentencePieceTokenizer::encode(std::string_view text,
                                    const TokenSink &sink) {
  if (text.empty())
    return;
  std::vector<int32_t> tokens;
  auto append = [&](std::string_view character) {
    auto found = whole.find(character);
    if (found != whole.end())
      return tokens.push_back(found->second);
    for (char byte : character)
      tokens.push_back(byteTokens[static_cast<uint8_t>(byte)]);
  };
  append(" ");
  for (size_t at = 0; at < text.size();) {
    size_t size = characterAt(text, at).size;
    append(text.substr(at, size));
    at += size;
  }
  merges.apply(tokens);
  sink(tokens.data(), tokens.size());
}

std::string_view SentencePieceTokenizer::bytesOf(int32_t token,
                                                 int32_t previous) const {
  std::string_view bytes = pieces[static_cast<size_t>(token)];
  if ((previous < 0 || previous == start) && !bytes.empty() &&
      bytes.front() == ' ')
    bytes.remove_prefix(1);
  return bytes;
}
