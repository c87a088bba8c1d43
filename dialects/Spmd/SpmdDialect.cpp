//===- SpmdDialect.cpp - the spmd dialect ---------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Spmd/SpmdOps.h"
#include "llvm/ADT/TypeSwitch.h"

#include "dialects/Spmd/SpmdEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Spmd/SpmdAttrs.cpp.inc"

#include "dialects/Spmd/SpmdDialect.cpp.inc"

#include "dialects/Spmd/Interfaces/SpmdInterfaces.cpp.inc"

using namespace mlir;

namespace meshc::spmd {

LogicalResult
RoundAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                  int64_t from, int64_t to, int64_t offset, int64_t number) {
  if (isValidRound({from, to, offset, number}))
    return success();
  return emitError() << "a round needs blocks of 1 to 2^31 entries, an offset "
                        "of -2^31 to 2^31 and a number of 0 to 2^31, got "
                     << from << ", " << to << ", " << offset << ", " << number;
}

void SpmdDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Spmd/SpmdAttrs.cpp.inc"
      >();
  registerCollective();
  registerWindow();
}

} // namespace meshc::spmd
