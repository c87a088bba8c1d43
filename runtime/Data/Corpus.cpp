//===- Corpus.cpp - a stream of tokens and its windows --------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Data/Corpus.h"

#include "runtime/Base/Counted.h"
#include "runtime/Base/Failure.h"
#include "runtime/Data/LlmcFile.h"

#include <algorithm>
#include <cstring>

using namespace meshc::runtime;

const char *meshc::runtime::nameOf(WindowRole role) {
  static const char *const names[] = {"", "@segments", "@positions", "@mask"};
  return names[static_cast<int>(role)];
}

WindowRole meshc::runtime::parseWindowRole(const std::string &name) {
  for (WindowRole role :
       {WindowRole::Segments, WindowRole::Positions, WindowRole::Mask})
    if (name == nameOf(role))
      return role;
  throw Failure(ExitCode::Usage,
                "'" + name +
                    "' is not known of a corpus; expected '@segments', "
                    "'@positions' or '@mask', or './" +
                    name + "' for a file of that name");
}

int64_t Corpus::endOf(int64_t document) const {
  if (!documentEnds)
    return count;
  uint64_t end;
  std::memcpy(&end, documentEnds + document * 8, sizeof(end));
  return static_cast<int64_t>(end);
}

int64_t Corpus::firstOf(int64_t index) const {
  if (windowsBefore.empty())
    return index * stride;
  // Documents without a window have as many before them as the next one.
  auto after =
      std::upper_bound(windowsBefore.begin(), windowsBefore.end(), index);
  const int64_t document = after - windowsBefore.begin() - 1;
  return beginOf(document) + (index - *std::prev(after)) * stride;
}

int64_t Corpus::leftOutOf(int64_t tokens) const {
  const int64_t own = windowsIn(tokens);
  return own ? tokens - 1 - ((own - 1) * stride + window) : tokens;
}

int64_t Corpus::leftOut() const {
  if (windowsBefore.empty())
    return leftOutOf(count);
  int64_t left = 0;
  for (int64_t document = 0; document < documents; ++document)
    left += leftOutOf(endOf(document) - beginOf(document));
  return left;
}

void Corpus::stayWithinDocuments() {
  windowsBefore = {0};
  for (int64_t document = 0; document < documents; ++document)
    windowsBefore.push_back(windowsBefore.back() +
                            windowsIn(endOf(document) - beginOf(document)));
}

void Corpus::describe(int64_t index, WindowRole role, int32_t *out) const {
  const int64_t first = firstOf(index);
  // The document of the window's first token.
  int64_t low = 0, high = documents - 1;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (endOf(middle) > first)
      high = middle;
    else
      low = middle + 1;
  }
  int64_t document = low, begin = first, end = endOf(document);
  for (int64_t i = 0; i < window; ++i) {
    const int64_t at = first + i;
    if (at == end) {
      begin = at;
      end = endOf(++document);
    }
    switch (role) {
    case WindowRole::Tokens:
      break;
    case WindowRole::Segments:
      out[i] = static_cast<int32_t>(document - low);
      break;
    case WindowRole::Positions:
      out[i] = static_cast<int32_t>(at - begin);
      break;
    case WindowRole::Mask:
      out[i] = at + 1 < end;
      break;
    }
  }
}

/// A file whose name promises a format, and which would be taken for bytes, is
/// damaged.
static void checkName(const Bytes &bytes) {
  static const struct {
    const char *ending, *format, *remedy;
  } formats[] = {
      {".tokens", "token file: it does not begin with 'meshctok'",
       "write it again with 'meshc-tokens encode'"},
      {".npy", "NPY file: it does not begin with 93 4e 55 4d",
       "fetch it again"},
      {".gz", "gzip file: it does not begin with 1f 8b", "fetch it again"}};
  std::string name = bytes.path();
  auto endsIn = [&](const std::string &ending) {
    return name.size() >= ending.size() &&
           name.compare(name.size() - ending.size(), ending.size(), ending) ==
               0;
  };
  if (bytes.isUnpacked() && endsIn(".gz"))
    name.resize(name.size() - 3);
  for (const auto &format : formats)
    if (endsIn(format.ending))
      throw Failure(ExitCode::Data,
                    "data file '" + bytes.path() + "' is no " + format.format +
                        "; " + format.remedy +
                        ", or give '--token-type' if it holds tokens without "
                        "a header");
}

/// The tokens of a file without a header.
static void readPlain(Corpus &corpus, std::optional<FileType> type) {
  if (!type)
    checkName(*corpus.bytes);
  corpus.hasHeader = false;
  corpus.type = type.value_or(FileType::U8);
  const int64_t size = sizeOf(corpus.type);
  const auto length = static_cast<int64_t>(corpus.bytes->size());
  if (length % size != 0)
    throw Failure(ExitCode::Data,
                  "data file '" + corpus.bytes->path() + "' has " +
                      counted(length, "byte") + ", which are not tokens of " +
                      std::to_string(size) + " bytes ('--token-type')");
  if (corpus.type == FileType::U8)
    corpus.tokenizer = "bytes";
  corpus.tokens = corpus.bytes->data();
  corpus.count = length / size;
}

static void takeTokens(Corpus &corpus, const TokenFile &file) {
  corpus.type = file.type;
  corpus.tokens = file.tokens;
  corpus.count = file.tokenCount;
  corpus.documentEnds = file.documentEnds;
  corpus.documents = file.documentCount;
  corpus.largest = file.largest;
  corpus.tokenizer = file.identity;
}

std::shared_ptr<const Corpus>
meshc::runtime::openCorpus(std::shared_ptr<const Bytes> bytes, int64_t window,
                           const CorpusOptions &options) {
  auto corpus = std::make_shared<Corpus>();
  corpus->bytes = std::move(bytes);
  if (corpus->bytes->size() == 0)
    throw Failure(ExitCode::Data,
                  "data file '" + corpus->bytes->path() + "' is empty");
  if (looksLikeTokens(*corpus->bytes))
    takeTokens(*corpus, readTokenFile(corpus->bytes));
  else if (looksLikeLlmc(*corpus->bytes))
    takeTokens(*corpus, readLlmcFile(corpus->bytes));
  else
    readPlain(*corpus, options.type);
  corpus->window = window;
  corpus->stride = options.stride;
  if (corpus->count <= window)
    throw Failure(ExitCode::Data,
                  "data file '" + corpus->bytes->path() + "' has " +
                      counted(corpus->count, "token") + "; a window of " +
                      std::to_string(window) + " and the token after it need " +
                      std::to_string(window + 1) + " at least");
  if (options.withinDocuments)
    corpus->stayWithinDocuments();
  if (corpus->windows() == 0)
    throw Failure(ExitCode::Data,
                  "no document of data file '" + corpus->bytes->path() +
                      "' has the " + std::to_string(window + 1) +
                      " tokens of a window of " + std::to_string(window) +
                      " and the token after it; compile the model for a "
                      "smaller window, or leave out '--within-documents'");
  return corpus;
}
