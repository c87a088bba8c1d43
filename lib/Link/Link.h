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
  /// The runtime's archive; empty: libmeshc_runtime.a in ../lib beside the
  /// running tool, else where it was built.
  std::string runtime;
  /// The C++ compiler that drives the linker; empty: the one that built meshc,
  /// else clang++ or c++ of the PATH.
  std::string driver;
  /// Path of the running tool (argv[0]), to find the runtime by.
  std::string tool;
};

/// Links `object` (the bytes of an object file that defines `meshc_program`)
/// with the runtime into the executable `output`, which appears whole or not at
/// all: it is written beside under another name, then renamed. Nothing else is
/// left behind. The error names what is missing and how to get it, or holds
/// what the linker said.
llvm::Error linkProgram(llvm::ArrayRef<char> object, llvm::StringRef output,
                        const LinkOptions &options = {});

/// Brings to standard output what was printed so far. The error says what could
/// not be written, as where its disk is full or nobody reads its pipe.
llvm::Error flushOutput();

/// Writes the bytes to a file that appears whole or not at all; "-" is standard
/// output.
llvm::Error writeFile(llvm::StringRef path, llvm::ArrayRef<char> bytes);

} // namespace meshc::link

#endif // MESHC_LIB_LINK_LINK_H
