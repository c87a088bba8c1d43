//===- Memory.h - where memory is not enough ------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_PIPELINE_MEMORY_H
#define MESHC_LIB_PIPELINE_MEMORY_H

#include <string>

namespace meshc {

/// Installs a handler: when the process runs out of memory, it reports this on
/// standard error and exits immediately with ExitCode::Memory, without
/// unwinding.
void exitWhereMemoryEnds();

/// Approximate number of bytes that this process can still allocate; infinite
/// if unknown.
double getAvailableMemory();

/// Formats bytes in powers of 1000: "1.5 GB".
std::string formatMemory(double bytes);

} // namespace meshc

#endif // MESHC_LIB_PIPELINE_MEMORY_H
