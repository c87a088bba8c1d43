//===- Format.cpp - quantities as text ------------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Report/Format.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

namespace meshc::report {

std::string formatBytes(double bytes) {
  std::string text;
  llvm::raw_string_ostream out(text);
  if (bytes < 1e3)
    out << llvm::format("%.0f B", bytes);
  else if (bytes < 1e6)
    out << llvm::format("%.1f kB", bytes / 1e3);
  else if (bytes < 1e9)
    out << llvm::format("%.1f MB", bytes / 1e6);
  else
    out << llvm::format("%.1f GB", bytes / 1e9);
  return text;
}

std::string formatSeconds(double seconds) {
  std::string text;
  llvm::raw_string_ostream out(text);
  if (seconds < 1e-3)
    out << llvm::format("%.1f us", seconds * 1e6);
  else if (seconds < 1)
    out << llvm::format("%.1f ms", seconds * 1e3);
  else
    out << llvm::format("%.1f s", seconds);
  return text;
}

} // namespace meshc::report
