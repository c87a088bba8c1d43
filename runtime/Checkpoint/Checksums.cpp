//===- Checksums.cpp - the checksums of a checkpoint ----------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Checkpoint/Checksums.h"

#include "runtime/Base/Crc32c.h"
#include "runtime/Base/Failure.h"
#include "runtime/Comm/Pulse.h"

#include <algorithm>

using namespace meshc::runtime;

static const std::string sealKey = "meshc.crc32c";

static std::string keyOf(const std::string &tensor) {
  return sealKey + '.' + tensor;
}

static std::string sealOf(const Metadata &metadata) {
  uint32_t checksum = 0;
  for (const auto &[key, value] : metadata) {
    if (key == sealKey || key.rfind("meshc.", 0) != 0)
      continue;
    std::string line = key + '=' + value + '\n';
    checksum = crc32c(line.data(), line.size(), checksum);
  }
  return formatCrc32c(checksum);
}

/// The value of `key`, or null.
static const std::string *find(const Metadata &metadata,
                               const std::string &key) {
  auto found = metadata.find(key);
  return found == metadata.end() ? nullptr : &found->second;
}

void meshc::runtime::setChecksum(Metadata &metadata, const std::string &tensor,
                                 uint32_t checksum) {
  metadata[keyOf(tensor)] = formatCrc32c(checksum);
}

void meshc::runtime::sealMetadata(Metadata &metadata) {
  metadata[sealKey] = sealOf(metadata);
}

void meshc::runtime::verifyTensor(const SafetensorsFile &file,
                                  const FileTensor &tensor) {
  const std::string *expected = find(file.metadata(), keyOf(tensor.name));
  if (!expected)
    return;
  constexpr int64_t pieceBytes = int64_t(16) << 20;
  uint32_t checksum = 0;
  for (int64_t at = 0; at < tensor.bytes(); at += pieceBytes) {
    auto piece = static_cast<size_t>(std::min(pieceBytes, tensor.bytes() - at));
    checksum = crc32c(file.data(tensor) + at, piece, checksum);
    noteProgress();
  }
  std::string found = formatCrc32c(checksum);
  file.checkIntact(); // unreadable files are another error
  if (found == *expected)
    return;
  int64_t offset = file.fileOffset(tensor);
  throw Failure(ExitCode::Checkpoint,
                "checkpoint '" + file.path() + "' is damaged: tensor '" +
                    tensor.name + "', bytes " + std::to_string(offset) +
                    " to " + std::to_string(offset + tensor.bytes()) +
                    " of the file, has CRC-32C " + found + "; expected " +
                    *expected);
}

void meshc::runtime::verifyMetadata(const SafetensorsFile &file) {
  const std::string *expected = find(file.metadata(), sealKey);
  if (!expected)
    return;
  std::string found = sealOf(file.metadata());
  if (found != *expected)
    throw Failure(ExitCode::Checkpoint,
                  "checkpoint '" + file.path() +
                      "' is damaged: its metadata, from byte 8 of the file "
                      "on, have CRC-32C " +
                      found + "; expected " + *expected);
}

void meshc::runtime::verifyFile(const SafetensorsFile &file) {
  verifyMetadata(file);
  for (const auto &[name, tensor] : file.tensors())
    verifyTensor(file, tensor);
}
