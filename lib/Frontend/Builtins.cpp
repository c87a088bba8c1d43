//===- Builtins.cpp - calls of the language's functions -------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "lib/Frontend/Builtins.h"
#include "lib/Frontend/DimHistory.h"
#include "lib/Frontend/EmissionOrder.h"

using namespace mlir;
using namespace meshc;
using namespace meshc::frontend;
using syntax::Argument;
using syntax::quote;

namespace {

/// All families in one table, built once.
const std::map<std::string_view, const Builtin *> &allBuiltins() {
  static const auto table = [] {
    std::map<std::string_view, const Builtin *> made;
    for (ArrayRef<Builtin> family :
         {pointwiseBuiltins(), reductionBuiltins(), shapeBuiltins(),
          indexingBuiltins(), sourceBuiltins(), attentionBuiltins(),
          sortingBuiltins()})
      for (const Builtin &builtin : family)
        made[std::string_view(builtin.name)] = &builtin;
    return made;
  }();
  return table;
}

} // namespace

const Builtin *frontend::findBuiltin(StringRef name) {
  auto found = allBuiltins().find(std::string_view(name));
  return found == allBuiltins().end() ? nullptr : found->second;
}

std::vector<std::string_view> frontend::builtinNames() {
  std::vector<std::string_view> names;
  for (const auto &entry : allBuiltins())
    names.push_back(entry.first);
  return names;
}

void frontend::reportMissingDim(Emitter &emitter, syntax::Span at,
                                StringRef dim, Value tensor,
                                syntax::Span tensorPlace) {
  nd::TensorType type = nd::getTensorType(tensor);
  std::vector<std::string_view> names;
  for (nd::DimAttr each : type.getDims())
    names.push_back(std::string_view(each.getName().getValue()));
  std::string_view near;
  std::string hint;
  std::optional<syntax::Span> removal =
      DimHistory(emitter).findRemoval(tensor, dim);
  if (!removal)
    hint = emitter.hintAtDim(dim, names, near);
  syntax::Diagnostic &missing = emitter.error(
      at, "tensor " + describe(type) + " has no dim " + quote(dim) + hint);
  emitter.noteOrigin(missing, tensorPlace);
  emitter.noteLoop(missing, dim);
  if (removal)
    DimHistory(emitter).noteRemoval(missing, *removal, dim);
  if (emitter.isIntroduced(near))
    emitter.noteDim(missing, near);
}

bool Call::checkArguments() {
  unsigned count = size();
  if (count < builtin.minArguments || count > builtin.maxArguments) {
    fail(quote(builtin.name) + " is written " + builtin.usage.str() + ", got " +
         std::to_string(count) + (count == 1 ? " argument" : " arguments"));
    return false;
  }
  for (const Argument &argument : ast.arguments) {
    bool isNamed = argument.kind == Argument::Kind::Named;
    bool isSetting = isNamed && !builtin.setting.empty() &&
                     StringRef(argument.key.text) == builtin.setting &&
                     &argument == &ast.arguments.back();
    if (isNamed && !isSetting) {
      emitter.error(argument.span,
                    quote(builtin.name) +
                        (builtin.setting.empty()
                             ? " takes no named arguments"
                             : " takes one named argument, " +
                                   quote(builtin.setting) + ", as the last") +
                        "; it is written " + builtin.usage.str());
      return false;
    }
    if (!isNamed && !builtin.setting.empty() && count == builtin.maxArguments &&
        &argument == &ast.arguments.back()) {
      emitter.error(argument.span,
                    "the last argument of " + quote(builtin.name) +
                        " has a name: it is written " + builtin.usage.str());
      return false;
    }
  }
  return true;
}

void Call::emitEarly() {
  SmallVector<const syntax::Expr *> operands;
  for (const Argument &argument : ast.arguments)
    operands.push_back(argument.value.get());
  SmallVector<bool> isEarly = findEarly(emitter, operands);
  for (unsigned i = 0; i < size(); ++i)
    if (isEarly[i])
      early[i] = emitter.emit(*operands[i]);
}

Operand Call::fail(std::string message) {
  emitter.error(ast.callee.span, std::move(message));
  return {};
}

Operand Call::fail(unsigned i, std::string message) {
  emitter.noteOrigin(emitter.error(place(i), std::move(message)), place(i));
  return {};
}

Operand Call::operand(unsigned i) {
  if (auto emitted = early.find(i); emitted != early.end())
    return emitted->second;
  const Argument &argument = ast.arguments[i];
  if (argument.kind == Argument::Kind::Value ||
      argument.kind == Argument::Kind::Named)
    return emitter.emit(*argument.value);
  return fail(i, "expected an expression; " + quote(builtin.name) +
                     " is written " + builtin.usage.str());
}

Value Call::tensor(unsigned i, Type elementType) {
  Operand value = operand(i);
  if (!value.constant)
    return value.value;
  if (!elementType)
    elementType = emitter.builder.getF32Type();
  return emitter.materialize(*value.constant, elementType, place(i));
}

Value Call::tensorOf(unsigned i, ElementKinds kinds) {
  Value value = tensor(i);
  return value && emitter.checkKinds(value, kinds, builtin.name, place(i),
                                     place(i))
             ? value
             : Value();
}

StringAttr Call::dim(unsigned i, Value tensor) {
  const Argument &argument = ast.arguments[i];
  const syntax::Name *name = argument.kind == Argument::Kind::Value
                                 ? argument.value->asName()
                                 : nullptr;
  if (!name) {
    fail(i, "expected the name of a dim; " + quote(builtin.name) +
                " is written " + builtin.usage.str());
    return {};
  }
  StringAttr dim = emitter.resolveDim(*name);
  if (!dim || !tensor)
    return dim;
  if (nd::getTensorType(tensor).hasDim(dim.getValue()))
    return dim;
  reportMissingDim(emitter, place(i), dim.getValue(), tensor, place(0));
  return {};
}

StringAttr Call::newDim(unsigned i) {
  StringAttr name = dim(i);
  return name && emitter.checkNotLooped(name, place(i)) ? name : StringAttr();
}

std::optional<SmallVector<StringAttr>> Call::dims(unsigned first,
                                                  Value tensor) {
  SmallVector<StringAttr> list;
  for (unsigned i = first; i < size(); ++i) {
    StringAttr name = tensor ? dim(i, tensor) : newDim(i);
    if (!name)
      return std::nullopt;
    if (auto *known = llvm::find(list, name); known != list.end()) {
      emitter
          .error(place(i), "dim " + quote(name.getValue()) + " is given twice")
          .note(place(first + (known - list.begin())), "first given here");
      return std::nullopt;
    }
    list.push_back(name);
  }
  return list;
}

std::optional<syntax::Constant> Call::number(unsigned i) {
  Operand value = operand(i);
  if (value.value)
    fail(i, "expected a number known at compile time; " + quote(builtin.name) +
                " is written " + builtin.usage.str());
  return value.constant;
}

std::optional<int64_t> Call::whole(unsigned i, int64_t least) {
  std::optional<syntax::Constant> value = number(i);
  if (!value)
    return std::nullopt;
  if (value->isInteger && value->integer >= least &&
      value->integer <= syntax::Declarations::maxDimSize)
    return value->integer;
  fail(i, "expected a whole number from " + std::to_string(least) +
              " to 2**40, got " + syntax::describeNotWhole(*value));
  return std::nullopt;
}

Type Call::type(unsigned i) {
  const Argument &argument = ast.arguments[i];
  if (argument.kind == Argument::Kind::Value && argument.value->asName())
    return emitter.resolveType(*argument.value->asName());
  fail(i, "expected a type (f32, bf16, f16, i32 or i1); " +
              quote(builtin.name) + " is written " + builtin.usage.str());
  return {};
}

/// "'a'", "'a' or 'b'".
static std::string listWords(ArrayRef<StringRef> words) {
  std::string text;
  for (StringRef word : words)
    text += (text.empty() ? "" : " or ") + quote(word);
  return text;
}

std::optional<SmallVector<NamedAttribute>>
Call::words(unsigned first, ArrayRef<StringRef> known) {
  SmallVector<NamedAttribute> words;
  for (unsigned i = first; i < size(); ++i) {
    const Argument &argument = ast.arguments[i];
    const syntax::Name *word = argument.kind == Argument::Kind::Value
                                   ? argument.value->asName()
                                   : nullptr;
    if (!word || !llvm::is_contained(known, StringRef(word->text))) {
      fail(i, "expected " + listWords(known) + "; " + quote(builtin.name) +
                  " is written " + builtin.usage.str());
      return std::nullopt;
    }
    NamedAttribute attribute =
        this->attribute(word->text, emitter.builder.getUnitAttr());
    if (llvm::is_contained(words, attribute)) {
      fail(i, quote(word->text) + " is given twice");
      return std::nullopt;
    }
    words.push_back(attribute);
  }
  return words;
}

const Argument *Call::rename(unsigned i) {
  const Argument &argument = ast.arguments[i];
  if (argument.kind == Argument::Kind::Rename)
    return &argument;
  fail(i, "expected 'dim -> dim'; " + quote(builtin.name) + " is written " +
              builtin.usage.str());
  return nullptr;
}

ArrayAttr Call::names(ArrayRef<StringAttr> list) const {
  SmallVector<Attribute> attributes(list.begin(), list.end());
  return emitter.builder.getArrayAttr(attributes);
}
