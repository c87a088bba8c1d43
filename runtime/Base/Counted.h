//===- Counted.h - numbers of things as text --------------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_BASE_COUNTED_H
#define MESHC_RUNTIME_BASE_COUNTED_H

#include <cstdint>
#include <string>

namespace meshc::runtime {

/// "1 example", "2 examples".
inline std::string counted(int64_t count, const std::string &what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_BASE_COUNTED_H
