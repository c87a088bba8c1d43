//===- Format.h - quantities as text --------------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_REPORT_FORMAT_H
#define MESHC_LIB_REPORT_FORMAT_H

#include <string>

namespace meshc::report {

/// "512 B", "1.5 kB", "2.0 MB", "3.1 GB" (powers of 1000).
std::string formatBytes(double bytes);

/// "3.1 us", "2.0 ms", "1.5 s".
std::string formatSeconds(double seconds);

} // namespace meshc::report

#endif // MESHC_LIB_REPORT_FORMAT_H
