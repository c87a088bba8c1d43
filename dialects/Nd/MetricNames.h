//===- MetricNames.h - names that a model's results cannot have -----------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_ND_METRICNAMES_H
#define MESHC_DIALECTS_ND_METRICNAMES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace meshc::nd {

/// Programs write results (the loss and the metrics) under their names into the
/// JSON objects of the log, which has further keys of its own
/// (docs/running.md). Returns why a result cannot be called `name` in a model
/// whose results have the names `all`; empty if it can.
std::string findLogClash(llvm::StringRef name,
                         llvm::ArrayRef<llvm::StringRef> all);

} // namespace meshc::nd

#endif // MESHC_DIALECTS_ND_METRICNAMES_H
