//===- BuiltinAttention.cpp - attention -----------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Nd/Ops/AttentionOps.h"
#include "lib/Frontend/Builtins.h"

using namespace mlir;
using namespace meshc;
using namespace meshc::frontend;
using syntax::quote;

namespace {

/// dot_attention(q, k, v, key, memory, mask, bias), whose last arguments are
/// optional and come in any order. [L5.16]
class AttentionCall {
public:
  explicit AttentionCall(Call &call) : call(call) {}

  Operand emit();

private:
  bool readTensors();
  bool readNames();
  bool readExtras();
  bool checkExtraType(unsigned argument, Value value);
  bool addExtra(unsigned argument, Value value);
  bool checkDims();
  void rejectSharedPositions();
  std::string freshName() const;
  bool checkExtra(unsigned argument, Value value);
  bool isRow(StringAttr dim) const {
    return dim != key && typeOf(0).hasDim(dim.getValue());
  }
  nd::TensorType typeOf(unsigned tensor) const {
    return nd::getTensorType(tensors[tensor]);
  }
  /// The dims of the query but `key`.
  SmallVector<nd::DimAttr> getRows() const;

  static constexpr unsigned firstExtra = 5;
  Call &call;
  SmallVector<Value> tensors; ///< query, keys, values, then bias
  SmallVector<syntax::Span> places;
  Value mask;
  unsigned maskArgument = 0, biasArgument = 0; ///< 0: there is none
  StringAttr key, memory;
};

} // namespace

bool AttentionCall::readTensors() {
  for (unsigned i = 0; i < 3; ++i) {
    Value value = call.tensorOf(i, Floats);
    if (!value)
      return false;
    tensors.push_back(value);
    places.push_back(call.place(i));
  }
  return true;
}

bool AttentionCall::readNames() {
  key = call.dim(3, tensors[0]);
  memory = key ? call.dim(4, tensors[1]) : StringAttr();
  if (!memory)
    return false;
  for (auto [tensor, argument, dim] :
       {std::tuple(1u, 3u, key), std::tuple(2u, 4u, memory)})
    if (!typeOf(tensor).hasDim(dim.getValue())) {
      reportMissingDim(call.emitter, call.place(argument), dim.getValue(),
                       tensors[tensor], places[tensor]);
      return false;
    }
  if (!typeOf(0).hasDim(memory.getValue()))
    return call.emitter.checkIndexable(memory, call.place(4));
  if (key == memory)
    call.fail(0, "'dot_attention' needs two dims: that of queries and keys, "
                 "and that of the positions of keys and values");
  else
    rejectSharedPositions();
  return false;
}

/// Reports that queries have the dim of the positions of keys and values.
void AttentionCall::rejectSharedPositions() {
  std::string dim = memory.getValue().str(), fresh = freshName();
  auto rename = [&](unsigned argument, std::string name) {
    if (const syntax::Expr *value = call.ast.arguments[argument].value.get())
      if (const syntax::Name *known = value->asName())
        name = known->text;
    return "rename(" + name + ", " + dim + " -> " + fresh + ")";
  };
  std::string keys = rename(1, "k"), values = rename(2, "v");
  call.fail(1,
            "the queries of 'dot_attention' have dim " + quote(dim) +
                ", too; give the positions of keys and values another name: " +
                keys + (keys == values ? "" : " and " + values) +
                ", and attend over " + quote(fresh));
}

/// A name for the positions of keys and values, which none of them has now.
std::string AttentionCall::freshName() const {
  int64_t size = typeOf(1).getSize(memory.getValue());
  for (StringRef name : {"memory", "positions", "places"})
    if (!typeOf(0).hasDim(name) && !typeOf(1).hasDim(name) &&
        !typeOf(2).hasDim(name) && call.emitter.canIntroduce(name, size))
      return name.str();
  return "memory_2";
}

/// Whether the argument can be a mask or a bias.
bool AttentionCall::checkExtraType(unsigned argument, Value value) {
  Type type = nd::getTensorType(value).getElementType();
  if (isOf(type, Floats | Booleans))
    return true;
  // The name of the argument, if it is one, says more than dots.
  const syntax::Name *name = call.ast.arguments[argument].value->asName();
  std::string shown = name ? std::string(name->text) : "…";
  call.fail(argument, "'dot_attention' takes a mask (i1) or a bias (" +
                          describe(Floats) + ") here, got " + describe(type) +
                          "; a mask is a comparison, as in " + shown +
                          " != 0, and a bias cast(" + shown + ", f32)");
  return false;
}

/// A mask is i1, a bias a float.
bool AttentionCall::addExtra(unsigned argument, Value value) {
  bool isMask = isOf(nd::getTensorType(value).getElementType(), Booleans);
  unsigned &known = isMask ? maskArgument : biasArgument;
  if (known) {
    call.emitter
        .error(call.place(argument),
               std::string("'dot_attention' takes one ") +
                   (isMask ? "mask, got two; combine them with 'and'"
                           : "bias, got two; if one of them is meant as a "
                             "mask, make it i1, as in mask != 0; otherwise "
                             "add them up"))
        .note(call.place(known), "the first one is here");
    return false;
  }
  known = argument;
  if (isMask) {
    mask = value;
  } else {
    tensors.push_back(value);
    places.push_back(call.place(argument));
  }
  return true;
}

bool AttentionCall::readExtras() {
  for (unsigned i = firstExtra; i < call.size(); ++i) {
    // A number takes the type of the queries. [L5.2]
    Value value = call.tensor(i, typeOf(0).getElementType());
    if (!value || !checkExtraType(i, value) || !addExtra(i, value))
      return false;
  }
  return true;
}

bool AttentionCall::checkExtra(unsigned argument, Value value) {
  for (nd::DimAttr dim : nd::getTensorType(value).getDims())
    if (dim.getName() != memory && !isRow(dim.getName())) {
      call.fail(argument, "a mask or bias of 'dot_attention' has dims of the "
                          "queries other than " +
                              quote(key.getValue()) + ", and " +
                              quote(memory.getValue()) + "; this one has " +
                              quote(dim.getName().getValue()));
      return false;
    }
  return true;
}

bool AttentionCall::checkDims() {
  for (nd::DimAttr dim : typeOf(1).getDims())
    if (dim.getName() != key && dim.getName() != memory &&
        !isRow(dim.getName())) {
      syntax::Diagnostic &diagnostic = call.emitter.error(
          places[1], "the keys of 'dot_attention' have dim " +
                         quote(dim.getName().getValue()) +
                         ", which the queries lack");
      call.emitter.noteOrigins(diagnostic, {places[0], places[1]});
      return false;
    }
  return (!maskArgument || checkExtra(maskArgument, mask)) &&
         (!biasArgument || checkExtra(biasArgument, tensors[3]));
}

SmallVector<nd::DimAttr> AttentionCall::getRows() const {
  SmallVector<nd::DimAttr> rows;
  for (nd::DimAttr dim : typeOf(0).getDims())
    if (dim.getName() != key)
      rows.push_back(dim);
  return rows;
}

Operand AttentionCall::emit() {
  if (!readTensors() || !readNames() || !readExtras() || !checkDims())
    return {};
  SmallVector<Operand> floats;
  for (Value tensor : tensors)
    floats.push_back(Operand::of(tensor));
  if (!call.emitter.unifyTypes(floats, places, "dot_attention", call.span))
    return {};
  SmallVector<Value> all(tensors);
  SmallVector<syntax::Span> allPlaces(places);
  if (mask) {
    all.insert(all.begin() + 3, mask);
    allPlaces.insert(allPlaces.begin() + 3, call.place(maskArgument));
  }
  Type element = typeOf(0).getElementType();
  if (!call.emitter.unite(all, allPlaces, element, call.span))
    return {}; // sizes differ
  SmallVector<nd::DimAttr> rows = getRows(), dims(rows);
  for (nd::DimAttr dim : typeOf(2).getDims())
    if (dim.getName() != memory && !isRow(dim.getName()))
      dims.push_back(dim);
  OpBuilder &builder = call.emitter.builder;
  Type sums = call.emitter.makeType(builder.getF32Type(), rows, call.span);
  int32_t segments[] = {1, 1, 1, mask ? 1 : 0, biasArgument ? 1 : 0, 0, 0};
  return Operand::of(call.emitter.create(
      call.builtin.op, call.span, all,
      call.emitter.makeType(element, dims, call.span),
      {call.attribute("key", key), call.attribute("memory", memory),
       call.attribute("operandSegmentSizes",
                      builder.getDenseI32ArrayAttr(segments))},
      sums));
}

static Operand emitAttention(Call &call) { return AttentionCall(call).emit(); }

ArrayRef<Builtin> frontend::attentionBuiltins() {
  static const Builtin table[] = {
      {"dot_attention", "dot_attention(q, k, v, key, memory, mask, bias)", 5, 7,
       emitAttention, nd::AttentionOp::getOperationName(), Floats},
  };
  return table;
}
