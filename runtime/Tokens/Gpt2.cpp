//===- Gpt2.cpp - GPT-2's byte-level BPE ----------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Tokens/Gpt2.h"

#include "runtime/Base/Crc32c.h"
#include "runtime/Base/Failure.h"
#include "runtime/Data/Bytes.h"
#include "runtime/Tokens/Unicode.h"
#include "runtime/Tokens/VocabularyJson.h"

#include <filesystem>

using namespace meshc::runtime;

//===----------------------------------------------------------------------===//
// Words
//===----------------------------------------------------------------------===//

/// Bytes of the contraction at `begin`, where an apostrophe is; 0: none.
static size_t contractionAt(std::string_view text, size_t begin) {
  for (std::string_view ending : {"s", "t", "re", "ve", "m", "ll", "d"})
    if (text.substr(begin + 1, ending.size()) == ending)
      return 1 + ending.size();
  return 0;
}

/// The class of each ASCII character.
static const std::array<CharacterClass, 128> asciiClasses = [] {
  std::array<CharacterClass, 128> classes;
  for (uint32_t code = 0; code < classes.size(); ++code)
    classes[code] = classOf(code);
  return classes;
}();

/// The class of the character at `at`; sets `size` to its bytes.
static CharacterClass classAt(std::string_view text, size_t at, size_t &size) {
  auto byte = static_cast<uint8_t>(text[at]);
  size = 1;
  if (byte < asciiClasses.size())
    return asciiClasses[byte];
  Character character = characterAt(text, at);
  size = character.size;
  return classOf(character);
}

/// The end of the characters of class `kind` from `at` on.
static size_t endOfRun(std::string_view text, size_t at, CharacterClass kind) {
  size_t size = 0;
  while (at < text.size() && classAt(text, at, size) == kind)
    at += size;
  return at;
}

size_t meshc::runtime::endOfGpt2Word(std::string_view text, size_t begin) {
  if (text[begin] == '\'')
    if (size_t size = contractionAt(text, begin))
      return begin + size;
  size_t at = begin + (text[begin] == ' ');
  if (at < text.size()) {
    size_t size = 0;
    CharacterClass kind = classAt(text, at, size);
    if (kind != CharacterClass::Space)
      return endOfRun(text, at + size, kind);
  }
  // White space before a word leaves its last character to it.
  size_t last = begin, size = 0;
  for (at = begin; at < text.size(); at += size) {
    if (classAt(text, at, size) != CharacterClass::Space)
      return last == begin ? at : last;
    last = at;
  }
  return at;
}

//===----------------------------------------------------------------------===//
// The vocabulary
//===----------------------------------------------------------------------===//

/// The character that stands for a byte in the files: itself if it is printable
/// and not a space, and otherwise the next of those from U+0100 on.
static std::array<uint32_t, 256> makeByteCodes() {
  std::array<uint32_t, 256> codes;
  uint32_t next = 256;
  for (uint32_t byte = 0; byte < 256; ++byte) {
    bool isPrintable = (byte >= '!' && byte <= '~') ||
                       (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
    codes[byte] = isPrintable ? byte : next++;
  }
  return codes;
}

/// The bytes that a token's text in the files stands for; null if a character
/// stands for none.
static std::optional<std::string> bytesOfText(std::string_view text) {
  static const std::unordered_map<uint32_t, char> bytes = [] {
    std::unordered_map<uint32_t, char> map;
    const std::array<uint32_t, 256> codes = makeByteCodes();
    for (size_t byte = 0; byte < codes.size(); ++byte)
      map[codes[byte]] = static_cast<char>(byte);
    return map;
  }();
  std::string result;
  for (size_t at = 0; at < text.size();) {
    Character character = characterAt(text, at);
    auto found = bytes.find(character.code);
    if (!character.isValid || found == bytes.end())
      return std::nullopt;
    result += found->second;
    at += character.size;
  }
  return result;
}

static Failure bpeFailure(const std::string &path, const std::string &what) {
  return Failure(ExitCode::Data, "vocabulary '" + path + "' " + what);
}

/// The most tokens of a vocabulary; the merges have as many slots.
static constexpr size_t mostTokens = size_t(1) << 20;

/// Hugging Face gives the two files other names.
static void checkNames(const std::string &folder) {
  namespace fs = std::filesystem;
  std::error_code error;
  for (auto [name, other] : {std::pair("encoder.json", "vocab.json"),
                             std::pair("vocab.bpe", "merges.txt")}) {
    const fs::path path(folder);
    if (!fs::exists(path / name, error) && fs::exists(path / other, error))
      throw Failure(ExitCode::Data,
                    "folder '" + folder + "' has no '" + name +
                        "', but Hugging Face's '" + other +
                        "', which is the same file; link or copy it to '" +
                        name + "'");
  }
}

Gpt2Tokenizer::Gpt2Tokenizer(const std::string &folder) : merges(0) {
  checkNames(folder);
  readTokens(folder + "/encoder.json");
  readMerges(folder + "/vocab.bpe");
  name = "gpt2:" + formatCrc32c(checksum);
}

void Gpt2Tokenizer::readTokens(const std::string &path) {
  std::shared_ptr<const Bytes> file = Bytes::open(path);
  const nlohmann::json map = parseVocabulary(
      *file, path, "expected tokens, {\"!\": 0, …}; fetch it again");
  checksum = crc32c(file->data(), file->size());
  file->checkIntact();
  if (!map.is_object() || map.empty() || map.size() > mostTokens)
    throw bpeFailure(
        path, "is not a JSON object of tokens, {\"!\": 0, …}; fetch it again");
  tokenBytes.resize(map.size());
  std::vector<bool> seen(map.size());
  for (const auto &[text, number] : map.items()) {
    std::optional<std::string> bytes = bytesOfText(text);
    int64_t token = number.is_number_integer() ? number.get<int64_t>() : -1;
    if (!bytes || bytes->empty() || token < 0 ||
        token >= static_cast<int64_t>(map.size()) || seen[token])
      throw bpeFailure(
          path, "gives '" + text + "' the number " + number.dump() +
                    "; expected a token of GPT-2 and each number from 0 to " +
                    std::to_string(map.size() - 1) + " once");
    seen[token] = true;
    if (text == "<|endoftext|>")
      special = static_cast<int32_t>(token);
    else
      tokens.emplace(*bytes, static_cast<int32_t>(token));
    tokenBytes[token] = std::move(*bytes);
  }
  for (size_t byte = 0; byte < byteTokens.size(); ++byte) {
    auto found = tokens.find(std::string(1, static_cast<char>(byte)));
    if (found == tokens.end())
      throw bpeFailure(path, "has no token for byte " + std::to_string(byte));
    byteTokens[byte] = found->second;
  }
}

void Gpt2Tokenizer::readMerges(const std::string &path) {
  std::shared_ptr<const Bytes> file = Bytes::open(path);
  checksum = crc32c(file->data(), file->size(), checksum);
  file->checkIntact();
  std::string_view rest(reinterpret_cast<const char *>(file->data()),
                        file->size());
  merges = PairMerges(tokenBytes.size());
  int32_t rank = 0;
  for (size_t number = 1; !rest.empty(); ++number) {
    size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (!line.empty() && line.back() == '\r')
      line.remove_suffix(1);
    if (line.empty() || (number == 1 && line.substr(0, 9) == "#version:"))
      continue;
    size_t space = line.find(' ');
    auto tokenOf = [&](std::string_view text) -> int32_t {
      std::optional<std::string> bytes = bytesOfText(text);
      auto found = bytes ? tokens.find(*bytes) : tokens.end();
      return found == tokens.end() ? -1 : found->second;
    };
    int32_t left = -1, right = -1, whole = -1;
    if (space != std::string_view::npos) {
      left = tokenOf(line.substr(0, space));
      right = tokenOf(line.substr(space + 1));
      whole = tokenOf(std::string(line.substr(0, space)) +
                      std::string(line.substr(space + 1)));
    }
    if (left < 0 || right < 0 || whole < 0 ||
        rank == static_cast<int32_t>(tokenBytes.size()) ||
        !merges.add(left, right, {rank++, whole}))
      throw bpeFailure(path, "has line " + std::to_string(number) + ", '" +
                                 std::string(line) +
                                 "'; expected two tokens that are in "
                                 "encoder.json, merged too, each pair "
                                 "once");
  }
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

void Gpt2Tokenizer::appendWord(std::string_view bytes,
                               std::vector<int32_t> &out) {
  if (known.append(bytes, out))
    return;
  word.clear();
  for (char byte : bytes)
    word.push_back(byteTokens[static_cast<uint8_t>(byte)]);
  merges.apply(word);
  out.insert(out.end(), word.begin(), word.end());
  known.add(bytes, word);
}

void Gpt2Tokenizer::encode(std::string_view text, const TokenSink &sink) {
  std::vector<int32_t> piece;
  for (size_t at = 0; at < text.size();) {
    size_t end = endOfGpt2Word(text, at);
    appendWord(text.substr(at, end - at), piece);
    at = end;
    if (piece.size() >= 4096 || at == text.size()) {
      sink(piece.data(), piece.size());
      piece.clear();
    }
  }
}

std::string_view Gpt2Tokenizer::bytesOf(int32_t token, int32_t) const {
  return tokenBytes[static_cast<size_t>(token)];
}
