//===- KeyedNumber.h - numbers in the system's text files -------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_BASE_KEYEDNUMBER_H
#define MESHC_RUNTIME_BASE_KEYEDNUMBER_H

#include <cstdint>
#include <optional>
#include <string>

namespace meshc::runtime {

/// The number of the first line "KEY: NUMBER" or "KEY NUMBER" of the file at
/// `path`, as in /proc/meminfo and in a control group's memory.stat. Nothing if
/// there is no such file or line.
std::optional<int64_t> readKeyedNumber(const std::string &path,
                                       const std::string &key);

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_BASE_KEYEDNUMBER_H
