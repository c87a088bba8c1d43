//===- MetricDivision.h - metrics as functions of statistics ----*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A metric is a function of *statistics*: sums, extrema and products over the
/// examples. Statistics of several batches are combined by their kind; the rest
/// of the metric is computed once, from their totals. So a ratio of sums is
/// that of all examples, and not the mean of the batches' ratios.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_STEPS_STATISTICS_METRICDIVISION_H
#define MESHC_LIB_STEPS_STATISTICS_METRICDIVISION_H

#include "lib/Steps/Statistics/ExampleDims.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace meshc::steps {

/// A value of a model that is combined over batches.
struct Statistic {
  enum class Kind {
    Combined, ///< by `reduction`
    Mean      ///< the mean of the batches' values, weighted by their examples
  };
  Kind kind;
  nd::ReductionKind reduction = nd::ReductionKind::Sum;
  /// Whether the total is that of one batch of all examples. It is not for a
  /// Mean of anything but means.
  bool isExact = true;
};

/// The division of the values of a block, that of a function or of a loop's
/// body. Values that do not depend on examples belong to the rest.
class MetricDivision {
public:
  /// `dims` is the analysis of the function. Arguments of the block are
  /// computed from totals, but for those that are `undivided`.
  MetricDivision(mlir::Block &block, const ExampleDims &dims,
                 llvm::ArrayRef<mlir::Value> undivided = {});

  /// What the value is if it is combined over batches; null otherwise.
  const Statistic *find(mlir::Value value) const;

  /// Whether the value cannot be computed from totals, and is no float, of
  /// which the mean over the batches could be one.
  bool isUndivided(mlir::Value value) const {
    return undivided.contains(value);
  }

  /// The parts of some values that are computed from totals.
  struct Slice {
    llvm::SetVector<mlir::Value> statistics;
    llvm::SetVector<mlir::Operation *> rest; ///< in the block's order
  };
  /// Those of `values`, of which none is undivided.
  Slice getSlice(mlir::ValueRange values) const;

  /// Whether padding or the borders of batches decide about a value of the
  /// slice: a statistic is not exact, one that is computed within a batch is
  /// used by its examples, or micro-batches draw random numbers for one.
  bool dependsOnBatches(const Slice &slice, bool hasMicroBatches) const;

private:
  void divide(mlir::Operation *op);
  void divideLoop(nd::ScanOp scan);
  std::optional<Statistic> classify(mlir::Operation *op) const;
  bool isOfTotals(mlir::Operation *op) const;

  mlir::Block &block;
  const ExampleDims &dims;
  llvm::DenseMap<mlir::Value, Statistic> statistics;
  llvm::DenseSet<mlir::Value> undivided;
};

/// Divides the loops of a function that compute something for each example:
/// what such a loop computes from statistics of its iterations, and from
/// nothing else of the examples, moves to a loop of its own behind it, which
/// takes these statistics stacked. So a sum over layers of products of means is
/// a function of the layers' means, as without the loop. Loops with `while`
/// stay as they are.
void divideLoops(mlir::func::FuncOp function,
                 llvm::ArrayRef<mlir::StringAttr> counting);

/// Copies the slice's rest to the builder's place, but for what `mapping` knows
/// already. It knows the function's arguments, parameters and the statistics.
void buildRest(mlir::OpBuilder &builder, const MetricDivision::Slice &slice,
               mlir::IRMapping &mapping);

/// `a` and `b` combined, of one type.
mlir::Value combine(mlir::OpBuilder &builder, mlir::Location loc,
                    nd::ReductionKind kind, mlir::Value a, mlir::Value b);

} // namespace meshc::steps

#endif // MESHC_LIB_STEPS_STATISTICS_METRICDIVISION_H
