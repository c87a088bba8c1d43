//===- TokenWriter.h - writing files of tokens ------------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_TOKENS_TOKENWRITER_H
#define MESHC_RUNTIME_TOKENS_TOKENWRITER_H

#include "runtime/Checkpoint/AtomicFile.h"
#include "runtime/Data/TokenFile.h"

#include <vector>

namespace meshc::runtime {

/// Token files, and vocabularies of characters, when they are written. Failures
/// have ExitCode::Checkpoint, as all files that cannot be written.
extern const FileForm tokenFileForm, characterFileForm;

/// Writes a token file, which appears whole or not at all. Holds 64 kB of
/// tokens, and eight bytes for each document.
class TokenWriter {
public:
  /// `type`: U16 or I32. `vocabulary` tokens, named by `identity`, of at most
  /// 64 bytes. Throws the failures of AtomicFile.
  TokenWriter(const std::string &path, FileType type, int64_t vocabulary,
              const std::string &identity);

  /// Appends tokens, each ≥ 0 and below the vocabulary's size, to the current
  /// document.
  void append(const int32_t *tokens, size_t count);
  /// Ends the current document. One without tokens is none.
  void endDocument();
  /// Publishes the file, whose last document has ended.
  void commit();

  int64_t tokens() const { return static_cast<int64_t>(header.tokens); }
  int64_t documents() const { return static_cast<int64_t>(ends.size()); }

private:
  void flush();

  TokenFileHeader header = {};
  std::vector<char> buffer;
  std::vector<uint64_t> ends;
  AtomicFile file;
};

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_TOKENS_TOKENWRITER_H
