//===- RandomStep.h - random step functions -------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_TEST_SCHEDULE_RANDOMSTEP_H
#define MESHC_TEST_SCHEDULE_RANDOMSTEP_H

#include "dialects/Nd/Ops/LoopOps.h"
#include "dialects/Nd/Ops/ValueBuilder.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <random>

namespace meshc {

/// Creates a random `@train_step` of primitive nd ops: parameters, inputs of
/// floats and of indices, new parameters that may be any value of their type
/// (other parameters too), and metrics of any rank. Dims are small and have
/// several names and sizes, so that products, renamed, merged, padded and
/// indexed tensors meet in all combinations. With `loops`, some ops are
/// nd.scan, nested too: over values of all ties, with any results.
class RandomStep {
public:
  RandomStep(mlir::MLIRContext &context, unsigned seed, bool loops = false);
  /// A module with the function.
  mlir::OwningOpRef<mlir::ModuleOp> build(unsigned opCount);

private:
  mlir::Value pick();
  mlir::Value addOp();
  mlir::Value addUnary();
  mlir::Value addBinary();
  mlir::Value addReduction();
  mlir::Value addEinsum();
  mlir::Value addRename();
  mlir::Value addMergeOrSplit();
  mlir::Value addWindow();
  mlir::Value addIndexing();
  mlir::Value addSource();
  mlir::Value addLoop();
  void addBody(nd::ScanOp scan, mlir::Value numbers);
  void addYield(nd::ScanOp scan);
  nd::TensorType makeType(unsigned maxRank);
  mlir::ArrayAttr getRandomOrder(nd::TensorType type);
  mlir::ArrayAttr getNames(llvm::ArrayRef<mlir::StringAttr> names);
  llvm::SmallVector<mlir::StringAttr> pickDims(nd::TensorType type);
  mlir::DictionaryAttr describe(llvm::StringRef name, llvm::StringRef role,
                                nd::TensorType type);
  void addResults();
  unsigned roll(unsigned limit) { return random() % limit; }

  std::mt19937 random;
  mlir::OpBuilder builder;
  mlir::Location loc;
  nd::ValueBuilder ops;
  mlir::func::FuncOp function;
  bool loops;
  unsigned depth = 0;                        ///< loops around the next op
  llvm::SmallVector<mlir::Value> values;     ///< of floats
  llvm::SmallVector<mlir::Value> iterations; ///< of the loops around
  mlir::Value indices;
  unsigned parameterCount = 0;
};

} // namespace meshc

#endif // MESHC_TEST_SCHEDULE_RANDOMSTEP_H
