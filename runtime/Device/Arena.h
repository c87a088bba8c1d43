//===- Arena.h - the memory of a rank ---------------------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The one allocation in which all tensors of a rank live, at offsets that the
/// compiler planned.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_DEVICE_ARENA_H
#define MESHC_RUNTIME_DEVICE_ARENA_H

#include <cstddef>
#include <cstdint>

namespace meshc::runtime {

/// Zeroed memory, mapped and touched immediately so that no step meets a page
/// fault, in huge pages if the system has them.
class Arena {
public:
  /// Throws Failure(Internal) if the machine does not have `size` ≥ 0 bytes
  /// left.
  explicit Arena(int64_t size);
  ~Arena();
  Arena(const Arena &) = delete;
  Arena &operator=(const Arena &) = delete;

  /// Aligned to a page.
  char *data() const { return base; }
  int64_t size() const { return length; }

private:
  char *base;
  int64_t length;
};

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_DEVICE_ARENA_H
