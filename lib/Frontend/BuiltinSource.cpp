//===- BuiltinSource.cpp - sizes, indices and random numbers --------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Nd/Ops/PointwiseOps.h"
#include "dialects/Nd/Ops/ReductionOps.h"
#include "dialects/Nd/Ops/SourceOps.h"
#include "dialects/Nd/TensorAttributes.h"
#include "lib/Frontend/Builtins.h"

using namespace mlir;
using namespace meshc;
using namespace meshc::frontend;
using syntax::quote;

/// size(d): a number. [L5.6]
static Operand emitSize(Call &call) {
  StringAttr dim = call.dim(0);
  return dim ? Operand::of(syntax::Constant::whole(call.emitter.dimSize(dim)))
             : Operand();
}

/// iota(d[, type]); inside a loop over d, the number of the iteration. [L4.6]
static Operand emitIota(Call &call) {
  StringAttr dim = call.dim(0);
  Type elementType = call.emitter.builder.getI32Type();
  if (call.size() > 1)
    elementType = call.type(1);
  if (!dim || !elementType || !call.emitter.checkIndexable(dim, call.place(0)))
    return {};
  if (elementType.isInteger(1))
    return call.fail(1, "'iota' takes " + describe(Floats | Integers) +
                            ", got i1");
  if (Loop *loop = call.emitter.findLoop(dim.getValue()))
    return Operand::of(
        call.emitter.emitIteration(*loop, elementType, call.span));
  int64_t size = call.emitter.dimSize(dim);
  nd::DimAttr only = nd::DimAttr::get(dim.getContext(), dim.getValue(), size);
  return Operand::of(
      call.create(nd::IotaOp::getOperationName(), {},
                  call.emitter.makeType(elementType, only, call.span)));
}

/// step()
static Operand emitStep(Call &call) {
  return Operand::of(
      call.create(nd::StepOp::getOperationName(), {},
                  nd::TensorType::get(call.emitter.builder.getI32Type(), {})));
}

/// f32 random numbers with a stream of their own. [L5.8]
static Value createRandom(Call &call, nd::Distribution distribution,
                          ArrayRef<nd::DimAttr> dims) {
  Builder &builder = call.emitter.builder;
  std::optional<SmallVector<Value>> iterations =
      call.emitter.emitIterations(call.span);
  if (!iterations)
    return {};
  return call.create(
      nd::RandomOp::getOperationName(), *iterations,
      call.emitter.makeType(builder.getF32Type(), dims, call.span),
      {call.attribute("distribution", nd::DistributionAttr::get(
                                          builder.getContext(), distribution)),
       call.attribute("stream", builder.getStringAttr(call.emitter.nextStream(
                                    call.builtin.name)))});
}

/// random_normal(d, …), random_uniform(d, …)
static Operand emitRandom(Call &call) {
  std::optional<SmallVector<StringAttr>> names = call.dims(0, nullptr);
  if (!names)
    return {};
  SmallVector<nd::DimAttr> dims;
  for (StringAttr name : *names)
    dims.push_back(nd::DimAttr::get(name.getContext(), name.getValue(),
                                    call.emitter.dimSize(name)));
  return Operand::of(createRandom(call,
                                  call.builtin.name == "random_normal"
                                      ? nd::Distribution::Normal
                                      : nd::Distribution::Uniform,
                                  dims));
}

/// dropout(x, rate): x times a factor, which is 0 with probability `rate` and
/// 1 / (1 - rate) else while training, and 1 while evaluating. [L5.14]
static Operand emitDropout(Call &call) {
  Value value = call.tensorOf(0, Floats);
  std::optional<syntax::Constant> rate = call.number(1);
  if (!value || !rate)
    return {};
  if (!(rate->real >= 0 && rate->real < 1))
    return call.fail(1, "the rate of 'dropout' must be at least 0 and below 1, "
                        "got " +
                            syntax::toString(*rate));
  Emitter &emitter = call.emitter;
  nd::TensorType type = nd::getTensorType(value);
  Type f32 = emitter.builder.getF32Type(), own = type.getElementType();
  auto number = [&](double number, Type elementType) {
    return emitter.materialize(syntax::Constant::number(number), elementType,
                               call.span);
  };
  Value random = createRandom(call, nd::Distribution::Uniform, type.getDims());
  Value limit = number(rate->real, f32);
  Value kept = number(1 / (1 - rate->real), own), dropped = number(0, own);
  if (!random || !limit || !kept || !dropped)
    return {};
  Value keeps = call.create(
      nd::CompareOp::getOperationName(), {random, limit},
      type.withElementType(emitter.builder.getI1Type()),
      call.attribute("predicate",
                     nd::PredicateAttr::get(emitter.builder.getContext(),
                                            nd::Predicate::Ge)));
  if (!keeps)
    return {};
  Value factor = call.create(
      nd::SelectOp::getOperationName(), {keeps, kept, dropped}, type,
      call.attribute(nd::evalValueAttrName,
                     emitter.builder.getF64FloatAttr(1.0)));
  if (!factor)
    return {};
  return Operand::of(
      call.create(nd::MulOp::getOperationName(), {value, factor}, type));
}

/// categorical(logits, d): i32, an index along d that is drawn with the
/// probabilities softmax(logits, d): where logits - log(-log(u)) is largest,
/// for uniform u (Maddison et al., arXiv 1411.0030). [L5.19]
static Operand emitCategorical(Call &call) {
  Emitter &emitter = call.emitter;
  Value logits = call.tensorOf(0, Floats);
  StringAttr dim = logits ? call.dim(1, logits) : StringAttr();
  if (!dim || !emitter.checkIndexable(dim, call.place(1)))
    return {};
  Type f32 = emitter.builder.getF32Type();
  nd::TensorType type = nd::getTensorType(logits).withElementType(f32);
  if (logits.getType() != type)
    logits = call.create(nd::CastOp::getOperationName(), logits, type);
  Value random = createRandom(call, nd::Distribution::Uniform, type.getDims());
  // Half of the least uniform number that is not 0.
  Value least =
      emitter.materialize(syntax::Constant::number(0x1p-25), f32, call.span);
  if (!logits || !random || !least)
    return {};
  Value noise =
      call.create(nd::MaximumOp::getOperationName(), {random, least}, type);
  for (StringRef op :
       {nd::LogOp::getOperationName(), nd::NegOp::getOperationName(),
        nd::LogOp::getOperationName()})
    if (noise)
      noise = call.create(op, noise, type);
  Value sum =
      noise ? call.create(nd::SubOp::getOperationName(), {logits, noise}, type)
            : Value();
  if (!sum)
    return {};
  return Operand::of(call.create(
      nd::ArgmaxOp::getOperationName(), sum,
      type.withoutDims(dim).withElementType(emitter.builder.getI32Type()),
      call.attribute("dim", dim)));
}

ArrayRef<Builtin> frontend::sourceBuiltins() {
  static const Builtin table[] = {
      {"size", "size(dim)", 1, 1, emitSize},
      {"iota", "iota(dim, type)", 1, 2, emitIota},
      {"step", "step()", 0, 0, emitStep},
      {"random_normal", "random_normal(dim, …)", 0, anyNumber, emitRandom},
      {"random_uniform", "random_uniform(dim, …)", 0, anyNumber, emitRandom},
      {"dropout", "dropout(x, rate)", 2, 2, emitDropout},
      {"categorical", "categorical(logits, dim)", 2, 2, emitCategorical},
  };
  return table;
}
