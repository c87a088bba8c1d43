//===- RandomProgram.h - small programs and layouts by chance -------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_TEST_REFERENCE_RANDOMPROGRAM_H
#define MESHC_TEST_REFERENCE_RANDOMPROGRAM_H

#include "dialects/Nd/Ops/ValueBuilder.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <random>

namespace meshc::reference {

/// Draws a module with one function of about a dozen nd ops of all families on
/// tensors with up to four dims of few entries, with the gradients of a scalar
/// for half of the seeds. What the function computes is well conditioned:
/// values stay of the order of one to a thousand, and nothing that jumps
/// (floor, comparisons …) is asked of sums, whose last bits depend on their
/// order.
class RandomProgram {
public:
  RandomProgram(mlir::MLIRContext *context, uint64_t seed);
  mlir::OwningOpRef<mlir::ModuleOp> build();

private:
  /// A value with what is known of its entries.
  struct Known {
    mlir::Value value;
    double size;  ///< their order of magnitude
    bool isExact; ///< the same to the bit under every layout
  };
  using Step = bool (RandomProgram::*)();
  using Filter = llvm::function_ref<bool(const Known &)>;
  static constexpr int64_t kMaxElements = 2048;

  static nd::TensorType getType(mlir::Value value) {
    return nd::getTensorType(value);
  }
  static bool isFloat(mlir::Value value) { return getType(value).isFloat(); }
  static bool isInteger(mlir::Value value) {
    return getType(value).getElementType().isSignlessInteger(32);
  }

  // One op each, or none where no operands fit.
  bool addUnary();
  bool addSafeUnary();
  bool addJump();
  bool addBinary();
  bool addDivision();
  bool addSelect();
  bool addEinsum();
  bool addReduction();
  bool addArgmax();
  bool addRename();
  bool addSplit();
  bool addMerge();
  bool addBroadcast();
  bool addSlice();
  bool addConcat();
  bool addPad();
  bool addSource();
  bool addGather();
  bool addScatter();
  bool addOneHot();
  bool addSoftmax();
  bool addCrossEntropy();
  bool addCast();
  bool addUpdate();

  void addArguments();
  void addGradients();
  /// Draws names and classes for some of the ops, for the layout's scopes.
  void addNames();
  void finish();

  size_t draw(size_t below) { return random() % below; }
  bool flip() { return draw(2) == 0; }
  double drawNumber() {
    return std::uniform_real_distribution<double>(-2, 2)(random);
  }
  /// A value that passes, or none.
  const Known *pick(Filter filter);
  bool add(mlir::Value value, double size, bool isExact);
  /// A new tensor type over dims of the pool.
  nd::TensorType drawType(mlir::Type elementType, size_t maxDims);
  llvm::SmallVector<mlir::StringAttr> drawDims(nd::TensorType type,
                                               bool atLeastOne);
  /// A name of the pool that the type has not got.
  mlir::StringAttr drawFreeName(nd::TensorType type);
  mlir::Value makeIndices(mlir::Value integers, int64_t below);
  bool mayJoin(mlir::Value a, mlir::Value b);
  /// All dims of the type, in an order as one may declare it.
  mlir::ArrayAttr drawOrder(nd::TensorType type);
  mlir::ArrayAttr getNames(llvm::ArrayRef<mlir::StringAttr> names);

  mlir::MLIRContext *context;
  mlir::OpBuilder builder;
  mlir::Location loc;
  nd::ValueBuilder make;
  std::mt19937_64 random;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::func::FuncOp function;
  std::vector<Known> values;
  llvm::SmallVector<nd::DimAttr> pool;
};

/// Draws a mesh of at most `maxRanks` ranks (up to three axes of up to four)
/// and rules that the tensors of the module allow: no two dims of one on an
/// axis, all sizes divisible. Some rules are for single tensors or classes.
void addRandomLayout(mlir::ModuleOp module, std::mt19937_64 &random,
                     int64_t maxRanks);

} // namespace meshc::reference

#endif // MESHC_TEST_REFERENCE_RANDOMPROGRAM_H
