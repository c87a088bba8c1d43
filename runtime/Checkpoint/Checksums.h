//===- Checksums.h - the checksums of a checkpoint --------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A checkpoint's metadata hold the CRC-32C of each tensor's bytes, as
/// "meshc.crc32c.NAME", and that of the other metadata, as "meshc.crc32c", in
/// eight hexadecimal digits. Files of other tools have no checksums and are
/// read without this check.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_CHECKPOINT_CHECKSUMS_H
#define MESHC_RUNTIME_CHECKPOINT_CHECKSUMS_H

#include "runtime/Checkpoint/Safetensors.h"

#include <cstdint>
#include <string>

namespace meshc::runtime {

/// Sets the checksum of a tensor's bytes.
void setChecksum(Metadata &metadata, const std::string &tensor,
                 uint32_t checksum);

/// Sets the checksum of the metadata; call it after everything else is set. It
/// covers "KEY=VALUE\n" of each key that begins with "meshc.", in the order of
/// keys.
void sealMetadata(Metadata &metadata);

/// Compares a tensor's bytes with its checksum, if it has one. Throws
/// Failure(Checkpoint), which names the file, the tensor and its place in the
/// file.
void verifyTensor(const SafetensorsFile &file, const FileTensor &tensor);

/// Compares the metadata with their checksum, if they have one. Throws
/// Failure(Checkpoint).
void verifyMetadata(const SafetensorsFile &file);

/// Compares the metadata and all tensors.
void verifyFile(const SafetensorsFile &file);

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_CHECKPOINT_CHECKSUMS_H
