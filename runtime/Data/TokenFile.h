//===- TokenFile.h - files of tokens ----------------------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The format of token files, which `meshc-tokens encode` writes. Numbers are
/// little-endian.
///
///     offset  type
///          0  8 bytes  "meshctok"
///          8  u32      version: 1
///         12  u32      bytes of a token: 2 (u16) or 4 (i32)
///         16  u64      number of tokens, n
///         24  u64      number of documents, d
///         32  u32      size of the vocabulary
///         36  u32      the largest token
///         40  u32      CRC-32C of the tokens
///         44  u32      CRC-32C of the documents
///         48  64 bytes the tokenizer's identity, zeros after it
///        112  12 bytes zeros
///        124  u32      CRC-32C of the bytes before
///        128           n tokens, then zeros up to a multiple of 8
///                      d u64: the number of tokens up to the end of each
///                      document; they grow, and the last one is n
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_DATA_TOKENFILE_H
#define MESHC_RUNTIME_DATA_TOKENFILE_H

#include "runtime/Data/Array.h"

#include <cstdint>
#include <memory>
#include <string>

namespace meshc::runtime {

constexpr char tokenFileMagic[] = "meshctok";
constexpr uint32_t tokenFileVersion = 1;
constexpr size_t tokenIdentityBytes = 64;

/// The first bytes of a token file, as they are in memory.
struct TokenFileHeader {
  char magic[8];
  uint32_t version, tokenBytes;
  uint64_t tokens, documents;
  uint32_t vocabulary, largest;
  uint32_t tokensChecksum, documentsChecksum;
  char identity[tokenIdentityBytes];
  char reserved[12];
  uint32_t checksum;
};
static_assert(sizeof(TokenFileHeader) == 128, "the format has no padding");

/// The bytes of zeros after `tokenBytes` bytes of tokens.
constexpr size_t paddingAfter(size_t tokenBytes) { return -tokenBytes & 7; }

/// A token file that was opened. Its tokens and documents are in `bytes`.
struct TokenFile {
  std::shared_ptr<const Bytes> bytes;
  FileType type = FileType::U16; ///< U16 or I32
  const uint8_t *tokens = nullptr;
  const uint8_t *documentEnds = nullptr; ///< u64
  int64_t tokenCount = 0, documentCount = 0;
  int64_t vocabulary = 0, largest = 0;
  std::string identity;
  uint32_t tokensChecksum = 0;
};

/// Whether the file begins like a token file, or would if its first 8 bytes
/// were not damaged: the checksum of its header tells.
bool looksLikeTokens(const Bytes &bytes);

/// Reads the header of a token file, and its documents. Throws Failure(Data) if
/// they are damaged, or the file is shorter or longer than they say.
TokenFile readTokenFile(std::shared_ptr<const Bytes> bytes);

/// Reads all tokens. Throws Failure(Data) if they are not those that were
/// written.
void checkTokens(const TokenFile &file);

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_DATA_TOKENFILE_H
