//===- MicroBatchLoss.h - the loss of a batch in parts ----------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_STEPS_STATISTICS_MICROBATCHLOSS_H
#define MESHC_LIB_STEPS_STATISTICS_MICROBATCHLOSS_H

#include "lib/Steps/ModelParts.h"
#include "lib/Steps/Statistics/MetricDivision.h"

namespace meshc::steps {

/// Divides the loss of a batch among its micro-batches, so that the mean of
/// their shares is the loss of the batch. Statistics that depend on no
/// parameter, such as the number of counted tokens, are computed for the whole
/// batch first. If the others enter linearly, the shares are exact, and so are
/// their gradients: the share of a micro-batch has its own sums, times the
/// number of micro-batches. Any other value of a loss is computed in the same
/// way, as if the batch consisted of copies of the micro-batch, with a warning:
/// the loss is then the mean of the micro-batches' losses.
class MicroBatchLoss {
public:
  /// `division` is that of the model. Warns of values that are not exact.
  MicroBatchLoss(const ModelParts &parts, const MetricDivision &division);

  /// Statistics of the model that are needed of the whole batch.
  llvm::ArrayRef<mlir::Value> getWholeStatistics() const {
    return wholeStatistics.getArrayRef();
  }

  /// The share of one micro-batch. `copies` maps the model's values to those of
  /// the micro-batch, and `totals` are the whole statistics.
  mlir::Value build(mlir::OpBuilder &builder, const mlir::IRMapping &copies,
                    mlir::ValueRange totals) const;

private:
  /// How a value depends on the statistics that depend on parameters.
  enum class Form {
    Fixed,  ///< not at all
    Linear, ///< a linear function of them, plus something fixed
    Own     ///< otherwise: it is computed for each micro-batch
  };
  Form getForm(mlir::Value value) const;
  Form combineForms(mlir::Operation *op) const;
  bool follow(mlir::Value to, mlir::Value from);
  void findTrainedIn(nd::ScanOp scan);
  void findTrained(mlir::Block &block);
  bool classify(const MetricDivision::Slice &slice,
                const MetricDivision &division, bool wantsWhole);

  const ModelParts &parts;
  llvm::DenseSet<mlir::Value> trained; ///< depends on a parameter
  llvm::DenseMap<mlir::Value, Form> forms;
  llvm::SetVector<mlir::Value> wholeStatistics;
  /// What is computed from statistics, in the model's order.
  llvm::SetVector<mlir::Operation *> rest;
  llvm::SetVector<mlir::Value> ownSums; ///< of the micro-batch
};

/// Warns that a value with `accumulate` is not that of the whole batch.
void warnOfMicroBatches(mlir::Value value);

} // namespace meshc::steps

#endif // MESHC_LIB_STEPS_STATISTICS_MICROBATCHLOSS_H
