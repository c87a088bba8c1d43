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

/// From here on a process whose memory ends says so on standard error and exits
/// with ExitCode::Memory, at once: nothing is unwound.
void exitWhereMemoryEnds();

/// Bytes that this process can still take, about; infinite where the system
/// does not say.
double getAvailableMemory();

/// "1.5 GB": of bytes, in powers of 1000.
std::string formatMemory(double bytes);

} // namespace meshc

#endif // MESHC_LIB_PIPELINE_MEMORY_H
