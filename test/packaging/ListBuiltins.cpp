//===- ListBuiltins.cpp - the names of the language's functions -----------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Frontend/Builtins.h"
#include "llvm/Support/raw_ostream.h"

int main() {
  for (std::string_view name : meshc::frontend::builtinNames())
    llvm::outs() << name << "\n";
}
