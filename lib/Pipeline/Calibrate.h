//===- Calibrate.h - meshc --calibrate ------------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_PIPELINE_CALIBRATE_H
#define MESHC_LIB_PIPELINE_CALIBRATE_H

#include "lib/Pipeline/Compile.h"

namespace meshc {

/// Measures this machine's processors and memory by small programs, which it
/// compiles for `options.march` and runs with `options.ranks` ranks of one
/// thread each, and writes a machine (docs/machines.md) to `options.output`, or
/// to standard output. Takes about half a minute. Each figure is that of the
/// fastest of 60 steps; of collectives and of the memory that ranks share, the
/// median; of the beginning of a call on several threads, measured with one
/// rank that has all cores, the lower quartile. What lies beyond one host is
/// not measured.
ExitCode calibrate(const CompileOptions &options);

} // namespace meshc

#endif // MESHC_LIB_PIPELINE_CALIBRATE_H
