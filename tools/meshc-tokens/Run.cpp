//===- Run.cpp - the commands of meshc-tokens -----------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/meshc-tokens/Run.h"

#include "meshc/EscapeControls.h"
#include "runtime/Base/Counted.h"
#include "runtime/Base/Failure.h"
#include "runtime/Base/StandardStreams.h"
#include "runtime/Commands/DistinctFiles.h"
#include "runtime/Data/Convert.h"
#include "runtime/Tokens/Characters.h"
#include "runtime/Tokens/TokenWriter.h"
#include "runtime/Tokens/Tokenizer.h"

#include <algorithm>
#include <filesystem>
#include <functional>

using namespace meshc;
using namespace meshc::tokens;
using namespace meshc::runtime;
namespace fs = std::filesystem;

/// The files of the inputs: folders are replaced by the regular files below
/// them, sorted by path.
static std::vector<std::string> listFiles(const Options &options) {
  std::vector<std::string> files;
  std::error_code error;
  for (const std::string &input : options.inputs) {
    if (!fs::is_directory(input, error)) {
      files.push_back(input);
      continue;
    }
    const size_t first = files.size();
    for (auto at = fs::recursive_directory_iterator(input, error);
         !error && at != fs::recursive_directory_iterator();
         at.increment(error))
      if (at->is_regular_file())
        files.push_back(at->path().string());
    if (error || files.size() == first)
      throw Failure(ExitCode::Data,
                    "folder '" + input + "' " +
                        (error ? "cannot be read: " + error.message()
                               : "contains no files"));
    std::sort(files.begin() + static_cast<ptrdiff_t>(first), files.end());
  }
  std::vector<NamedFile> named{{"--output", options.output, true}};
  for (const std::string &file : files)
    named.push_back({"an input", file, false});
  checkDistinct(named);
  return files;
}

/// Calls `action` with the text of each file. Failures name the file.
static void forEachText(const std::vector<std::string> &files,
                        const std::function<void(std::string_view)> &action) {
  for (const std::string &path : files) {
    std::shared_ptr<const Bytes> bytes = Bytes::open(path);
    try {
      action({reinterpret_cast<const char *>(bytes->data()), bytes->size()});
    } catch (const Failure &failure) {
      if (failure.code() != ExitCode::Data)
        throw;
      throw Failure(ExitCode::Data, "'" + path + "': " + failure.what());
    }
    bytes->checkIntact();
  }
}

/// How the tokens are stored.
static FileType typeFor(const Options &options, int32_t vocabulary) {
  constexpr int32_t most = 1 << 16;
  if (options.type == "u16" && vocabulary > most)
    throw Failure(ExitCode::Usage,
                  "'--type' is 'u16', and the vocabulary has " +
                      std::to_string(vocabulary) +
                      " tokens; expected 'i32' for more than 65536");
  return options.type == "i32" || vocabulary > most ? FileType::I32
                                                    : FileType::U16;
}

static void encode(const Options &options) {
  std::unique_ptr<Tokenizer> tokenizer = openTokenizer(options.tokenizer);
  const std::optional<int32_t> last =
      options.endOfText ? tokenizer->endOfText() : std::nullopt;
  if (options.endOfText && !last)
    throw Failure(ExitCode::Usage, "tokenizer '" + options.tokenizer +
                                       "' has no token for '--end-of-text'");
  const FileType type = typeFor(options, tokenizer->vocabularySize());
  const std::vector<std::string> files = listFiles(options);
  TokenWriter writer(options.output, type, tokenizer->vocabularySize(),
                     tokenizer->identity());
  int64_t bytes = 0;
  forEachText(files, [&](std::string_view text) {
    // No document, so that no special token ends it either.
    if (text.empty())
      return;
    bytes += static_cast<int64_t>(text.size());
    tokenizer->encode(text, [&](const int32_t *tokens, size_t count) {
      writer.append(tokens, count);
    });
    if (last)
      writer.append(&*last, 1);
    writer.endDocument();
  });
  if (writer.tokens() == 0)
    throw Failure(ExitCode::Data, "the inputs have no text");
  writer.commit();
  printOut(escapeControls(options.output) + ": " +
           counted(writer.tokens(), "token") + " (" + nameOf(type) + ") of " +
           counted(writer.documents(), "document") + ", " +
           counted(bytes, "byte") + "; vocabulary " +
           std::to_string(tokenizer->vocabularySize()) + " (" +
           tokenizer->identity() + ")\n");
}

static void writeCharacters(const Options &options) {
  const std::vector<std::string> files = listFiles(options);
  CharacterSet characters;
  forEachText(files, [&](std::string_view text) { characters.add(text); });
  if (characters.size() == 0)
    throw Failure(ExitCode::Data, "the inputs have no text");
  AtomicFile file(options.output, characterFileForm);
  const std::string text = characters.toJson();
  file.write(text.data(), text.size());
  file.commit();
  printOut(escapeControls(options.output) + ": " +
           counted(static_cast<int64_t>(characters.size()), "character") +
           "\n");
}

static TokenFile openTokens(const std::string &path) {
  std::shared_ptr<const Bytes> bytes = Bytes::open(path);
  if (!looksLikeTokens(*bytes))
    throw Failure(ExitCode::Data,
                  "'" + path +
                      "' is not a token file; expected one that "
                      "'meshc-tokens encode' wrote");
  return readTokenFile(bytes);
}

static void decode(const Options &options) {
  std::unique_ptr<Tokenizer> tokenizer = openTokenizer(options.tokenizer);
  TokenFile file = openTokens(options.inputs.front());
  if (file.identity != tokenizer->identity())
    throw Failure(ExitCode::Data, "token file '" + options.inputs.front() +
                                      "' was written with tokenizer '" +
                                      file.identity +
                                      "', and '--tokenizer' is "
                                      "'" +
                                      tokenizer->identity() + "'");
  if (options.first >= file.tokenCount)
    throw Failure(ExitCode::Usage,
                  "'--first' is " + std::to_string(options.first) +
                      ", and token file '" + options.inputs.front() + "' has " +
                      counted(file.tokenCount, "token") + "; expected 0 to " +
                      std::to_string(file.tokenCount - 1));
  const Convert convert = findConvert(file.type, false, MESHC_I32);
  const int64_t size = sizeOf(file.type);
  std::vector<int32_t> tokens;
  int32_t previous = -1;
  int64_t at = options.first;
  int64_t left = std::min(options.count, file.tokenCount - at);
  while (left > 0) {
    tokens.resize(static_cast<size_t>(std::min<int64_t>(left, 1 << 16)));
    auto count = static_cast<int64_t>(tokens.size());
    convert(tokens.data(), 1, file.tokens + at * size, count);
    file.bytes->checkIntact();
    std::string text;
    for (int32_t token : tokens) {
      if (token < 0 || token >= tokenizer->vocabularySize())
        checkTokens(file); // throws, as the writer wrote no such token
      text += tokenizer->bytesOf(token, previous);
      previous = token;
    }
    printRaw(text);
    at += count;
    left -= count;
  }
}

static void printInfo(const Options &options) {
  const std::string &path = options.inputs.front();
  TokenFile file = openTokens(path);
  checkTokens(file);
  printOut(escapeControls(path) + ": " + counted(file.tokenCount, "token") +
           " (" + nameOf(file.type) + ") of " +
           counted(file.documentCount, "document") + "; vocabulary " +
           std::to_string(file.vocabulary) + " (" +
           escapeControls(file.identity) + "), largest token " +
           std::to_string(file.largest) + "; intact\n");
}

void meshc::tokens::run(const Options &options) {
  switch (options.command) {
  case Command::Encode:
    return encode(options);
  case Command::Decode:
    return decode(options);
  case Command::Characters:
    return writeCharacters(options);
  case Command::Info:
    return printInfo(options);
  }
}
