//===- BuiltinAttention.cpp - attention -----------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Nd/Ops/AttentionOps.h"
#include "dialects/Nd/Ops/DimNames.h"
#include "dialects/Nd/Ops/ModelOps.h"
#include "dialects/Nd/Ops/ShapeOps.h"
#include "lib/Frontend/Builtins.h"

#include "llvm/ADT/StringExtras.h"

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
  bool rejectUnknownPositions();
  void rejectMissingPositions(unsigned tensor);
  void rejectSharedPositions();
  std::string nameOf(unsigned argument) const;
  bool isOfFeatures(Value value, StringAttr dim) const;
  std::string writeRenames(const std::string &from,
                           const std::string &to) const;
  std::vector<std::string> findPositions(unsigned tensor, int64_t size) const;
  std::string adviseRename(unsigned tensor, const std::string &to,
                           int64_t size) const;
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
  if (!key)
    return false;
  if (!typeOf(1).hasDim(key.getValue())) {
    reportMissingDim(call.emitter, call.place(3), key.getValue(), tensors[1],
                     places[1]);
    return false;
  }
  if (rejectUnknownPositions())
    return false;
  memory = call.dim(4);
  if (!memory)
    return false;
  if (key == memory) {
    call.fail(0, "'dot_attention' needs two dims: that of queries and keys, "
                 "and that of the positions of keys and values");
    return false;
  }
  for (unsigned tensor : {1u, 2u})
    if (!typeOf(tensor).hasDim(memory.getValue())) {
      rejectMissingPositions(tensor);
      return false;
    }
  if (!typeOf(0).hasDim(memory.getValue()))
    return call.emitter.checkIndexable(memory, call.place(4));
  rejectSharedPositions();
  return false;
}

/// The argument as a rename has it: its name, if it is one.
std::string AttentionCall::nameOf(unsigned argument) const {
  static const char *const roles[] = {"q", "k", "v"};
  const syntax::Expr *value = call.ast.arguments[argument].value.get();
  const syntax::Name *known = value ? value->asName() : nullptr;
  return known ? std::string(known->text) : roles[argument];
}

/// "rename(k, patch -> memory) and rename(v, patch -> memory)", of those of
/// keys and values that lack the dim `to`.
std::string AttentionCall::writeRenames(const std::string &from,
                                        const std::string &to) const {
  std::vector<std::string> renames;
  for (unsigned tensor : {1u, 2u})
    if (!typeOf(tensor).hasDim(to)) {
      std::string text =
          "rename(" + nameOf(tensor) + ", " + from + " -> " + to + ")";
      if (renames.empty() || renames.back() != text)
        renames.push_back(text);
    }
  return llvm::join(renames, " and ");
}

/// Whether the dim numbers features, such as heads: it comes from a parameter
/// alone, or from the split that made `key`.
bool AttentionCall::isOfFeatures(Value value, StringAttr dim) const {
  StringRef name = dim.getValue();
  constexpr unsigned mostSteps = 100;
  for (unsigned i = 0; i < mostSteps; ++i) {
    Operation *op = value.getDefiningOp();
    if (!op || isa<nd::ParameterOp>(op))
      return op != nullptr;
    Value source;
    for (Value operand : op->getOperands())
      if (nd::TensorType type = nd::getTensorType(operand);
          type && type.hasDim(name) &&
          (!source || source.getDefiningOp<nd::ParameterOp>()))
        source = operand;
    if (!source) {
      auto split = dyn_cast<nd::SplitDimOp>(op);
      return split && llvm::is_contained(nd::getNames(split.getInto()), key);
    }
    value = source;
  }
  return false;
}

/// The dims of keys or values that may be those of their positions: the
/// queries have them, too. Of this size, unless it is 0.
std::vector<std::string> AttentionCall::findPositions(unsigned tensor,
                                                      int64_t size) const {
  const syntax::ModelDeclaration *model = call.emitter.declarations.model;
  const syntax::TensorDeclaration *input =
      model && !model->inputs.empty() ? &model->inputs.front() : nullptr;
  std::string_view batch;
  if (input && input->dims && !input->dims->empty())
    batch = input->dims->front().text;
  std::vector<std::string> found;
  for (nd::DimAttr dim : typeOf(tensor).getDims())
    if (isRow(dim.getName()) && (size == 0 || dim.getSize() == size) &&
        std::string_view(dim.getName().getValue()) != batch &&
        !isOfFeatures(tensors[tensor], dim.getName()))
      found.push_back(dim.getName().getValue().str());
  return found;
}

/// How to give keys and values the dim `to`, which has this size or, if it is
/// 0, is not known yet; empty if they have no dim that may be meant.
std::string AttentionCall::adviseRename(unsigned tensor, const std::string &to,
                                        int64_t size) const {
  std::vector<std::string> positions = findPositions(tensor, size);
  if (positions.empty())
    return "";
  bool isClear = positions.size() == 1;
  std::string advice = "write " +
                       writeRenames(isClear ? positions.front() : "DIM", to) +
                       (size == 0 ? ", which introduces it" : "");
  if (isClear)
    return advice;
  for (std::string &dim : positions)
    dim = quote(dim);
  return advice + "; DIM is the dim of their positions: " +
         llvm::join(positions, " or ");
}

/// Reports a dim for the positions of keys and values that is not known, where
/// a rename was forgotten; whether that is so.
bool AttentionCall::rejectUnknownPositions() {
  const syntax::Argument &argument = call.ast.arguments[4];
  const syntax::Name *name = argument.kind == syntax::Argument::Kind::Value
                                 ? argument.value->asName()
                                 : nullptr;
  if (!name || call.emitter.isImported() || call.emitter.isKnownDim(*name) ||
      call.emitter.scope->findValue(name->text))
    return false;
  // A dim of the keys alone has been misspelled.
  for (nd::DimAttr dim : typeOf(1).getDims())
    if (dim.getName() != key && !isRow(dim.getName()))
      return false;
  std::string to(name->text), advice = adviseRename(1, to, 0);
  if (advice.empty())
    return false;
  call.emitter.noteOrigin(
      call.emitter.error(
          call.place(4),
          "unknown dim " + quote(to) +
              "; it is to name the positions of keys and values, whose dims "
              "are those of the queries now: " +
              advice),
      places[1]);
  return true;
}

/// Reports that keys or values have no dim `memory`.
void AttentionCall::rejectMissingPositions(unsigned tensor) {
  std::string to = memory.getValue().str(),
              who = tensor == 1 ? "keys" : "values";
  if (typeOf(0).hasDim(to)) {
    call.fail(0, "the queries of 'dot_attention' have dim " + quote(to) +
                     ", and the " + who +
                     " have not; it is the dim of the positions of keys and "
                     "values: rename theirs, and not that of the queries");
    return;
  }
  std::string advice = adviseRename(tensor, to, call.emitter.dimSize(memory));
  if (advice.empty())
    reportMissingDim(call.emitter, call.place(4), to, tensors[tensor],
                     places[tensor]);
  else
    call.fail(tensor, "the " + who + " of 'dot_attention' have no dim " +
                          quote(to) + ", they are " + describe(typeOf(tensor)) +
                          "; " + advice);
}

/// Reports that queries have the dim of the positions of keys and values.
void AttentionCall::rejectSharedPositions() {
  std::string dim = memory.getValue().str(), fresh = freshName();
  call.fail(1,
            "the queries of 'dot_attention' have dim " + quote(dim) +
                ", too; give the positions of keys and values another name: " +
                writeRenames(dim, fresh) + ", and attend over " + quote(fresh));
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
