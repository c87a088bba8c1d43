//===- OpEmitter.h - ops at the current place -------------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Private to this folder: types and ops, with the errors of the text that
/// would make them invalid.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_FRONTEND_OPEMITTER_H
#define MESHC_FRONTEND_OPEMITTER_H

#include "lib/Frontend/NameResolver.h"

namespace meshc::frontend {

/// Sets of element types that an operation accepts.
enum ElementKinds : unsigned { Floats = 1, Integers = 2, Booleans = 4 };

inline ElementKinds operator|(ElementKinds a, ElementKinds b) {
  return static_cast<ElementKinds>(unsigned(a) | unsigned(b));
}

/// Whether `type` is one of `kinds`.
bool isOf(mlir::Type type, ElementKinds kinds);
/// "f32, bf16 or f16", "i32", … as messages show a set.
std::string describe(ElementKinds kinds);
/// "f32[batch, pixel]", as the text would declare it.
std::string describe(nd::TensorType type);
/// "f32", "i32"; the element type as the text names it.
std::string describe(mlir::Type elementType);
/// "; dim 'd' has size 2, not 3" for each dim whose sizes differ.
std::string describeSizes(nd::TensorType got, nd::TensorType wanted);

/// Builds ops at the current place.
class OpEmitter : public NameResolver {
public:
  /// Bounds that keep small texts from causing unbounded work. [L4.5]
  static constexpr unsigned maxOps = 100000;

  using NameResolver::NameResolver;

  // Numbers and types.

  /// The number in the element type; null after an error if it does not fit.
  /// `tensor` is the place of the tensor whose type the number takes, if any.
  mlir::TypedAttr makeNumber(const syntax::Constant &number,
                             mlir::Type elementType, syntax::Span at,
                             std::optional<syntax::Span> tensor = std::nullopt);
  /// The same as a scalar tensor.
  mlir::Value materialize(const syntax::Constant &number,
                          mlir::Type elementType, syntax::Span at,
                          std::optional<syntax::Span> tensor = std::nullopt);
  /// Both operands as tensors of one element type: numbers take the other's
  /// type, or f32 if both are numbers. False after an error. [L5.2]
  bool unifyTypes(llvm::MutableArrayRef<Operand> operands,
                  llvm::ArrayRef<syntax::Span> places, llvm::StringRef what,
                  syntax::Span at);
  /// The type of all dims of the operands, aligned by name; null after an error
  /// if two sizes of a dim differ. `places` are the operands' places in the
  /// text. [L5.4]
  nd::TensorType unite(mlir::ValueRange operands,
                       llvm::ArrayRef<syntax::Span> places,
                       mlir::Type elementType, syntax::Span at);
  /// A tensor type; null after an error if it would be too large.
  nd::TensorType makeType(mlir::Type elementType,
                          llvm::ArrayRef<nd::DimAttr> dims, syntax::Span at);
  /// The product of the dims' sizes; nothing if it is over the limit. [L2.6]
  static std::optional<int64_t> countElements(llvm::ArrayRef<nd::DimAttr> dims);
  /// Whether the value, which the text at `origin` gives, is one of `kinds`;
  /// reports at `at` if not.
  bool checkKinds(mlir::Value value, ElementKinds kinds, llvm::StringRef what,
                  syntax::Span at, syntax::Span origin);

  // Ops.

  /// Counts one operation; an error if there are too many. [L4.5]
  bool countOperation(syntax::Span at);
  /// The first result of one op. `others`: the types of its other results.
  mlir::Value create(llvm::StringRef op, syntax::Span at,
                     mlir::ValueRange operands, nd::TensorType result,
                     llvm::ArrayRef<mlir::NamedAttribute> attributes = {},
                     mlir::TypeRange others = {});
  /// The name of a new stream of random numbers. [L5.8]
  std::string nextStream(llvm::StringRef what);

  /// Notes the block `recompute { … }` around the current place at the op, if
  /// there is one. [L4.11]
  void markRecomputed(mlir::Operation *op) const;

  // What the body of a loop uses of its surroundings.

  /// The value at the current place of one of any block around it; null after
  /// an error at `at`.
  mlir::Value capture(mlir::Value value, syntax::Span at);
  /// The same of an operand, which may be a number.
  Operand capture(const Operand &operand, syntax::Span at);
  /// The number of the iteration of a loop around the current place, as a
  /// scalar of the type; null after an error.
  mlir::Value emitIteration(Loop &loop, mlir::Type elementType,
                            syntax::Span at);
  /// The numbers of all iterations around the current place, outermost first,
  /// as nd.random takes them; nullopt after an error.
  std::optional<llvm::SmallVector<mlir::Value>> emitIterations(syntax::Span at);

private:
  unsigned opCount = 0;
  unsigned streamCount = 0;
};

} // namespace meshc::frontend

#endif // MESHC_FRONTEND_OPEMITTER_H
