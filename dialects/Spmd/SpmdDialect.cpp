//===- SpmdDialect.cpp - the spmd dialect ---------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Spmd/ReshardPlan.h"
#include "dialects/Spmd/SpmdOps.h"
#include "llvm/ADT/TypeSwitch.h"

#include "dialects/Spmd/SpmdEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Spmd/SpmdAttrs.cpp.inc"

#include "dialects/Spmd/SpmdDialect.cpp.inc"

#include "dialects/Spmd/Interfaces/SpmdInterfaces.cpp.inc"

namespace meshc::spmd {

void SpmdDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Spmd/SpmdAttrs.cpp.inc"
      >();
  registerCollective();
  registerWindow();
  addSharedPlans(*this);
}

} // namespace meshc::spmd
