//===- NdOps.h - all ops of the nd dialect ----------------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// All op families, for files that register or test every op. Other files
/// include the families that they name.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_ND_NDOPS_H
#define MESHC_DIALECTS_ND_NDOPS_H

#include "dialects/Nd/Ops/AttentionOps.h"
#include "dialects/Nd/Ops/ContractionOps.h"
#include "dialects/Nd/Ops/CumulativeOps.h"
#include "dialects/Nd/Ops/CustomGradientOps.h"
#include "dialects/Nd/Ops/IndexingOps.h"
#include "dialects/Nd/Ops/LoopOps.h"
#include "dialects/Nd/Ops/ModelOps.h"
#include "dialects/Nd/Ops/NormalizationOps.h"
#include "dialects/Nd/Ops/OptimizerOps.h"
#include "dialects/Nd/Ops/PointwiseOps.h"
#include "dialects/Nd/Ops/ReductionOps.h"
#include "dialects/Nd/Ops/ShapeOps.h"
#include "dialects/Nd/Ops/SortingOps.h"
#include "dialects/Nd/Ops/SourceOps.h"
#include "dialects/Nd/Ops/StackOps.h"
#include "dialects/Nd/Ops/StatisticOps.h"
#include "dialects/Nd/Ops/WindowOps.h"

#endif // MESHC_DIALECTS_ND_NDOPS_H
