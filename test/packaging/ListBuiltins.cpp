//===- ListBuiltins.cpp - the functions of the language -------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

///
/// \file
/// Prints the names of the language's functions or, with any argument, what the
/// front end proposes instead of names of other frameworks.
///
//===----------------------------------------------------------------------===//

#include "lib/Frontend/Builtins.h"
#include "lib/Frontend/Syntax/ForeignNames.h"
#include "llvm/Support/raw_ostream.h"

int main(int argc, char **) {
  for (std::string_view line : argc > 1 ? meshc::syntax::foreignProposals()
                                        : meshc::frontend::builtinNames())
    llvm::outs() << line << "\n";
}
