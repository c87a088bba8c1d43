//===- OracleTest.cpp - tokens as other tools find them -------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Compares with tiktoken and SentencePiece: Expected.inc has what they find,
/// and expected.py wrote it. The vocabularies and the large texts are not part
/// of the repository (MESHC_DATA); without them these tests are skipped.
///
//===----------------------------------------------------------------------===//
#include "runtime/Data/Bytes.h"
#include "runtime/Tokens/Gpt2.h"
#include "runtime/Tokens/Tokenizer.h"

#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>
#include <zlib.h>

using namespace meshc::runtime;

namespace {

struct Text {
  std::shared_ptr<const Bytes> file;
  std::string_view view;
};

std::string dataFolder() {
  const char *folder = std::getenv("MESHC_DATA");
  return folder ? folder : SHARED_DATA;
}

/// A text of Expected.inc; no file if it is not here.
Text openText(const std::string &name) {
  std::string path = name == "hostile.txt" ? std::string(SOURCES "/") + name
                                           : dataFolder() + "/text/" + name;
  if (!std::filesystem::exists(path))
    return {};
  std::shared_ptr<const Bytes> file = Bytes::open(path);
  return {file, {reinterpret_cast<const char *>(file->data()), file->size()}};
}

uint32_t checksum(const std::vector<int32_t> &numbers) {
  return static_cast<uint32_t>(
      crc32(0, reinterpret_cast<const Bytef *>(numbers.data()),
            static_cast<uInt>(numbers.size() * sizeof(int32_t))));
}

struct Expected {
  const char *text;
  size_t count;
  uint32_t checksum;
};

struct Example {
  std::string text;
  std::vector<int32_t> tokens;
};

#define WORDS(text, count, checksum)
#define GPT2(text, count, checksum)
#define STORIES(text, count, checksum)
#define EXAMPLE(text, tokens)

const Expected wordsOfTexts[] = {
#undef WORDS
#define WORDS(text, count, checksum) {text, count, checksum},
#include "Expected.inc"
#undef WORDS
#define WORDS(text, count, checksum)
};

const Expected gpt2Texts[] = {
#undef GPT2
#define GPT2(text, count, checksum) {text, count, checksum},
#include "Expected.inc"
#undef GPT2
#define GPT2(text, count, checksum)
};

const Expected storiesTexts[] = {
#undef STORIES
#define STORIES(text, count, checksum) {text, count, checksum},
#include "Expected.inc"
#undef STORIES
#define STORIES(text, count, checksum)
};

/// Examples have their tokens in parentheses, since they contain commas.
#define UNPACK(...) __VA_ARGS__
const Example gpt2Examples[] = {
#undef EXAMPLE
#define EXAMPLE(text, tokens) {text, UNPACK tokens},
#include "Expected.inc"
};

/// Checks that a tokenizer finds the expected tokens, and that they are the
/// text.
template <size_t n>
void checkTexts(Tokenizer &tokenizer, const Expected (&texts)[n]) {
  for (const Expected &expected : texts) {
    Text text = openText(expected.text);
    ASSERT_TRUE(text.file) << expected.text;
    std::vector<int32_t> tokens = tokenizer.encode(text.view);
    EXPECT_EQ(tokens.size(), expected.count) << expected.text;
    EXPECT_EQ(checksum(tokens), expected.checksum) << expected.text;
    EXPECT_TRUE(tokenizer.decode(tokens.data(), tokens.size()) == text.view)
        << expected.text;
  }
}

TEST(Gpt2Words, MatchThePublishedPattern) {
  int found = 0;
  for (const Expected &expected : wordsOfTexts) {
    Text text = openText(expected.text);
    if (!text.file)
      continue;
    ++found;
    std::vector<int32_t> lengths;
    for (size_t at = 0; at < text.view.size();) {
      size_t end = endOfGpt2Word(text.view, at);
      lengths.push_back(static_cast<int32_t>(end - at));
      at = end;
    }
    EXPECT_EQ(lengths.size(), expected.count) << expected.text;
    EXPECT_EQ(checksum(lengths), expected.checksum) << expected.text;
  }
  EXPECT_GE(found, 1); // hostile.txt is part of the repository
}

std::string gpt2Folder() { return dataFolder() + "/bpe-gpt2"; }

TEST(Gpt2, FindsTheTokensOfTiktoken) {
  if (!std::filesystem::exists(gpt2Folder()))
    GTEST_SKIP() << "no " << gpt2Folder() << " (MESHC_DATA)";
  auto tokenizer = openTokenizer("gpt2:" + gpt2Folder());
  EXPECT_EQ(tokenizer->vocabularySize(), 50257);
  EXPECT_EQ(tokenizer->endOfText(), 50256);
  for (const Example &example : gpt2Examples)
    EXPECT_EQ(tokenizer->encode(example.text), example.tokens) << example.text;
  checkTexts(*tokenizer, gpt2Texts);
}

TEST(Gpt2, RestoresArbitraryBytes) {
  if (!std::filesystem::exists(gpt2Folder()))
    GTEST_SKIP() << "no " << gpt2Folder() << " (MESHC_DATA)";
  auto tokenizer = openTokenizer("gpt2:" + gpt2Folder());
  uint64_t state = 1;
  for (size_t length : {1, 2, 3, 10, 100, 10000})
    for (int i = 0; i < 50; ++i) {
      std::string text;
      while (text.size() < length) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        text += static_cast<char>(state >> 56);
      }
      std::vector<int32_t> tokens = tokenizer->encode(text);
      EXPECT_EQ(tokenizer->decode(tokens.data(), tokens.size()), text);
    }
}

TEST(SentencePieces, FindTheTokensOfSentencePiece) {
  std::string path = dataFolder() + "/models/stories260K/tok512.bin";
  if (!std::filesystem::exists(path))
    GTEST_SKIP() << "no " << path << " (MESHC_DATA)";
  auto tokenizer = openTokenizer("sentencepiece:" + path);
  EXPECT_EQ(tokenizer->vocabularySize(), 512);
  checkTexts(*tokenizer, storiesTexts);
}

} // namespace
