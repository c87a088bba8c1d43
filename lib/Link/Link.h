//===- Link.h - from an object to an executable ---------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_LINK_LINK_H
#define MESHC_LIB_LINK_LINK_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

namespace meshc::link {

struct LinkOptions {
  /// The runtime's archive; empty: libmeshc_runtime.a in ../lib/meshc (an
  /// installed tree) or ../lib (a build tree), relative to the running tool.
  std::string runtime;
  /// The C++ compiler that drives the linker; empty: the one that built meshc,
  /// else clang++ or c++ from the PATH.
  std::string driver;
  /// Path of the running tool (argv[0]), used to find the runtime.
  std::string tool;
};

/// Links `object` (the bytes of an object file that defines `meshc_program`)
/// with the runtime into the executable `output`. The file is complete or
/// absent: it is written under another name and renamed. No other file remains.
/// The program's run path is the directory of the runtime's archive, where its
/// plugins are. The error names what is missing and how to get it, or has the
/// linker's output below its first line.
llvm::Error linkProgram(llvm::ArrayRef<char> object, llvm::StringRef output,
                        const LinkOptions &options = {});

/// Flushes standard output. The error gives the reason if that fails: a full
/// disk, or a pipe without a reader.
llvm::Error flushOutput();

/// Writes the bytes to a file that is complete or absent; "-" is standard
/// output.
llvm::Error writeFile(llvm::StringRef path, llvm::ArrayRef<char> bytes);

} // namespace meshc::link

#endif // MESHC_LIB_LINK_LINK_H
