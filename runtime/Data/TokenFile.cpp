//===- TokenFile.cpp - files of tokens ------------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Data/TokenFile.h"

#include "runtime/Base/Counted.h"
#include "runtime/Base/Crc32c.h"
#include "runtime/Base/Failure.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

using namespace meshc::runtime;

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
              "token files are read as they are");

static constexpr size_t magicBytes = sizeof(tokenFileMagic) - 1;

static bool hasMagic(const Bytes &bytes) {
  return bytes.size() >= magicBytes &&
         std::memcmp(bytes.data(), tokenFileMagic, magicBytes) == 0;
}

/// The checksum of the header with the right magic.
static uint32_t checksumOf(TokenFileHeader header) {
  std::memcpy(header.magic, tokenFileMagic, magicBytes);
  return crc32c(&header, offsetof(TokenFileHeader, checksum));
}

bool meshc::runtime::looksLikeTokens(const Bytes &bytes) {
  TokenFileHeader header;
  if (hasMagic(bytes))
    return true;
  if (bytes.size() < sizeof(header))
    return false;
  std::memcpy(&header, bytes.data(), sizeof(header));
  return header.version == tokenFileVersion &&
         header.checksum == checksumOf(header);
}

static Failure damage(const Bytes &bytes, const std::string &what) {
  return Failure(ExitCode::Data, "token file '" + bytes.path() + "' " + what +
                                     "; write it again with 'meshc-tokens "
                                     "encode'");
}

/// Copies the header and checks all that it says of itself.
static TokenFileHeader readHeader(const Bytes &bytes) {
  TokenFileHeader header;
  if (bytes.size() < sizeof(header))
    throw damage(bytes, "ends within its header");
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (!hasMagic(bytes))
    throw damage(bytes, "has a damaged header: it begins with other bytes than "
                        "'meshctok'");
  if (header.version != tokenFileVersion)
    throw damage(bytes, "has version " + std::to_string(header.version) +
                            " of the format, and this program reads version " +
                            std::to_string(tokenFileVersion));
  if (header.checksum != checksumOf(header))
    throw damage(bytes, "has a damaged header: its checksum is wrong");
  // No size below overflows: a file has fewer than 2^62 bytes.
  const uint64_t most = uint64_t(1) << 59;
  if ((header.tokenBytes != 2 && header.tokenBytes != 4) ||
      header.tokens > most || header.documents > most)
    throw damage(bytes, "has impossible sizes in its header");
  return header;
}

/// Checks that the documents divide the tokens.
static void checkDocuments(const TokenFile &file, uint32_t checksum) {
  const auto bytes = static_cast<size_t>(file.documentCount) * sizeof(uint64_t);
  if (crc32c(file.documentEnds, bytes) != checksum)
    throw damage(*file.bytes,
                 "has a damaged list of documents: its checksum is wrong");
  uint64_t before = 0;
  for (int64_t i = 0; i < file.documentCount; ++i) {
    uint64_t end;
    std::memcpy(&end, file.documentEnds + i * sizeof(end), sizeof(end));
    if (end <= before)
      throw damage(*file.bytes, "has documents that do not grow");
    before = end;
  }
  if (before != static_cast<uint64_t>(file.tokenCount))
    throw damage(*file.bytes, "has documents of " + std::to_string(before) +
                                  " tokens, and " +
                                  std::to_string(file.tokenCount) + " tokens");
}

TokenFile meshc::runtime::readTokenFile(std::shared_ptr<const Bytes> bytes) {
  const TokenFileHeader header = readHeader(*bytes);
  TokenFile file;
  file.type = header.tokenBytes == 2 ? FileType::U16 : FileType::I32;
  file.tokenCount = static_cast<int64_t>(header.tokens);
  file.documentCount = static_cast<int64_t>(header.documents);
  file.vocabulary = header.vocabulary;
  file.largest = header.largest;
  file.identity.assign(header.identity,
                       strnlen(header.identity, tokenIdentityBytes));
  if (!std::all_of(file.identity.begin(), file.identity.end(),
                   [](char letter) { return letter > ' ' && letter < 127; }))
    throw damage(*bytes, "has an impossible name of a tokenizer in its header");
  file.tokensChecksum = header.tokensChecksum;
  const uint64_t tokenBytes = header.tokens * header.tokenBytes;
  const uint64_t documentsAt =
      sizeof(header) + tokenBytes + paddingAfter(tokenBytes);
  const uint64_t wanted = documentsAt + header.documents * sizeof(uint64_t);
  if (bytes->size() != wanted)
    throw damage(*bytes,
                 "has " + counted(static_cast<int64_t>(bytes->size()), "byte") +
                     "; its header says " + std::to_string(wanted));
  file.tokens = bytes->data() + sizeof(header);
  file.documentEnds = bytes->data() + documentsAt;
  file.bytes = std::move(bytes);
  checkDocuments(file, header.documentsChecksum);
  file.bytes->checkIntact();
  return file;
}

void meshc::runtime::checkTokens(const TokenFile &file) {
  const size_t bytes = static_cast<size_t>(file.tokenCount) *
                       static_cast<size_t>(sizeOf(file.type));
  uint32_t checksum = crc32c(file.tokens, bytes);
  file.bytes->checkIntact();
  if (checksum != file.tokensChecksum)
    throw damage(*file.bytes, "has damaged tokens: their checksum is " +
                                  formatCrc32c(checksum) +
                                  ", and its header says " +
                                  formatCrc32c(file.tokensChecksum));
}
