//===- Crc32c.h - the checksum of checkpoints -------------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// CRC-32C (Castagnoli), as RFC 3720 (iSCSI), appendix B.4, defines it:
/// polynomial 0x1edc6f41, reflected, initial value and final XOR of all ones.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_BASE_CRC32C_H
#define MESHC_RUNTIME_BASE_CRC32C_H

#include <cstddef>
#include <cstdint>
#include <string>

namespace meshc::runtime {

/// The checksum of bytes that follow those with checksum `before` (0: none), so
/// that crc32c(b, n, crc32c(a, m)) covers a and b together. Uses the CPU's
/// instruction (SSE 4.2) if it has one. `data` may have any alignment.
uint32_t crc32c(const void *data, size_t bytes, uint32_t before = 0);

/// The same computed from tables, on any CPU.
uint32_t crc32cByTable(const void *data, size_t bytes, uint32_t before = 0);

/// Eight hexadecimal digits, "e3069283".
std::string formatCrc32c(uint32_t checksum);

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_BASE_CRC32C_H
