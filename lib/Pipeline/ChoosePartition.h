//===- ChoosePartition.h - the least predicted time -------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_PIPELINE_CHOOSEPARTITION_H
#define MESHC_LIB_PIPELINE_CHOOSEPARTITION_H

#include "lib/Cost/Machine.h"
#include "lib/Pipeline/Compile.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace meshc {

/// Runs the phase partition, as tryPhase does, on a program after the phase
/// layout. By itself, the phase moves axes to other dims only where this halves
/// the bytes of a block (partition::MoveLimit). The search of a block knows
/// neither what other blocks then send nor what computation hides. So this
/// function allows more moves, runs both programs up to the schedule, and keeps
/// the other one if its step is shorter by 1 % on `machine`. It tries at most
/// three limits, the one nearest to a half first.
///
/// Where ranks repeat work, it then tries to cut what loops carry
/// (partition::cutCarried). A trial cuts one dim of all carried values, or the
/// first dim of each value. It does so over one of the axes whose ranks repeat
/// work, or over all of them. The first such program must shorten the step by
/// 10 %, since it sends other values than the layout suggests; a further one by
/// 1 %. This is repeated until no program is kept. If one was kept, moves are
/// tried once more. At last, moves are tried in programs whose loops carry
/// their values as before (partition::keepCarried).
///
/// The other trials change less. They, in this order:
///
/// - let loops keep values as the loops that use them have them
///   (partition::keepAsUsed);
/// - let loops keep copies of what later loops move as well
///   (partition::LoopCopies), at a price per byte;
/// - use the machine's price of pointwise ops, where a point costs less than a
///   fourth of a byte (CostModel::getPointCost);
/// - let loops keep values exactly as other loops use them, and no parts beside
///   them (partition::KeptForm).
///
/// The gain of a trial is the share of the step that it saves, less a twentieth
/// of the share by which the arena grows. Its program is kept if the gain is at
/// least 0.02 %. For a smaller arena, the step may be longer by 0.02 %. All
/// trials together enlarge the arena by at most a fourth.
///
/// With a memory budget the arena does not count, but a program that fits is
/// better than one that does not.
///
/// Each trial chooses plans (partition::choosePlans), and the phase builds the
/// program from them. `plans` is set to those of the program that was kept, if
/// it is not null. Where a trial's plans cannot be built, which is a defect,
/// the trial is given up; with --verify, the result is Internal.
ExitCode partitionProgram(mlir::OwningOpRef<mlir::ModuleOp> &program,
                          const CompileOptions &options,
                          const cost::Machine &machine,
                          mlir::DictionaryAttr *plans = nullptr);

} // namespace meshc

#endif // MESHC_LIB_PIPELINE_CHOOSEPARTITION_H
