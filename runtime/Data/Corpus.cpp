//===- Corpus.cpp - a stream of tokens and its windows --------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Data/Corpus.h"

#include "runtime/Base/Failure.h"

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

/// The tokens of a file without a header.
static void readPlain(Corpus &corpus, FileType type) {
  const int64_t size = sizeOf(type);
  const auto length = static_cast<int64_t>(corpus.bytes->size());
  if (length % size != 0)
    throw Failure(ExitCode::Data, "data file '" + corpus.bytes->path() +
                                      "' has " + std::to_string(length) +
                                      " bytes, which are not tokens of " +
                                      std::to_string(size) +
                                      " bytes ('--token-type')");
  corpus.type = type;
  corpus.tokens = corpus.bytes->data();
  corpus.count = length / size;
}

static void readTokens(Corpus &corpus) {
  TokenFile file = readTokenFile(corpus.bytes);
  corpus.type = file.type;
  corpus.tokens = file.tokens;
  corpus.count = file.tokenCount;
  corpus.documentEnds = file.documentEnds;
  corpus.documents = file.documentCount;
  corpus.largest = file.largest;
}

std::shared_ptr<const Corpus>
meshc::runtime::openCorpus(std::shared_ptr<const Bytes> bytes, int64_t window,
                           const CorpusOptions &options) {
  auto corpus = std::make_shared<Corpus>();
  corpus->bytes = std::move(bytes);
  if (looksLikeTokens(*corpus->bytes))
    readTokens(*corpus);
  else
    readPlain(*corpus, options.type);
  corpus->window = window;
  corpus->stride = options.stride;
  if (corpus->count <= window)
    throw Failure(ExitCode::Data,
                  "data file '" + corpus->bytes->path() + "' has " +
                      std::to_string(corpus->count) + " tokens; a window of " +
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
