//===- Windows.h - what passes on windows share -----------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_COLLECTIVES_WINDOWS_H
#define MESHC_LIB_COLLECTIVES_WINDOWS_H

#include "dialects/Spmd/SpmdOps.h"
#include "lib/Reshard/WindowPlan.h"

namespace meshc::collectives {

/// What the window would send with these operands and segments; nothing if it
/// cannot be lowered.
std::optional<reshard::WindowPlan> plan(spmd::WindowOp op,
                                        mlir::ValueRange operands,
                                        const spmd::WindowSegments &segments);

/// Whether some entries of the window's result are of no segment. A window that
/// widens blocks has none, one that narrows them may have some.
bool isFilled(spmd::WindowOp op, const spmd::WindowSegments &segments);

} // namespace meshc::collectives

#endif // MESHC_LIB_COLLECTIVES_WINDOWS_H
