//===- Main.cpp - main of compiled programs -------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A separate object file, so that a program with its own main (a test) can
/// link the runtime.
///
//===----------------------------------------------------------------------===//
#include "meshc/RuntimeAbi.h"
#include "runtime/Commands/Entry.h"

int main(int argc, char **argv) {
  return meshc::runtime::runProgram(meshc_program, argc, argv);
}
