//===- LlmcFile.h - llm.c's files of tokens ---------------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The token files of llm.c (github.com/karpathy/llm.c, dev/data), which others
/// write too. Numbers are little-endian.
///
///     offset  type
///          0  i32      magic: 20240520 (tokens of u16) or 20240801 (of u32)
///          4  i32      version: 1 for u16, 7 for u32
///          8  i32      number of tokens
///         12  253 i32  zeros
///       1024           the tokens
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_DATA_LLMCFILE_H
#define MESHC_RUNTIME_DATA_LLMCFILE_H

#include "runtime/Data/TokenFile.h"

#include <memory>

namespace meshc::runtime {

/// Whether the file begins with a magic number of llm.c's data files, or has
/// the rest of the header of its token files.
bool looksLikeLlmc(const Bytes &bytes);

/// Reads the header. The file has no documents and says neither the size of its
/// vocabulary nor its largest token. A token beyond i32 is negative in the
/// result, and no vocabulary has it. Throws Failure(Data) if the header is
/// damaged, of another version or kind of file, or if the file is shorter or
/// longer than it says.
TokenFile readLlmcFile(std::shared_ptr<const Bytes> bytes);

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_DATA_LLMCFILE_H
