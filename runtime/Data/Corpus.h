//===- Corpus.h - a stream of tokens and its windows ------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_DATA_CORPUS_H
#define MESHC_RUNTIME_DATA_CORPUS_H

#include "runtime/Data/TokenFile.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace meshc::runtime {

/// How a corpus is read.
struct CorpusOptions {
  /// The tokens of a file without a header, if the user said so: U8, U16 or
  /// I32. Otherwise they are bytes, and a file whose name ends in that of
  /// another format must be of that format.
  std::optional<FileType> type;
  /// Tokens from the start of a window to that of the next; 0: as many as a
  /// window has targets, so that each token is a target once.
  int64_t stride = 1;
  /// No window, with the token after it, has parts of several documents.
  bool withinDocuments = false;
  /// The option that names the files, for messages.
  const char *option = "--data";
};

/// What a window says of its tokens beside the tokens themselves.
enum class WindowRole : uint8_t {
  Tokens,
  Segments,  ///< how many documents began in the window before the token's
  Positions, ///< tokens of its document in the window before it
  Mask ///< 1 if the next token, which is its target, is in the same document,
       ///< else 0
};

/// The tokens of a file, and the windows through which they are read. Windows
/// begin at every stride-th token of the file or, within documents, of each
/// document. A window has the token after its last one as target, so that the
/// last windows that fit end before the last token.
struct Corpus {
  std::shared_ptr<const Bytes> bytes;
  FileType type = FileType::U8;
  const uint8_t *tokens = nullptr;
  int64_t count = 0;   ///< tokens
  int64_t largest = 0; ///< no token of a token file exceeds it; otherwise 0
  /// The tokenizer that a token file names, "bytes" for bytes without a header,
  /// else empty.
  std::string tokenizer;
  bool hasHeader = true; ///< which says that the file holds tokens
  /// The ends of the documents, u64. Null: all is one document.
  const uint8_t *documentEnds = nullptr;
  int64_t documents = 1;
  int64_t window = 1, stride = 1;
  /// Within documents: how many windows the documents before each one have, and
  /// all together. Empty: windows cross documents.
  std::vector<int64_t> windowsBefore;

  int64_t windows() const {
    return windowsBefore.empty() ? windowsIn(count) : windowsBefore.back();
  }
  /// The token at which window `index` begins.
  int64_t firstOf(int64_t index) const;
  /// The tokens after the target of the last window, of the file or of each
  /// document, and all tokens of documents without a window.
  int64_t leftOut() const;
  /// Writes what `role`, not Tokens, says of the tokens of window `index`.
  void describe(int64_t index, WindowRole role, int32_t *out) const;

  /// Fills windowsBefore.
  void stayWithinDocuments();

private:
  int64_t beginOf(int64_t document) const {
    return document ? endOf(document - 1) : 0;
  }
  int64_t endOf(int64_t document) const;
  /// The windows of so many tokens in sequence.
  int64_t windowsIn(int64_t tokens) const {
    return tokens > window ? (tokens - window - 1) / stride + 1 : 0;
  }
  int64_t leftOutOf(int64_t tokens) const;
};

/// The name of a role in options: "@segments", "@positions", "@mask"; empty for
/// Tokens.
const char *nameOf(WindowRole role);
/// The role of such a name. Throws Failure(Usage) for another `name`.
WindowRole parseWindowRole(const std::string &name);

/// The corpus in a file, which is read through windows of `window` ≥ 1 tokens;
/// `options.stride` ≥ 1.
/// Throws Failure(Data) if the file is damaged or has no window; within
/// documents, if none of them has.
std::shared_ptr<const Corpus> openCorpus(std::shared_ptr<const Bytes> bytes,
                                         int64_t window,
                                         const CorpusOptions &options);

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_DATA_CORPUS_H
