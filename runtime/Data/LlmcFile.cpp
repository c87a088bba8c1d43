//===- LlmcFile.cpp - llm.c's files of tokens -----------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Data/LlmcFile.h"

#include "runtime/Base/Counted.h"
#include "runtime/Base/Failure.h"

#include <cstring>

using namespace meshc::runtime;

namespace {

struct LlmcKind {
  int32_t magic;
  int32_t version;
  FileType type;
};

struct LlmcHeader {
  int32_t magic, version, tokens;
};

} // namespace

static const LlmcKind llmcKinds[] = {{20240520, 1, FileType::U16},
                                     {20240801, 7, FileType::I32}};
/// Of a file of questions with several answers.
static constexpr int32_t questionsMagic = 20240522;
static constexpr size_t llmcHeaderBytes = 256 * sizeof(int32_t);

static LlmcHeader readNumbers(const Bytes &bytes) {
  LlmcHeader header = {};
  if (bytes.size() >= sizeof(header))
    std::memcpy(&header, bytes.data(), sizeof(header));
  return header;
}

/// The bytes of a file with this header.
static uint64_t bytesOf(const LlmcHeader &header, FileType type) {
  return llmcHeaderBytes + static_cast<uint64_t>(header.tokens) *
                               static_cast<uint64_t>(sizeOf(type));
}

/// Whether version and number of tokens are those of a file of this kind,
/// whatever the magic number is. No other file of so many bytes begins so by
/// chance.
static bool isKindButForMagic(const Bytes &bytes, const LlmcKind &kind) {
  const LlmcHeader header = readNumbers(bytes);
  return header.version == kind.version && header.tokens > 0 &&
         bytes.size() == bytesOf(header, kind.type);
}

bool meshc::runtime::looksLikeLlmc(const Bytes &bytes) {
  const int32_t magic = readNumbers(bytes).magic;
  if (magic == questionsMagic)
    return true;
  for (const LlmcKind &kind : llmcKinds)
    if (magic == kind.magic || isKindButForMagic(bytes, kind))
      return true;
  return false;
}

TokenFile meshc::runtime::readLlmcFile(std::shared_ptr<const Bytes> bytes) {
  const LlmcHeader header = readNumbers(*bytes);
  auto damage = [&](const std::string &what) {
    return Failure(ExitCode::Data,
                   "token file '" + bytes->path() + "' of llm.c " + what);
  };
  if (header.magic == questionsMagic)
    throw damage("has the magic number " + std::to_string(questionsMagic) +
                 " of questions with several answers; expected 20240520 or "
                 "20240801, for tokens of u16 or u32");
  const LlmcKind *kind = nullptr;
  for (const LlmcKind &one : llmcKinds)
    if (header.magic == one.magic)
      kind = &one;
  if (!kind)
    throw damage("begins with the number " + std::to_string(header.magic) +
                 ", and the rest of its header is that of a token file; "
                 "expected 20240520 or 20240801; fetch it again");
  const std::string magic = std::to_string(kind->magic);
  if (bytes->size() < llmcHeaderBytes)
    throw damage("ends within its header of " +
                 std::to_string(llmcHeaderBytes) + " bytes; fetch it again");
  if (header.version != kind->version)
    throw damage("has version " + std::to_string(header.version) +
                 "; expected version " + std::to_string(kind->version) +
                 " behind the magic number " + magic);
  if (header.tokens < 0 || bytes->size() != bytesOf(header, kind->type))
    throw damage(
        "has " +
        counted(static_cast<int64_t>(bytes->size() - llmcHeaderBytes), "byte") +
        " behind its header, which says " + counted(header.tokens, "token") +
        " of " + std::to_string(sizeOf(kind->type)) + " bytes; fetch it again");
  TokenFile file;
  file.type = kind->type;
  file.tokens = bytes->data() + llmcHeaderBytes;
  file.tokenCount = header.tokens;
  file.documentCount = 1;
  file.bytes = std::move(bytes);
  file.bytes->checkIntact();
  return file;
}
