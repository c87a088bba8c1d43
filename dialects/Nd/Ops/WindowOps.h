//===- WindowOps.h - the ops of the family Window ---------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_ND_OPS_WINDOWOPS_H
#define MESHC_DIALECTS_ND_OPS_WINDOWOPS_H

#include "dialects/Nd/NdInterfaces.h"
#include "dialects/Nd/Ops/Precision.h"

#define GET_OP_CLASSES
#include "dialects/Nd/Ops/Window.h.inc"

#endif // MESHC_DIALECTS_ND_OPS_WINDOWOPS_H
