//===- ProcessMemory.h - how much memory this process holds -----*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_BASE_PROCESSMEMORY_H
#define MESHC_RUNTIME_BASE_PROCESSMEMORY_H

#include <cstdint>

namespace meshc::runtime {

/// The most memory that this process has held so far, in bytes (VmHWM).
int64_t peakMemory();

/// Memory held at present, in bytes (VmRSS).
int64_t residentMemory();

/// Of a mapping of `bytes` bytes at `begin`, a page boundary: what of it is
/// held now, in bytes. A part of a mapped file takes no memory until it is
/// read.
int64_t residentMemory(const void *begin, int64_t bytes);

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_BASE_PROCESSMEMORY_H
