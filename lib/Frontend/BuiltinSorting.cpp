//===- BuiltinSorting.cpp - the order of entries --------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Nd/Ops/DimNames.h"
#include "dialects/Nd/Ops/IndexingOps.h"
#include "dialects/Nd/Ops/ShapeOps.h"
#include "dialects/Nd/Ops/SortingOps.h"
#include "lib/Frontend/Builtins.h"

using namespace mlir;
using namespace meshc;
using namespace meshc::frontend;
using syntax::Argument;
using syntax::quote;

/// The operand of a sort and the dim along which it is sorted.
namespace {
struct Sorted {
  Value value;
  StringAttr dim;
};
} // namespace

static Sorted sortedOperand(Call &call,
                            function_ref<StringAttr(Value)> getDim) {
  Value value = call.tensorOf(0, Floats | Integers);
  StringAttr dim = value ? getDim(value) : StringAttr();
  if (!dim || !call.emitter.checkIndexable(dim, call.place(1)))
    return {};
  return {value, dim};
}

/// i32 indices of the first `count` entries, along `into`.
static Value createIndices(Call &call, StringRef op, Sorted sorted,
                           StringAttr into, int64_t count,
                           ArrayRef<NamedAttribute> attributes = {}) {
  OpBuilder &builder = call.emitter.builder;
  nd::TensorType type = nd::getTensorType(sorted.value);
  SmallVector<nd::DimAttr> dims(type.withoutDims(sorted.dim).getDims());
  dims.push_back(
      nd::DimAttr::get(builder.getContext(), into.getValue(), count));
  SmallVector<NamedAttribute> all(attributes);
  all.push_back(call.attribute("dim", sorted.dim));
  all.push_back(call.attribute("into", into));
  all.push_back(call.attribute("count", builder.getI64IntegerAttr(count)));
  return call.create(
      op, sorted.value,
      call.emitter.makeType(builder.getI32Type(), dims, call.span), all);
}

/// The operand's entries at the indices.
static Value createEntries(Call &call, Sorted sorted, Value indices) {
  nd::TensorType type = nd::getTensorType(sorted.value);
  return call.create(
      nd::GatherOp::getOperationName(), {sorted.value, indices},
      nd::getTensorType(indices).withElementType(type.getElementType()),
      call.attribute("dim", sorted.dim));
}

/// The operand of argsort and sort, and their indices. `into` names the dim of
/// the indices.
static std::pair<Sorted, Value>
emitOrder(Call &call, function_ref<StringAttr(Sorted)> getInto) {
  Sorted sorted =
      sortedOperand(call, [&](Value value) { return call.dim(1, value); });
  std::optional<SmallVector<NamedAttribute>> words;
  if (sorted.value)
    words = call.words(2, {"descending"});
  if (!words)
    return {};
  int64_t size = nd::getTensorType(sorted.value).getSize(sorted.dim.getValue());
  return {sorted, createIndices(call, nd::ArgsortOp::getOperationName(), sorted,
                                getInto(sorted), size, *words)};
}

/// argsort(x, d[, descending]). [L5.20]
static Operand emitArgsort(Call &call) {
  auto [sorted, indices] =
      emitOrder(call, [](Sorted sorted) { return sorted.dim; });
  return indices ? Operand::of(indices) : Operand();
}

/// sort(x, d[, descending]): indices do not have the dim along which they
/// index, so it has another name meanwhile. [L5.20]
static Operand emitSort(Call &call) {
  StringAttr into;
  auto [sorted, indices] = emitOrder(call, [&](Sorted sorted) {
    nd::TensorType type = nd::getTensorType(sorted.value);
    return into = nd::namePart(type, sorted.dim, "sorted");
  });
  Value entries = indices ? createEntries(call, sorted, indices) : Value();
  if (!entries)
    return {};
  return Operand::of(
      call.create(nd::RenameOp::getOperationName(), entries,
                  nd::getTensorType(sorted.value).getGlobal(),
                  {call.attribute("from", call.names(into)),
                   call.attribute("to", call.names(sorted.dim))}));
}

/// The dim of the result of top_k; null after an error.
static StringAttr chosenDim(Call &call, const syntax::Name &name,
                            Sorted sorted) {
  StringAttr into = call.emitter.resolveDim(name);
  if (!into || !call.emitter.checkNotLooped(into, name.span))
    return {};
  nd::TensorType type = nd::getTensorType(sorted.value);
  int64_t size = type.getSize(sorted.dim.getValue());
  int64_t count = call.emitter.dimSize(into);
  if (type.hasDim(into.getValue())) {
    call.emitter.noteOrigin(
        call.emitter.error(name.span, "the result would have dim " +
                                          quote(into.getValue()) + " twice"),
        call.place(0));
    return {};
  }
  if (count <= size)
    return into;
  syntax::Diagnostic &tooMany = call.emitter.error(
      name.span, "cannot choose " + std::to_string(count) + " of " +
                     std::to_string(size) + " entries of dim " +
                     quote(sorted.dim.getValue()));
  call.emitter.noteDim(tooMany, into.getValue());
  call.emitter.noteOrigin(tooMany, call.place(0));
  return {};
}

/// values, indices = top_k(x, d -> k). [L5.21]
static SmallVector<Operand> emitTopK(Call &call) {
  SmallVector<Operand> none(2);
  const Argument *rename = call.rename(1);
  if (!rename)
    return none;
  if (rename->from.size() != 1 || rename->to.size() != 1) {
    call.fail(1, "'top_k' takes single dims; it is written " +
                     call.builtin.usage.str());
    return none;
  }
  Sorted sorted = sortedOperand(call, [&](Value value) -> StringAttr {
    StringAttr dim = call.emitter.resolveDim(rename->from[0]);
    if (!dim || nd::getTensorType(value).hasDim(dim.getValue()))
      return dim;
    reportMissingDim(call.emitter, rename->from[0].span, dim.getValue(), value,
                     call.place(0));
    return {};
  });
  StringAttr into =
      sorted.value ? chosenDim(call, rename->to[0], sorted) : StringAttr();
  if (!into)
    return none;
  Value indices = createIndices(call, nd::TopKOp::getOperationName(), sorted,
                                into, call.emitter.dimSize(into));
  Value values = indices ? createEntries(call, sorted, indices) : Value();
  return values
             ? SmallVector<Operand>{Operand::of(values), Operand::of(indices)}
             : none;
}

ArrayRef<Builtin> frontend::sortingBuiltins() {
  static const Builtin table[] = {
      {"argsort", "argsort(x, dim, descending)", 2, 3, emitArgsort},
      {"sort", "sort(x, dim, descending)", 2, 3, emitSort},
      {"top_k",
       "top_k(x, dim -> dim)",
       2,
       2,
       nullptr,
       {},
       Floats | Integers,
       2,
       emitTopK},
  };
  return table;
}
