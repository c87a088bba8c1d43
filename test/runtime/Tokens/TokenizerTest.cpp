//===- TokenizerTest.cpp - text to tokens and back ------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Tokens/Tokenizer.h"
#include "runtime/Tokens/Characters.h"
#include "runtime/Tokens/Gpt2.h"
#include "runtime/Tokens/Unicode.h"
#include "test/runtime/Data/TestFiles.h"

#include <cmath>

using namespace meshc::runtime;
using namespace meshc::test;

namespace {

using Tokens = std::vector<int32_t>;

TEST(Tokenizer, KnowsBytes) {
  auto tokenizer = openTokenizer("bytes");
  EXPECT_EQ(tokenizer->vocabularySize(), 256);
  EXPECT_EQ(tokenizer->identity(), "bytes");
  EXPECT_FALSE(tokenizer->endOfText());
  std::string text(10000, 'x');
  text += std::string("\xff\0a", 3);
  Tokens tokens = tokenizer->encode(text);
  ASSERT_EQ(tokens.size(), text.size());
  EXPECT_EQ(Tokens(tokens.end() - 3, tokens.end()), (Tokens{255, 0, 'a'}));
  EXPECT_EQ(tokenizer->decode(tokens.data(), tokens.size()), text);
  EXPECT_TRUE(tokenizer->encode("").empty());
  Tokens wrong{256};
  EXPECT_EQ(
      failureOf(ExitCode::Data, [&] { tokenizer->decode(wrong.data(), 1); }),
      "256 is not a token of 'bytes'; expected 0 to 255");
}

TEST(Tokenizer, RefusesUnknownKinds) {
  for (const char *kind : {"", "byte", "bytes:", "gpt2", "gpt2:", "characters"})
    EXPECT_EQ(failureOf(ExitCode::Usage, [&] { openTokenizer(kind); }),
              "'" + std::string(kind) +
                  "' is not a tokenizer; expected 'bytes', "
                  "'characters:FILE', 'gpt2:FOLDER' or 'sentencepiece:FILE'");
}

TEST(Tokenizer, KnowsCharacters) {
  Folder folder;
  CharacterSet set;
  set.add("hé\n");
  set.add("\xF0\x9F\x99\x82h");
  EXPECT_EQ(set.toJson(),
            "{\"characters\":[\"\\n\",\"h\",\"é\",\"\xF0\x9F\x99\x82\"]}\n");
  std::string path = folder.write("v.json", set.toJson());
  auto tokenizer = openTokenizer("characters:" + path);
  EXPECT_EQ(tokenizer->vocabularySize(), 4);
  EXPECT_EQ(tokenizer->identity().substr(0, 11), "characters:");
  Tokens tokens = tokenizer->encode("éh\n\xF0\x9F\x99\x82");
  EXPECT_EQ(tokens, (Tokens{2, 1, 0, 3}));
  EXPECT_EQ(tokenizer->decode(tokens.data(), tokens.size()),
            "éh\n\xF0\x9F\x99\x82");
  EXPECT_EQ(failureOf(ExitCode::Data, [&] { tokenizer->encode("hhx"); }),
            "character U+0078 at offset 2 is not in vocabulary '" + path +
                "'; make one from all texts");
  std::string notUtf8 = "byte 0xff at offset 1 is not part of UTF-8 text; "
                        "convert the text, or use the tokenizer 'bytes'";
  EXPECT_EQ(failureOf(ExitCode::Data, [&] { tokenizer->encode("h\xff"); }),
            notUtf8);
  EXPECT_EQ(failureOf(ExitCode::Data, [&] { set.add("h\xff"); }), notUtf8);
}

TEST(Tokenizer, RefusesDamagedCharacters) {
  Folder folder;
  for (auto [text, what] : std::vector<std::pair<std::string, std::string>>{
           {"", "is empty; expected {\"characters\""},
           {"{\"characters\": [\"a\"", "ends early: its JSON text is not "},
           {"{\n \"characters\": x", "is no JSON text from line 2, column 16 "},
           {"{\"characters\": [\"\xff\"]}", "is no JSON text from line 1, "},
           {"[1e999]", "has a number that is too large; expected"},
           {"[]", "has no list of characters"},
           {"{\"characters\": []}", "has no list of characters"},
           {"{\"characters\": [\"a\", \"bc\"]}", "has entry 1, which"},
           {"{\"characters\": [\"a\", 3]}", "has entry 1, which"},
           {"{\"characters\": [\"a\", \"a\"]}", "has U+0061 twice"}}) {
    std::string path = folder.write("v.json", text);
    std::string message =
        failureOf(ExitCode::Data, [&] { openTokenizer("characters:" + path); });
    EXPECT_EQ(message.find("vocabulary '" + path + "' " + what), 0u) << message;
  }
}

/// Writes a vocabulary of the 256 bytes, then " t", " th", " the", and
/// <|endoftext|>.
void writeGpt2(const Folder &folder, const std::string &merges) {
  std::string tokens = "{";
  uint32_t next = 256;
  for (uint32_t byte = 0; byte < 256; ++byte) {
    bool isPrintable = (byte >= '!' && byte <= '~') ||
                       (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
    std::string text;
    appendUtf8(text, isPrintable ? byte : next++);
    if (text == "\"" || text == "\\")
      text = "\\" + text;
    tokens += "\"" + text + "\": " + std::to_string(byte) + ", ";
  }
  folder.write("encoder.json", tokens +
                                   "\"Ġt\": 256, \"he\": 257, \"Ġthe\": 258, "
                                   "\"<|endoftext|>\": 259}");
  folder.write("vocab.bpe", merges);
}

TEST(Tokenizer, MergesBytesOfWords) {
  Folder folder;
  writeGpt2(folder, "#version: 0.2\nĠ t\nh e\nĠt he\n");
  auto tokenizer = openTokenizer("gpt2:" + folder.file(""));
  EXPECT_EQ(tokenizer->vocabularySize(), 260);
  EXPECT_EQ(tokenizer->endOfText(), 259);
  EXPECT_EQ(tokenizer->startOfText(), 259);
  EXPECT_EQ(tokenizer->identity().substr(0, 5), "gpt2:");
  // Twice, since known words take another way.
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(tokenizer->encode("the the\n he"),
              (Tokens{'t', 257, 258, '\n', ' ', 257}));
  // The special token's text is text.
  EXPECT_EQ(tokenizer->encode("<|").size(), 2u);
  EXPECT_EQ(tokenizer->encode("<|endoftext|>").size(), 13u);
  Tokens all;
  for (int32_t token = 0; token < 260; ++token)
    all.push_back(token);
  std::string text = tokenizer->decode(all.data(), all.size());
  EXPECT_EQ(text.substr(256), " the the<|endoftext|>");
  for (int byte = 0; byte < 256; ++byte)
    EXPECT_EQ(static_cast<uint8_t>(text[byte]), byte);
  std::string bytes = text.substr(0, 256); // most of them not UTF-8
  Tokens tokens = tokenizer->encode(bytes);
  EXPECT_EQ(tokenizer->decode(tokens.data(), tokens.size()), bytes);
}

// A long word must not take quadratic time: this one would take an hour.
TEST(Tokenizer, ReadsLongWords) {
  Folder folder;
  writeGpt2(folder, "Ġ t\nh e\nĠt he\n");
  auto tokenizer = openTokenizer("gpt2:" + folder.file(""));
  std::string text;
  for (int i = 0; i < 1000000; ++i)
    text += "he";
  EXPECT_EQ(tokenizer->encode(text), Tokens(1000000, 257));
}

TEST(Tokenizer, RefusesDamagedGpt2Files) {
  Folder folder;
  auto failure = [&] {
    return failureOf(ExitCode::Data,
                     [&] { openTokenizer("gpt2:" + folder.file("")); });
  };
  EXPECT_NE(failure().find("encoder.json' cannot be opened"),
            std::string::npos);
  folder.write("vocab.json", "{}");
  EXPECT_NE(failure().find("' has no 'encoder.json', but Hugging Face's "
                           "'vocab.json'"),
            std::string::npos);
  for (const char *merges :
       {"Ġt\n", "Ġ t\nĠ t\n", "Ġ h\n", "x y\n", "Ġ  t\n"}) {
    writeGpt2(folder, merges);
    EXPECT_NE(failure().find("vocab.bpe' has line "), std::string::npos)
        << merges;
  }
  for (const char *tokens : {"", "[]", "{\"a\": 1}", "{\"a\": 0, \"b\": 0}",
                             "{\"a\": \"b\"}", "{\"\": 0}", "{\" \": 0}"}) {
    folder.write("encoder.json", tokens);
    EXPECT_NE(failure().find("encoder.json' "), std::string::npos) << tokens;
  }
  folder.write("encoder.json", "{\"a\": 0,");
  EXPECT_NE(failure().find("encoder.json' ends early: its JSON text is not "
                           "complete; expected tokens, {\"!\": 0, …}; fetch"),
            std::string::npos);
  folder.write("encoder.json", "{\"a\": 0}");
  EXPECT_NE(failure().find("encoder.json' has no token for byte 0"),
            std::string::npos);
}

template <typename T> std::string raw(T value) {
  return bytesOf(std::vector<T>{value});
}

/// A file of llama2.c with these pieces after <unk>, <s>, </s> and the bytes.
std::string
piecesFile(const std::vector<std::pair<std::string, float>> &pieces) {
  std::string file = raw<int32_t>(6);
  auto add = [&](const std::string &text, float score) {
    file += raw(score) + raw(static_cast<int32_t>(text.size())) + text;
  };
  for (const char *special : {"<unk>", "\n<s>\n", "\n</s>\n"})
    add(special, 0);
  for (int byte = 0; byte < 256; ++byte) {
    char text[8];
    std::snprintf(text, sizeof(text), "<0x%02X>", byte);
    add(text, 0);
  }
  for (const auto &[text, score] : pieces)
    add(text, score);
  return file;
}

TEST(Tokenizer, MergesPieces) {
  Folder folder;
  std::string path = folder.write("tokens.bin", piecesFile({{" ", -1},    // 259
                                                            {"a", -2},    // 260
                                                            {"b", -3},    // 261
                                                            {"ab", -4},   // 262
                                                            {" a", -5},   // 263
                                                            {" ab", -6},  // 264
                                                            {"é", -7}})); // 265
  auto tokenizer = openTokenizer("sentencepiece:" + path);
  EXPECT_EQ(tokenizer->vocabularySize(), 266);
  EXPECT_EQ(tokenizer->startOfText(), 1);
  EXPECT_EQ(tokenizer->endOfText(), 2);
  EXPECT_EQ(tokenizer->encode("ab"), (Tokens{264}));
  EXPECT_EQ(tokenizer->encode("aab"), (Tokens{263, 262}));
  EXPECT_EQ(tokenizer->encode("é\n"), (Tokens{259, 265, 3 + '\n'}));
  EXPECT_EQ(tokenizer->encode("\xc3"), (Tokens{259, 3 + 0xc3}));
  EXPECT_TRUE(tokenizer->encode("").empty());
  // The first space is not part of a text, also after <s>.
  for (Tokens tokens : {Tokens{264, 264}, Tokens{1, 264, 264, 2}})
    EXPECT_EQ(tokenizer->decode(tokens.data(), tokens.size()), "ab ab");
  for (std::string text : {"  x", "a b", "<s>", "<0x41>", "\xff\xfe é"}) {
    Tokens tokens = tokenizer->encode(text);
    EXPECT_EQ(tokenizer->decode(tokens.data(), tokens.size()), text);
  }
}

TEST(Tokenizer, RefusesDamagedPieces) {
  Folder folder;
  std::string whole = piecesFile({{"a", 0}});
  for (std::string file :
       {std::string(), whole.substr(0, 3), whole.substr(0, 9),
        whole.substr(0, whole.size() - 1), whole + "x",
        raw<int32_t>(3) + whole.substr(4), piecesFile({{"", 0}}),
        piecesFile({{"a", NAN}}), whole.substr(0, 4)}) {
    std::string path = folder.write("tokens.bin", file);
    std::string message = failureOf(
        ExitCode::Data, [&] { openTokenizer("sentencepiece:" + path); });
    EXPECT_EQ(message.find("vocabulary '" + path + "' "), 0u) << message;
  }
}

} // namespace
