//===- BuiltinReduction.cpp - functions over whole dims -------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Nd/Ops/ContractionOps.h"
#include "dialects/Nd/Ops/CumulativeOps.h"
#include "dialects/Nd/Ops/NormalizationOps.h"
#include "dialects/Nd/Ops/PointwiseOps.h"
#include "dialects/Nd/Ops/ReductionOps.h"
#include "lib/Frontend/Builtins.h"

using namespace mlir;
using namespace meshc;
using namespace meshc::frontend;
using syntax::Argument;
using syntax::quote;

/// Sums and means convert i1 to f32 0 and 1. [L5.10]
static Value countTruths(Call &call, Value value) {
  nd::TensorType type = nd::getTensorType(value);
  if (!type.getElementType().isInteger(1))
    return value;
  return call.create(nd::CastOp::getOperationName(), value,
                     type.withElementType(call.emitter.builder.getF32Type()));
}

/// The dims that a reduction names; if it names none, all dims of the tensor.
static std::optional<SmallVector<StringAttr>> reducedDims(Call &call,
                                                          Value value) {
  if (call.size() > 1)
    return call.dims(1, value);
  SmallVector<StringAttr> all;
  for (nd::DimAttr dim : nd::getTensorType(value).getDims())
    all.push_back(dim.getName());
  return all;
}

/// Reports max(a, b) or min(a, b) whose second argument is not a dim: the
/// functions of two tensors are maximum and minimum.
static bool looksElementwise(Call &call) {
  StringRef name = call.builtin.name;
  if (call.size() != 2 || (name != "max" && name != "min"))
    return false;
  const Argument &second = call.ast.arguments[1];
  const syntax::Name *dim =
      second.kind == Argument::Kind::Value ? second.value->asName() : nullptr;
  if (second.kind != Argument::Kind::Value ||
      (dim &&
       (call.emitter.isKnownDim(*dim) || !call.emitter.isKnownValue(*dim))))
    return false;
  call.fail(1, "expected the name of a dim; the larger or smaller of two "
               "tensors is " +
                   std::string(name == "max" ? "maximum" : "minimum") +
                   "(a, b)");
  return true;
}

/// sum(x), sum(x, d, …). [L5.10]
static Operand emitReduction(Call &call) {
  if (looksElementwise(call))
    return {};
  bool adds = call.builtin.kinds & Booleans;
  Value value = call.tensorOf(0, call.builtin.kinds);
  if (value && adds)
    value = countTruths(call, value);
  if (!value)
    return {};
  std::optional<SmallVector<StringAttr>> dims = reducedDims(call, value);
  if (!dims)
    return {};
  if (dims->empty())
    return Operand::of(value);
  return Operand::of(call.create(call.builtin.op, value,
                                 nd::getTensorType(value).withoutDims(*dims),
                                 call.attribute("dims", call.names(*dims))));
}

/// f(x, d): the same type.
static Operand emitAlong(Call &call) {
  Value value = call.tensorOf(0, call.builtin.kinds);
  StringAttr dim = value ? call.dim(1, value) : StringAttr();
  if (!dim)
    return {};
  return Operand::of(call.create(call.builtin.op, value,
                                 nd::getTensorType(value),
                                 call.attribute("dim", dim)));
}

/// cumsum(x, d[, exclusive][, backwards]). [L5.18]
static Operand emitCumsum(Call &call) {
  Value value = call.tensorOf(0, call.builtin.kinds);
  if (value)
    value = countTruths(call, value);
  StringAttr dim = value ? call.dim(1, value) : StringAttr();
  std::optional<SmallVector<NamedAttribute>> attributes;
  if (dim)
    attributes = call.words(2, {"exclusive", "backwards"});
  if (!attributes)
    return {};
  attributes->push_back(call.attribute("dim", dim));
  return Operand::of(call.create(call.builtin.op, value,
                                 nd::getTensorType(value), *attributes));
}

/// argmax(x, d)
static Operand emitArgmax(Call &call) {
  Value value = call.tensorOf(0, call.builtin.kinds);
  StringAttr dim = value ? call.dim(1, value) : StringAttr();
  if (!dim || !call.emitter.checkIndexable(dim, call.place(1)))
    return {};
  nd::TensorType type = nd::getTensorType(value).withoutDims(dim);
  return Operand::of(
      call.create(call.builtin.op, value,
                  type.withElementType(call.emitter.builder.getI32Type()),
                  call.attribute("dim", dim)));
}

/// The product of `operands` summed over `reduced`.
static Operand
emitProduct(Call &call, MutableArrayRef<Operand> operands,
            ArrayRef<syntax::Span> places,
            function_ref<std::optional<SmallVector<StringAttr>>(ArrayRef<Value>,
                                                                nd::TensorType)>
                getReduced) {
  for (auto [operand, place] : llvm::zip(operands, places))
    if (operand.value &&
        !call.emitter.checkKinds(operand.value, Floats | Integers,
                                 call.builtin.name, place, place))
      return {};
  if (!call.emitter.unifyTypes(operands, places, call.builtin.name, call.span))
    return {};
  SmallVector<Value> values;
  for (const Operand &operand : operands)
    values.push_back(operand.value);
  nd::TensorType all = call.emitter.unite(
      values, places, nd::getTensorType(values[0]).getElementType(), call.span);
  std::optional<SmallVector<StringAttr>> reduced;
  if (all)
    reduced = getReduced(values, all);
  if (!reduced)
    return {};
  nd::TensorType result = all.withoutDims(*reduced);
  call.emitter.suspects.warnOfProduct(values, result, call.span);
  return Operand::of(
      call.create(nd::EinsumOp::getOperationName(), values, result,
                  call.attribute("reduced", call.names(*reduced))));
}

/// dot(a, b, d, …): each d is a dim of both. [L5.11]
static Operand emitDot(Call &call) {
  Operand operands[] = {call.operand(0), call.operand(1)};
  syntax::Span places[] = {call.place(0), call.place(1)};
  return emitProduct(
      call, operands, places,
      [&](ArrayRef<Value> values,
          nd::TensorType) -> std::optional<SmallVector<StringAttr>> {
        std::optional<SmallVector<StringAttr>> dims = call.dims(2, values[0]);
        if (!dims)
          return std::nullopt;
        for (auto [i, dim] : llvm::enumerate(*dims)) {
          nd::TensorType right = nd::getTensorType(values[1]);
          if (right.hasDim(dim.getValue()))
            continue;
          reportMissingDim(call.emitter, call.place(2 + i), dim.getValue(),
                           values[1], call.place(1));
          return std::nullopt;
        }
        return dims;
      });
}

/// The dims of `all` that `-> [dims]` leaves out. `operands` are the places of
/// the operands.
static std::optional<SmallVector<StringAttr>>
omittedDims(Call &call, const Argument &result, ArrayRef<syntax::Span> operands,
            nd::TensorType all) {
  SmallVector<StringAttr> kept, reduced;
  for (const syntax::Name &name : result.to) {
    StringAttr dim = call.emitter.resolveDim(name);
    if (!dim)
      return std::nullopt;
    if (!all.hasDim(dim.getValue())) {
      syntax::Diagnostic &missing = call.emitter.error(
          name.span, "no operand has dim " + quote(dim.getValue()) +
                         (call.emitter.findLoop(dim.getValue())
                              ? ""
                              : "; broadcast(x, dim) adds one"));
      call.emitter.noteOrigins(missing, operands);
      call.emitter.noteLoop(missing, dim.getValue());
      return std::nullopt;
    }
    if (auto *first = llvm::find(kept, dim); first != kept.end()) {
      call.emitter
          .error(name.span, "dim " + quote(dim.getValue()) + " is given twice")
          .note(result.to[first - kept.begin()].span, "first given here");
      return std::nullopt;
    }
    kept.push_back(dim);
  }
  for (nd::DimAttr dim : all.getDims())
    if (!llvm::is_contained(kept, dim.getName()))
      reduced.push_back(dim.getName());
  return reduced;
}

/// einsum(a, b, … -> [dims]). [L5.11]
static Operand emitEinsum(Call &call) {
  const Argument &result = call.ast.arguments.back();
  if (result.kind != Argument::Kind::Result)
    return call.fail("'einsum' is written " + call.builtin.usage.str() +
                     "; the dims of its result are missing");
  SmallVector<Operand> operands;
  SmallVector<syntax::Span> places;
  for (unsigned i = 0; i + 1 < call.size(); ++i) {
    operands.push_back(call.operand(i));
    places.push_back(call.place(i));
  }
  return emitProduct(call, operands, places,
                     [&](ArrayRef<Value>, nd::TensorType all) {
                       return omittedDims(call, result, places, all);
                     });
}

template <typename Op>
static Builtin reduction(StringRef name, StringRef usage, ElementKinds kinds) {
  return {name, usage, 1, anyNumber, emitReduction, Op::getOperationName(),
          kinds};
}

ArrayRef<Builtin> frontend::reductionBuiltins() {
  const ElementKinds numbers = Floats | Integers;
  static const Builtin table[] = {
      reduction<nd::ReduceSumOp>("sum", "sum(x, dim, …)", numbers | Booleans),
      reduction<nd::ReduceMeanOp>("mean", "mean(x, dim, …)", Floats | Booleans),
      reduction<nd::ReduceMaxOp>("max", "max(x, dim, …)", numbers),
      reduction<nd::ReduceMinOp>("min", "min(x, dim, …)", numbers),
      reduction<nd::ReduceProdOp>("prod", "prod(x, dim, …)", numbers),
      {"cumsum", "cumsum(x, dim, exclusive, backwards)", 2, 4, emitCumsum,
       nd::CumsumOp::getOperationName(), numbers | Booleans},
      {"argmax", "argmax(x, dim)", 2, 2, emitArgmax,
       nd::ArgmaxOp::getOperationName(), numbers},
      {"softmax", "softmax(x, dim)", 2, 2, emitAlong,
       nd::SoftmaxOp::getOperationName(), Floats},
      {"log_softmax", "log_softmax(x, dim)", 2, 2, emitAlong,
       nd::LogSoftmaxOp::getOperationName(), Floats},
      {"dot", "dot(a, b, dim, …)", 3, anyNumber, emitDot},
      {"einsum", "einsum(a, b, … -> [dims])", 2, anyNumber, emitEinsum},
  };
  return table;
}
