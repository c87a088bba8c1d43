//===- SpmdDialect.cpp - the spmd dialect ---------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Spmd/SpmdOps.h"

#include "dialects/Spmd/SpmdEnums.cpp.inc"

#include "dialects/Spmd/SpmdDialect.cpp.inc"

#include "dialects/Spmd/Interfaces/SpmdInterfaces.cpp.inc"

namespace meshc::spmd {

void SpmdDialect::initialize() { registerCollective(); }

} // namespace meshc::spmd
