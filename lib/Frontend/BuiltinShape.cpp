//===- BuiltinShape.cpp - other dims for the same elements, and parts -----===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Nd/Ops/ShapeOps.h"
#include "dialects/Nd/Ops/WindowOps.h"
#include "lib/Frontend/Builtins.h"

using namespace mlir;
using namespace meshc;
using namespace meshc::frontend;
using syntax::Argument;
using syntax::quote;

/// The dims of a tensor while an operation changes them. [L5.12]
namespace {
struct DimList {
  SmallVector<nd::DimAttr> dims;

  explicit DimList(Value tensor) : dims(nd::getTensorType(tensor).getDims()) {}

  bool has(StringRef name) const {
    return llvm::any_of(dims, [&](nd::DimAttr dim) {
      return dim.getName().getValue() == name;
    });
  }
  void remove(StringRef name) {
    llvm::erase_if(dims, [&](nd::DimAttr dim) {
      return dim.getName().getValue() == name;
    });
  }
  void add(MLIRContext *context, StringRef name, int64_t size) {
    dims.push_back(nd::DimAttr::get(context, name, size));
  }
};
} // namespace

/// A dim of `tensor` that a rename, split or merge removes.
static StringAttr sourceDim(Call &call, const syntax::Name &name,
                            Value tensor) {
  StringAttr dim = call.emitter.resolveDim(name);
  if (!dim || nd::getTensorType(tensor).hasDim(dim.getValue()))
    return dim;
  reportMissingDim(call.emitter, name.span, dim.getValue(), tensor,
                   call.place(0));
  return {};
}

/// Adds a dim that a rename, split or merge of a tensor of type `from` creates
/// and that the result does not have; null after an error.
static StringAttr addDim(Call &call, DimList &list, const syntax::Name &name,
                         int64_t size, nd::TensorType from) {
  StringAttr known = call.emitter.isKnownDim(name)
                         ? call.emitter.resolveDim(name)
                         : StringAttr();
  if (known && list.has(known.getValue())) {
    call.emitter.noteOrigin(
        call.emitter.error(name.span, "the result would have dim " +
                                          quote(known.getValue()) + " twice"),
        call.place(0));
    return {};
  }
  call.emitter.suspects.warnOfLookalike(name, size, from);
  StringAttr dim = call.emitter.introduceDim(name, size);
  if (dim)
    list.add(dim.getContext(), dim.getValue(), size);
  return dim;
}

/// rename(x, a -> b, …): all renames apply at the same time. [L5.12]
static Operand emitRename(Call &call) {
  Value value = call.tensor(0);
  if (!value)
    return {};
  nd::TensorType type = nd::getTensorType(value);
  DimList list(value);
  SmallVector<StringAttr> from, to;
  for (unsigned i = 1; i < call.size(); ++i) {
    const Argument *rename = call.rename(i);
    if (!rename)
      return {};
    if (rename->from.size() != 1 || rename->to.size() != 1)
      return call.fail(i, "'rename' takes single dims; split(x, d -> (a, b)) "
                          "and merge(x, (a, b) -> d) take several");
    StringAttr dim = sourceDim(call, rename->from[0], value);
    if (!dim)
      return {};
    if (auto *first = llvm::find(from, dim); first != from.end()) {
      call.emitter
          .error(call.place(i),
                 "dim " + quote(dim.getValue()) + " is renamed twice")
          .note(call.place(1 + (first - from.begin())), "first renamed here");
      return {};
    }
    from.push_back(dim);
    list.remove(dim.getValue());
  }
  for (unsigned i = 1; i < call.size(); ++i) {
    const syntax::Name &name = call.rename(i)->to[0];
    int64_t size = type.getSize(from[i - 1].getValue());
    to.push_back(addDim(call, list, name, size, type));
    if (!to.back())
      return {};
  }
  return Operand::of(call.create(
      nd::RenameOp::getOperationName(), value,
      call.emitter.makeType(type.getElementType(), list.dims, call.span),
      {call.attribute("from", call.names(from)),
       call.attribute("to", call.names(to))}));
}

/// The sizes of the parts of a split. At most one is unknown; it is `size`
/// divided by the others. Empty after an error. [L5.12]
static SmallVector<int64_t> splitSizes(Call &call, const Argument &split,
                                       int64_t size) {
  SmallVector<int64_t> sizes;
  int64_t known = 1;
  size_t open = split.to.size();
  for (auto [i, name] : llvm::enumerate(split.to)) {
    if (call.emitter.isKnownDim(name)) {
      StringAttr dim = call.emitter.resolveDim(name);
      sizes.push_back(dim ? call.emitter.dimSize(dim) : 1);
      if (llvm::MulOverflow(known, sizes.back(), known))
        known = INT64_MAX;
      continue;
    }
    if (open != split.to.size()) {
      call.emitter
          .error(name.span, "sizes of " + quote(split.to[open].text) + " and " +
                                quote(name.text) +
                                " are both unknown; declare one of them")
          .note(split.to[open].span, "the other unknown size");
      return {};
    }
    open = i;
    sizes.push_back(1);
  }
  bool hasOpen = open != split.to.size();
  if (hasOpen && size % known == 0)
    sizes[open] = size / known;
  else if (hasOpen || known != size) {
    syntax::Diagnostic &misfit = call.emitter.error(
        split.span, "dim " + quote(split.from[0].text) + " has size " +
                        std::to_string(size) + ", which is not " +
                        (hasOpen ? "a multiple of " : "") +
                        std::to_string(known) +
                        ", the product of the known parts' sizes");
    for (const syntax::Name &name : split.to)
      if (call.emitter.isKnownDim(name))
        call.emitter.noteDim(misfit, call.emitter.resolveDim(name).getValue());
    call.emitter.noteOrigin(misfit, call.place(0));
    return {};
  }
  return sizes;
}

/// split(x, d -> (a, b, …)): major first. [L5.12]
static Operand emitSplit(Call &call) {
  Value value = call.tensor(0);
  const Argument *split = value ? call.rename(1) : nullptr;
  if (!split)
    return {};
  if (split->from.size() != 1)
    return call.fail(1, "'split' takes one dim apart; it is written " +
                            call.builtin.usage.str());
  StringAttr dim = sourceDim(call, split->from[0], value);
  if (!dim)
    return {};
  nd::TensorType type = nd::getTensorType(value);
  SmallVector<int64_t> sizes =
      splitSizes(call, *split, type.getSize(dim.getValue()));
  if (sizes.empty())
    return {};
  DimList list(value);
  list.remove(dim.getValue());
  SmallVector<StringAttr> into;
  for (auto [name, size] : llvm::zip(split->to, sizes)) {
    into.push_back(addDim(call, list, name, size, type));
    if (!into.back())
      return {};
  }
  return Operand::of(call.create(
      nd::SplitDimOp::getOperationName(), value,
      call.emitter.makeType(type.getElementType(), list.dims, call.span),
      {call.attribute("dim", dim), call.attribute("into", call.names(into)),
       call.attribute("sizes",
                      call.emitter.builder.getDenseI64ArrayAttr(sizes))}));
}

/// merge(x, (a, b, …) -> d): major first. [L5.12]
static Operand emitMerge(Call &call) {
  Value value = call.tensor(0);
  const Argument *merge = value ? call.rename(1) : nullptr;
  if (!merge)
    return {};
  if (merge->to.size() != 1)
    return call.fail(1, "'merge' makes one dim; it is written " +
                            call.builtin.usage.str());
  nd::TensorType type = nd::getTensorType(value);
  DimList list(value);
  SmallVector<StringAttr> dims;
  int64_t size = 1;
  for (const syntax::Name &name : merge->from) {
    StringAttr dim = sourceDim(call, name, value);
    if (!dim)
      return {};
    if (auto *first = llvm::find(dims, dim); first != dims.end()) {
      call.emitter
          .error(name.span, "dim " + quote(dim.getValue()) + " is given twice")
          .note(merge->from[first - dims.begin()].span, "first given here");
      return {};
    }
    dims.push_back(dim);
    list.remove(dim.getValue());
    size *= type.getSize(dim.getValue());
  }
  bool isNew = !call.emitter.isKnownDim(merge->to[0]);
  StringAttr into = addDim(call, list, merge->to[0], size, type);
  if (!into)
    return {};
  if (isNew)
    call.emitter.suspects.noteTwin(into, dims, size);
  return Operand::of(call.create(
      nd::MergeDimsOp::getOperationName(), value,
      call.emitter.makeType(type.getElementType(), list.dims, call.span),
      {call.attribute("dims", call.names(dims)),
       call.attribute("into", into)}));
}

/// broadcast(x, d, …): each d is new, of its declared size.
static Operand emitBroadcast(Call &call) {
  Value value = call.tensor(0);
  std::optional<SmallVector<StringAttr>> dims =
      value ? call.dims(1, nullptr) : std::nullopt;
  if (!dims)
    return {};
  DimList list(value);
  for (auto [i, dim] : llvm::enumerate(*dims)) {
    if (list.has(dim.getValue())) {
      call.emitter.noteOrigin(
          call.emitter.error(call.place(1 + i), "the tensor has dim " +
                                                    quote(dim.getValue()) +
                                                    " already"),
          call.place(0));
      return {};
    }
    list.add(dim.getContext(), dim.getValue(), call.emitter.dimSize(dim));
  }
  return Operand::of(call.create(
      nd::BroadcastOp::getOperationName(), value,
      call.emitter.makeType(nd::getTensorType(value).getElementType(),
                            list.dims, call.span)));
}

/// The type with another size of `dim`.
static nd::TensorType resize(Call &call, nd::TensorType type, StringAttr dim,
                             int64_t size) {
  SmallVector<nd::DimAttr> dims;
  for (nd::DimAttr each : type.getDims())
    dims.push_back(
        each.getName() == dim
            ? nd::DimAttr::get(dim.getContext(), dim.getValue(), size)
            : each);
  return call.emitter.makeType(type.getElementType(), dims, call.span);
}

/// slice(x, d, start, size). [L5.13]
static Operand emitSlice(Call &call) {
  Value value = call.tensor(0);
  StringAttr dim = value ? call.dim(1, value) : StringAttr();
  if (!dim)
    return {};
  std::optional<int64_t> start = call.whole(2, 0), size = call.whole(3, 1);
  if (!start || !size)
    return {};
  nd::TensorType type = nd::getTensorType(value);
  int64_t whole = type.getSize(dim.getValue());
  if (*start + *size > whole) {
    syntax::Diagnostic &outside = call.emitter.error(
        call.place(3), "entries " + std::to_string(*start) + " to " +
                           std::to_string(*start + *size - 1) + " of dim " +
                           quote(dim.getValue()) +
                           " do not exist; its size is " +
                           std::to_string(whole));
    if (whole == call.emitter.dimSize(dim))
      call.emitter.noteDim(outside, dim.getValue());
    call.emitter.noteOrigins(outside,
                             {call.place(0), call.place(2), call.place(3)});
    return {};
  }
  Builder &builder = call.emitter.builder;
  return Operand::of(call.create(
      nd::SliceOp::getOperationName(), value, resize(call, type, dim, *size),
      {call.attribute("dim", dim),
       call.attribute("start", builder.getI64IntegerAttr(*start)),
       call.attribute("size", builder.getI64IntegerAttr(*size))}));
}

/// concat(a, b, …, d). [L5.13]
static Operand emitConcat(Call &call) {
  SmallVector<Value> values;
  unsigned last = call.size() - 1;
  for (unsigned i = 0; i < last; ++i)
    values.push_back(call.tensor(i));
  if (llvm::is_contained(values, Value()))
    return {};
  StringAttr dim = call.dim(last, values[0]);
  if (!dim)
    return {};
  nd::TensorType first = nd::getTensorType(values[0]);
  int64_t size = first.getSize(dim.getValue());
  for (unsigned i = 1; i < last; ++i) {
    nd::TensorType type = nd::getTensorType(values[i]);
    if (!type.hasDim(dim.getValue())) {
      reportMissingDim(call.emitter, call.place(i), dim.getValue(), values[i],
                       call.place(i));
      return {};
    }
    if (type.withoutDims(dim) != first.withoutDims(dim)) {
      call.emitter.noteOrigins(
          call.emitter.error(
              call.place(i),
              "operands of 'concat' may differ along " + quote(dim.getValue()) +
                  " only, got " + describe(first) + " and " + describe(type) +
                  describeSizes(type.withoutDims(dim), first.withoutDims(dim))),
          {call.place(0), call.place(i)});
      return {};
    }
    size += type.getSize(dim.getValue());
  }
  return Operand::of(call.create(nd::ConcatOp::getOperationName(), values,
                                 resize(call, first, dim, size),
                                 call.attribute("dim", dim)));
}

/// pad(x, d, before, after[, value]). [L5.13]
static Operand emitPad(Call &call) {
  Value value = call.tensorOf(0, Floats | Integers);
  StringAttr dim = value ? call.dim(1, value) : StringAttr();
  if (!dim)
    return {};
  std::optional<int64_t> low = call.whole(2, 0), high = call.whole(3, 0);
  std::optional<syntax::Constant> fill =
      call.size() > 4 ? call.number(4) : syntax::Constant::whole(0);
  if (!low || !high || !fill)
    return {};
  nd::TensorType type = nd::getTensorType(value);
  if (call.size() > 4 &&
      !call.emitter.makeNumber(*fill, type.getElementType(), call.place(4)))
    return {};
  Builder &builder = call.emitter.builder;
  int64_t size = type.getSize(dim.getValue()) + *low + *high;
  return Operand::of(call.create(
      nd::PadOp::getOperationName(), value, resize(call, type, dim, size),
      {call.attribute("dim", dim),
       call.attribute("low", builder.getI64IntegerAttr(*low)),
       call.attribute("high", builder.getI64IntegerAttr(*high)),
       call.attribute("value", builder.getF64FloatAttr(fill->real))}));
}

ArrayRef<Builtin> frontend::shapeBuiltins() {
  static const Builtin table[] = {
      {"rename", "rename(x, dim -> dim, …)", 2, anyNumber, emitRename},
      {"split", "split(x, dim -> (dim, dim, …))", 2, 2, emitSplit},
      {"merge", "merge(x, (dim, dim, …) -> dim)", 2, 2, emitMerge},
      {"broadcast", "broadcast(x, dim, …)", 2, anyNumber, emitBroadcast},
      {"slice", "slice(x, dim, start, size)", 4, 4, emitSlice},
      {"concat", "concat(a, b, …, dim)", 2, anyNumber, emitConcat},
      {"pad", "pad(x, dim, before, after, value)", 4, 5, emitPad},
  };
  return table;
}
