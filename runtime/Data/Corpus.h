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
#include <string>

namespace meshc::runtime {

/// How a corpus is read.
struct CorpusOptions {
  /// The tokens of a file that is no token file: U8, U16 or I32.
  FileType type = FileType::U8;
  /// Tokens from the start of a window to that of the next; 0: as many as a
  /// window has targets, so that each token is a target once.
  int64_t stride = 1;
};

/// What a window says of its tokens beside the tokens themselves.
enum class WindowRole : uint8_t {
  Tokens,
  Segments,  ///< how many documents began in the window before the token's
  Positions, ///< tokens of its document in the window before it
  Mask ///< 1 if the next token, which is its target, is in the same document,
       ///< else 0
};

/// The tokens of a file, and the windows through which they are read. Window i
/// begins at token i·stride and has the token after its last one as target, so
/// that the last windows that fit end before the last token.
struct Corpus {
  std::shared_ptr<const Bytes> bytes;
  FileType type = FileType::U8;
  const uint8_t *tokens = nullptr;
  int64_t count = 0;   ///< tokens
  int64_t largest = 0; ///< no token of a token file exceeds it; otherwise 0
  /// The ends of the documents, u64. Null: all is one document.
  const uint8_t *documentEnds = nullptr;
  int64_t documents = 1;
  int64_t window = 1, stride = 1;

  int64_t windows() const { return (count - window - 1) / stride + 1; }
  /// The tokens at the end that are no window's targets.
  int64_t leftOut() const {
    return count - 1 - ((windows() - 1) * stride + window);
  }
  /// Writes what `role`, not Tokens, says of the tokens of window `index`.
  void describe(int64_t index, WindowRole role, int32_t *out) const;

private:
  int64_t endOf(int64_t document) const;
};

/// The name of a role in options: "@segments", "@positions", "@mask"; empty for
/// Tokens.
const char *nameOf(WindowRole role);
/// The role of such a name. Throws Failure(Usage) for another `name`.
WindowRole parseWindowRole(const std::string &name);

/// The corpus in a file, which is read through windows of `window` ≥ 1 tokens;
/// `options.stride` ≥ 1.
/// Throws Failure(Data) if the file is damaged or has no window.
std::shared_ptr<const Corpus> openCorpus(std::shared_ptr<const Bytes> bytes,
                                         int64_t window,
                                         const CorpusOptions &options);

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_DATA_CORPUS_H
