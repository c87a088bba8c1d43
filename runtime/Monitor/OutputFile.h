//===- OutputFile.h - files that a run writes as it goes --------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_MONITOR_OUTPUTFILE_H
#define MESHC_RUNTIME_MONITOR_OUTPUTFILE_H

#include <cstdio>
#include <string>

namespace meshc::runtime {

/// Opens `path` for writing: empties it, or with `appends` keeps what it holds,
/// which can then be read, too. A named pipe may wait a few seconds for the
/// process that reads it. `kind`: what messages call the file, as in "log
/// file". Throws Failure(Usage) if it cannot be opened.
std::FILE *openOutputFile(const std::string &path, const std::string &kind,
                          bool appends = false);

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_MONITOR_OUTPUTFILE_H
