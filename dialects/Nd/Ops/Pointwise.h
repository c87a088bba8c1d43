//===- Pointwise.h - shared implementation of the pointwise ops -----------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// One specialization of `Pointwise` describes each unary or binary pointwise
/// op; MESHC_POINTWISE_OP defines all interface methods of the op from it. None
/// of its members has a default:
///
///   domain            element types that the op accepts
///   cost              additions and transcendental functions per element
///   linear            operands in which it is linear (PartitionRule)
///   evaluate          the result element from one element of each operand; a
///                     template over double and int64_t if the domain has i32
///   differentiate     gradients of the operands from that of the result, with
///                     the result's dims (the caller sums over additional
///                     dims); of several ops, in f32 (`widen`; the caller
///                     rounds them)
///   emit              the same element in arith and math ops
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_ND_OPS_POINTWISE_H
#define MESHC_DIALECTS_ND_OPS_POINTWISE_H

#include "dialects/Nd/Ops/ValueBuilder.h"

#include "mlir/IR/TypeUtilities.h"

namespace meshc::nd {

template <typename Op> struct Pointwise;

/// Element types that an op accepts. Number: floats and i32.
enum class Domain { Float, Number, Boolean, Any };

/// e^x. 0 instead of a result below 2^-126, as in kernels: processors are slow
/// with subnormal numbers. [L5.5]
double exponential(double x);

/// Operands in which an op is linear.
enum class Linear {
  None,
  First,         ///< in the first alone
  FirstOfFloats, ///< in the first alone, for floats only
  Each,          ///< in each, the other fixed
  Joint          ///< in all together
};

/// Arith and math ops on elements: scalars or vectors.
struct ElementCode {
  ElementEmitter &emitter;

  template <typename Op, typename... Args> mlir::Value make(Args &&...args) {
    return Op::create(emitter.builder, emitter.loc,
                      std::forward<Args>(args)...);
  }
  /// A constant of the type and shape of `like`.
  mlir::Value constant(mlir::Value like, double value) {
    return emitter.constant(mlir::getElementTypeOrSelf(like), value, like);
  }
};

inline bool isFloatElement(mlir::Value element) {
  return llvm::isa<mlir::FloatType>(mlir::getElementTypeOrSelf(element));
}

/// Reports an element type outside of the domain.
mlir::LogicalResult checkDomain(std::optional<mlir::Location> location,
                                llvm::StringRef op, mlir::Type elementType,
                                Domain domain);

/// Result type of an op whose operands have one element type and align by name.
mlir::LogicalResult inferPointwise(std::optional<mlir::Location> location,
                                   llvm::StringRef op,
                                   mlir::ValueRange operands, Domain domain,
                                   llvm::SmallVectorImpl<mlir::Type> &types);

/// Applies `compute` to the operands' elements at each position. `compute`
/// returns the exact value, which is then rounded.
llvm::SmallVector<HostTensor>
evaluatePointwise(mlir::Operation *op,
                  llvm::ArrayRef<const HostTensor *> operands,
                  const EvaluationContext &context,
                  llvm::function_ref<double(llvm::ArrayRef<double>)> compute);

/// The value in f32 if its floats have 16 bits: several ops compute with it,
/// and only what they give is rounded.
mlir::Value widen(ValueBuilder &build, mlir::Value value);

/// Rounds each non-null gradient to the type of the op's operands.
void roundToOperands(ValueBuilder &build, mlir::Operation *op,
                     llvm::SmallVectorImpl<mlir::Value> &operandGrads);

/// Sums each non-null gradient over the dims that its operand does not have.
void sumToOperands(ValueBuilder &build, mlir::Operation *op,
                   llvm::SmallVectorImpl<mlir::Value> &operandGrads);

/// The rule of an op that aligns by name, with the given linearity.
PartitionRule getPointwiseRule(mlir::Operation *op, Linear linear);

/// The operands' elements at the index, all scalars or all vectors; empty if
/// one of them cannot be emitted.
llvm::SmallVector<mlir::Value, 3> getOperandElements(mlir::Operation *op,
                                                     ElementEmitter &emitter,
                                                     const ElementIndex &index);

/// The value of all elements of a constant (a folder's operand); nothing for
/// null.
std::optional<double> getConstantNumber(mlir::Attribute constant);

/// A constant of `number`, rounded to the element type.
mlir::Attribute makeConstant(double number, mlir::Type elementType);

/// Wraps the exact integer `value` to i32, modulo 2^32.
inline double wrapToI32(int64_t value) {
  return static_cast<int32_t>(static_cast<uint32_t>(value));
}

template <typename Op, size_t... I>
double evaluateElement(mlir::Type elementType, llvm::ArrayRef<double> x,
                       std::index_sequence<I...>) {
  if constexpr (Pointwise<Op>::domain == Domain::Number)
    if (elementType.isInteger(32))
      return wrapToI32(Pointwise<Op>::evaluate(static_cast<int64_t>(x[I])...));
  return Pointwise<Op>::evaluate(x[I]...);
}

/// Folds the op on constants; null if an operand is not constant.
template <typename Op, size_t Count>
mlir::Attribute foldConstants(Op op, llvm::ArrayRef<mlir::Attribute> operands) {
  llvm::SmallVector<double, 2> x;
  for (mlir::Attribute operand : operands)
    if (std::optional<double> number = getConstantNumber(operand))
      x.push_back(*number);
  if (x.size() < Count)
    return {};
  mlir::Type elementType = op.getType().getElementType();
  return makeConstant(
      evaluateElement<Op>(elementType, x, std::make_index_sequence<Count>()),
      elementType);
}

template <typename Op, size_t... I>
mlir::Value emitElements(ElementCode code, llvm::ArrayRef<mlir::Value> x,
                         std::index_sequence<I...>) {
  return Pointwise<Op>::emit(code, x[I]...);
}

} // namespace meshc::nd

/// Interface methods of the op with `COUNT` operands that Pointwise<OP>
/// describes.
#define MESHC_POINTWISE_OP(OP, COUNT)                                          \
  mlir::LogicalResult OP::inferReturnTypes(                                    \
      mlir::MLIRContext *, std::optional<mlir::Location> location,             \
      mlir::ValueRange operands, mlir::DictionaryAttr, mlir::OpaqueProperties, \
      mlir::RegionRange, llvm::SmallVectorImpl<mlir::Type> &types) {           \
    return inferPointwise(location, getShortName<OP>(), operands,              \
                          Pointwise<OP>::domain, types);                       \
  }                                                                            \
  llvm::SmallVector<HostTensor> OP::evaluate(                                  \
      llvm::ArrayRef<const HostTensor *> operands,                             \
      const EvaluationContext &context) {                                      \
    mlir::Type elementType = getType().getElementType();                       \
    return evaluatePointwise(                                                  \
        *this, operands, context, [&](llvm::ArrayRef<double> x) {              \
          return evaluateElement<OP>(elementType, x,                           \
                                     std::make_index_sequence<COUNT>());       \
        });                                                                    \
  }                                                                            \
  mlir::LogicalResult OP::buildGradient(                                       \
      mlir::OpBuilder &builder, llvm::ArrayRef<mlir::Value> resultGrads,       \
      llvm::SmallVectorImpl<mlir::Value> &operandGrads) {                      \
    if (!resultGrads[0] || !getType().isFloat())                               \
      return mlir::success();                                                  \
    ValueBuilder build(builder, getLoc());                                     \
    Pointwise<OP>::differentiate(build, *this, resultGrads[0], operandGrads);  \
    roundToOperands(build, *this, operandGrads);                               \
    sumToOperands(build, *this, operandGrads);                                 \
    return mlir::success();                                                    \
  }                                                                            \
  PartitionRule OP::getPartitionRule() {                                       \
    return getPointwiseRule(*this, Pointwise<OP>::linear);                     \
  }                                                                            \
  OpCost OP::getCost() {                                                       \
    return getElementwiseCost(*this, Pointwise<OP>::cost.flops,                \
                              Pointwise<OP>::cost.transcendentals);            \
  }                                                                            \
  mlir::Value OP::emitElement(ElementEmitter &emitter,                         \
                              const ElementIndex &index) {                     \
    auto x = getOperandElements(*this, emitter, index);                        \
    if (x.empty())                                                             \
      return {};                                                               \
    return emitElements<OP>(ElementCode{emitter}, x,                           \
                            std::make_index_sequence<COUNT>());                \
  }                                                                            \
  bool OP::supportsLanes(llvm::StringRef, int64_t, MeshAttr) { return true; }  \
  OperandDim OP::getOperandDim(unsigned operand, llvm::StringRef dim) {        \
    return getSameDim(getOperation()->getOperand(operand), dim);               \
  }

#endif // MESHC_DIALECTS_ND_OPS_POINTWISE_H
