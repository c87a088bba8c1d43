//===- OpEmitter.cpp - ops at the current place ---------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "lib/Frontend/OpEmitter.h"

#include "dialects/Nd/Ops/SourceOps.h"
#include "dialects/Nd/RecomputeBlock.h"
#include "dialects/Nd/TensorSizes.h"

#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace mlir;
using namespace meshc;
using namespace meshc::frontend;
using syntax::quote;

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

bool frontend::isOf(Type type, ElementKinds kinds) {
  if (isa<FloatType>(type))
    return kinds & Floats;
  return kinds & (type.isInteger(1) ? Booleans : Integers);
}

std::string frontend::describe(ElementKinds kinds) {
  std::string text;
  if (kinds & Floats)
    text = "f32, bf16, f16";
  for (auto [kind, name] : {std::pair(Integers, "i32"), {Booleans, "i1"}})
    if (kinds & kind)
      text += (text.empty() ? "" : ", ") + std::string(name);
  if (size_t last = text.rfind(", "); last != std::string::npos)
    text.replace(last, 2, " or ");
  return text;
}

std::string frontend::describe(Type elementType) {
  std::string text;
  llvm::raw_string_ostream(text) << elementType;
  return text;
}

std::string frontend::describe(nd::TensorType type) {
  std::string text = describe(type.getElementType()) + "[";
  for (nd::DimAttr dim : type.getDims())
    text += (text.back() == '[' ? "" : ", ") + dim.getName().str();
  return text + "]";
}

std::string frontend::describeSizes(nd::TensorType got, nd::TensorType wanted) {
  std::string sizes;
  for (nd::DimAttr dim : got.getDims())
    if (nd::DimAttr other = wanted.getDim(dim.getName().getValue());
        other && other.getSize() != dim.getSize())
      sizes += "; dim " + quote(dim.getName().getValue()) + " has size " +
               std::to_string(dim.getSize()) + ", not " +
               std::to_string(other.getSize());
  return sizes;
}

//===----------------------------------------------------------------------===//
// Numbers and types
//===----------------------------------------------------------------------===//

/// [L5.2]
TypedAttr OpEmitter::makeNumber(const syntax::Constant &number,
                                Type elementType, syntax::Span at,
                                std::optional<syntax::Span> tensor) {
  syntax::Span origins[] = {at, tensor.value_or(at)};
  std::string shown = syntax::toString(number);
  if (auto floating = dyn_cast<FloatType>(elementType)) {
    llvm::APFloat rounded(number.real);
    bool losesInfo = false;
    rounded.convert(floating.getFloatSemantics(),
                    llvm::APFloat::rmNearestTiesToEven, &losesInfo);
    if (!rounded.isInfinity() || std::isinf(number.real))
      return FloatAttr::get(floating, rounded);
    noteOrigins(error(at, "number " + shown + " is beyond the range of " +
                              describe(elementType)),
                origins);
    return {};
  }
  if (elementType.isInteger(32) && number.isInteger &&
      number.integer == static_cast<int32_t>(number.integer))
    return IntegerAttr::get(elementType, number.integer);
  noteOrigins(error(at, "number " + shown + " cannot be a value of type " +
                            describe(elementType) +
                            (elementType.isInteger(32)
                                 ? "; cast the tensor it meets: cast(…, f32)"
                                 : "; a comparison makes a truth value")),
              origins);
  return {};
}

Value OpEmitter::materialize(const syntax::Constant &number, Type elementType,
                             syntax::Span at,
                             std::optional<syntax::Span> tensor) {
  TypedAttr value = makeNumber(number, elementType, at, tensor);
  if (!value)
    return {};
  return create(nd::ConstantOp::getOperationName(), at, {},
                nd::TensorType::get(elementType, {}),
                builder.getNamedAttr("value", value));
}

bool OpEmitter::unifyTypes(MutableArrayRef<Operand> operands,
                           ArrayRef<syntax::Span> places, StringRef what,
                           syntax::Span at) {
  Type elementType;
  std::optional<syntax::Span> tensor; // the first one
  for (auto [operand, place] : llvm::zip(operands, places)) {
    if (!operand.ok())
      return false;
    if (!operand.value)
      continue;
    Type type = nd::getTensorType(operand.value).getElementType();
    if (!elementType)
      elementType = type;
    if (!tensor)
      tensor = place;
    if (type == elementType)
      continue;
    syntax::Diagnostic &mismatch = error(
        at, "operands of " + quote(what) + " are of types " +
                describe(elementType) + " and " + describe(type) +
                "; cast one of them: cast(…, " +
                describe(isa<FloatType>(elementType) ? elementType : type) +
                ")");
    noteOrigins(mismatch, places);
    return false;
  }
  if (!elementType)
    elementType = builder.getF32Type();
  for (auto [operand, place] : llvm::zip(operands, places)) {
    if (operand.value)
      continue;
    operand =
        Operand::of(materialize(*operand.constant, elementType, place, tensor));
    if (!operand.value)
      return false;
  }
  return true;
}

nd::TensorType OpEmitter::makeType(Type elementType, ArrayRef<nd::DimAttr> dims,
                                   syntax::Span at) {
  if (countElements(dims))
    return nd::TensorType::get(elementType, dims);
  syntax::Diagnostic &tooLarge =
      error(at, "tensor has more than 2**60 elements");
  for (nd::DimAttr each : dims)
    if (each.getSize() > 1)
      noteDim(tooLarge, each.getName().getValue());
  return {};
}

std::optional<int64_t> OpEmitter::countElements(ArrayRef<nd::DimAttr> dims) {
  int64_t count = 1;
  for (nd::DimAttr dim : dims)
    if (llvm::MulOverflow(count, dim.getSize(), count) ||
        count > nd::maxElements)
      return std::nullopt;
  return count;
}

nd::TensorType OpEmitter::unite(ValueRange operands,
                                ArrayRef<syntax::Span> places, Type elementType,
                                syntax::Span at) {
  SmallVector<nd::DimAttr> dims;
  for (Value operand : operands)
    for (nd::DimAttr dim : nd::getTensorType(operand).getDims()) {
      auto same = llvm::find_if(dims, [&](nd::DimAttr other) {
        return other.getName() == dim.getName();
      });
      if (same == dims.end()) {
        dims.push_back(dim);
      } else if (same->getSize() != dim.getSize()) {
        syntax::Diagnostic &conflict = error(
            at, "dim " + quote(dim.getName().getValue()) + " has size " +
                    std::to_string(same->getSize()) + " in one operand and " +
                    std::to_string(dim.getSize()) +
                    " in another; rename one of them");
        noteDim(conflict, dim.getName().getValue());
        noteOrigins(conflict, places);
        return {};
      }
    }
  return makeType(elementType, dims, at);
}

bool OpEmitter::checkKinds(Value value, ElementKinds kinds, StringRef what,
                           syntax::Span at, syntax::Span origin) {
  Type type = nd::getTensorType(value).getElementType();
  if (isOf(type, kinds))
    return true;
  std::string hint;
  if (kinds & Floats)
    hint = "; cast(…, f32) makes it one";
  else if (kinds & Booleans)
    hint = "; a comparison makes one";
  noteOrigin(error(at, quote(what) + " takes " + describe(kinds) + ", got " +
                           describe(type) + hint),
             origin);
  return false;
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

bool OpEmitter::countOperation(syntax::Span at) {
  if (++opCount <= maxOps)
    return true;
  error(at, "the program has more than " + std::to_string(maxOps) +
                " operations; functions are expanded at each call");
  return false;
}

Value OpEmitter::create(StringRef op, syntax::Span at, ValueRange operands,
                        nd::TensorType result,
                        ArrayRef<NamedAttribute> attributes, TypeRange others) {
  if (!result || !countOperation(at))
    return {};
  OperationState state(locate(at), op);
  state.addOperands(operands);
  state.addTypes(result);
  state.addTypes(others);
  state.addAttributes(attributes);
  Operation *made = builder.create(state);
  places[made] = at;
  markRecomputed(made);
  return made->getResult(0);
}

std::string OpEmitter::nextStream(StringRef what) {
  // Parts of a parameter's name are no numbers, so these are apart from them.
  return (what + "." + Twine(streamCount++)).str();
}

void OpEmitter::markRecomputed(Operation *op) const {
  if (!loops.empty() && loops.back()->recomputeBlock &&
      loops.back()->body == op->getBlock())
    nd::setRecomputeBlock(op, *loops.back()->recomputeBlock);
}

//===----------------------------------------------------------------------===//
// What the body of a loop uses of its surroundings
//===----------------------------------------------------------------------===//

Value OpEmitter::capture(Value value, syntax::Span at) {
  Block *owner = value.getParentBlock();
  const auto *loop = llvm::find_if(llvm::reverse(loops), [&](const Loop *loop) {
                       return loop->body == owner;
                     }).base();
  for (auto [block, count] : gradientBlocks)
    if (block == owner)
      loop = loops.begin() + count;
  for (; loop != loops.end(); ++loop) {
    nd::TensorType type = nd::getTensorType(value);
    StringRef dim = (*loop)->dimName();
    int64_t size = (*loop)->dim.getSize();
    if (type.hasDim(dim) && type.getSize(dim) != size) {
      syntax::Diagnostic &misfit = error(
          at, "dim " + quote(dim) + " has size " +
                  std::to_string(type.getSize(dim)) + " in " + describe(type) +
                  ", but the loop over it has " + std::to_string(size) +
                  " iterations; rename the dim before the loop");
      misfit.note((*loop)->span, "the loop is here");
      noteOrigin(misfit, at);
      return {};
    }
    value = (*loop)->capture(value);
  }
  return value;
}

Operand OpEmitter::capture(const Operand &operand, syntax::Span at) {
  if (!operand.value)
    return operand;
  Operand inside = operand;
  inside.value = capture(operand.value, at);
  if (!inside.value)
    return {};
  nd::TensorType type = nd::getTensorType(inside.value);
  llvm::erase_if(inside.order,
                 [&](StringRef dim) { return !type.hasDim(dim); });
  return inside;
}

Value OpEmitter::emitIteration(Loop &loop, Type elementType, syntax::Span at) {
  Value &numbers = loop.iterations[elementType];
  if (!numbers) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(blockAround(loop));
    numbers = create(nd::IotaOp::getOperationName(), at, {},
                     makeType(elementType, loop.dim, at));
  }
  return numbers ? capture(numbers, at) : Value();
}

std::optional<SmallVector<Value>> OpEmitter::emitIterations(syntax::Span at) {
  SmallVector<Value> numbers;
  for (Loop *loop : loops) {
    if (!checkIndexable(loop->dim.getName(), at))
      return std::nullopt;
    Value number = emitIteration(*loop, builder.getI32Type(), at);
    if (!number)
      return std::nullopt;
    numbers.push_back(number);
  }
  return numbers;
}
