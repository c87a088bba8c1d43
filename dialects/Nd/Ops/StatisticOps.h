//===- StatisticOps.h - the ops of the family Statistic ---------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_ND_OPS_STATISTICOPS_H
#define MESHC_DIALECTS_ND_OPS_STATISTICOPS_H

#include "dialects/Nd/NdInterfaces.h"

#define GET_OP_CLASSES
#include "dialects/Nd/Ops/Statistic.h.inc"

#endif // MESHC_DIALECTS_ND_OPS_STATISTICOPS_H
