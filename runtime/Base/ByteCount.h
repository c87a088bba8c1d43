//===- ByteCount.h - numbers of bytes with a unit ---------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_BASE_BYTECOUNT_H
#define MESHC_RUNTIME_BASE_BYTECOUNT_H

#include <cstdint>
#include <optional>
#include <string_view>

namespace meshc::runtime {

/// The bytes that an option's value stands for: "800000", "800M", "1.5G" or
/// "1.5GB", in powers of 1000. A part of a byte is dropped, and what is above
/// INT64_MAX is INT64_MAX. Nothing for any other text.
std::optional<int64_t> parseByteCount(std::string_view text);

/// What parseByteCount accepts, for an error.
inline constexpr const char *byteCountForm =
    "a number of bytes, such as 800M, 1.5G or 8GB (units are k, M, G and T, "
    "powers of 1000, also written kB to TB)";

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_BASE_BYTECOUNT_H
