//===- TokenWriter.cpp - writing files of tokens --------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Tokens/TokenWriter.h"

#include "runtime/Base/Crc32c.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

using namespace meshc::runtime;

const FileForm meshc::runtime::tokenFileForm = {
    "token file", ExitCode::Checkpoint,
    [](int descriptor) { return hasTextAt(descriptor, 0, tokenFileMagic); }};
const FileForm meshc::runtime::characterFileForm = {
    "vocabulary", ExitCode::Checkpoint, [](int descriptor) {
      return hasTextAt(descriptor, 0, "{\"characters\":[");
    }};

static constexpr size_t bufferBytes = size_t(1) << 16;

TokenWriter::TokenWriter(const std::string &path, FileType type,
                         int64_t vocabulary, const std::string &identity)
    : file(path, tokenFileForm) {
  std::memcpy(header.magic, tokenFileMagic, sizeof(header.magic));
  header.version = tokenFileVersion;
  header.tokenBytes = static_cast<uint32_t>(sizeOf(type));
  header.vocabulary = static_cast<uint32_t>(vocabulary);
  std::memcpy(header.identity, identity.data(),
              std::min(identity.size(), tokenIdentityBytes));
  buffer.reserve(bufferBytes + sizeof(int32_t));
  // Its checksum is wrong until commit() replaces it.
  file.write(&header, sizeof(header));
}

void TokenWriter::append(const int32_t *tokens, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    auto token = static_cast<uint32_t>(tokens[i]);
    header.largest = std::max(header.largest, token);
    const char *bytes = reinterpret_cast<const char *>(&token);
    buffer.insert(buffer.end(), bytes, bytes + header.tokenBytes);
    if (buffer.size() >= bufferBytes)
      flush();
  }
  header.tokens += count;
}

void TokenWriter::flush() {
  header.tokensChecksum =
      crc32c(buffer.data(), buffer.size(), header.tokensChecksum);
  file.write(buffer.data(), buffer.size());
  buffer.clear();
}

void TokenWriter::endDocument() {
  if (header.tokens != (ends.empty() ? 0 : ends.back()))
    ends.push_back(header.tokens);
}

void TokenWriter::commit() {
  flush();
  const char zeros[8] = {};
  file.write(zeros, paddingAfter(header.tokens * header.tokenBytes));
  const size_t endBytes = ends.size() * sizeof(uint64_t);
  file.write(ends.data(), endBytes);
  header.documents = ends.size();
  header.documentsChecksum = crc32c(ends.data(), endBytes);
  header.checksum = crc32c(&header, offsetof(TokenFileHeader, checksum));
  file.rewriteStart(&header, sizeof(header));
  file.commit();
}
