//===- Emitter.cpp - names, types and places ------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "lib/Frontend/Emitter.h"

#include "dialects/Nd/TensorSizes.h"
#include "lib/Frontend/Syntax/Spelling.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace meshc;
using namespace meshc::frontend;
using syntax::quote;

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

Emitter::Emitter(const syntax::SourceSet &sources,
                 syntax::Diagnostics &diagnostics,
                 syntax::Declarations &declarations, MLIRContext &context)
    : builder(&context), sources(sources), diagnostics(diagnostics),
      declarations(declarations) {}

StringAttr Emitter::resolveDim(const syntax::Name &name) {
  const DimArgument *argument =
      scope ? scope->findDimArgument(name.text) : nullptr;
  if (!argument && isImported())
    return rejectImportedDim(name);
  std::string_view text = argument ? argument->name : name.text;
  if (declarations.dims.count(text))
    return builder.getStringAttr(StringRef(text));
  if (declarations.incomplete.dims || lostDims.count(text))
    return {};
  // A call may name a dim that the function introduces; if it does not, the
  // call is wrong.
  if (argument)
    rejectUnknownDim({argument->name, argument->place}, argument->scope);
  else
    rejectUnknownDim(name, scope);
  return {};
}

/// Reports that there is no such dim; `around` are the names at that place.
void Emitter::rejectUnknownDim(const syntax::Name &name, Scope *around) {
  std::string_view near;
  std::string hint = hintAtDim(name.text, declarations.dimNames(), near);
  bool isValue = around && around->findValue(name.text);
  if (isValue)
    hint = "; " + quote(name.text) + " is a value here, not a dim";
  syntax::Diagnostic &unknown =
      error(name.span, "unknown dim " + quote(name.text) + hint);
  llvm::SaveAndRestore there(scope, around);
  if (isValue)
    noteOrigin(unknown, name.span);
  else
    noteDim(unknown, near);
}

std::string Emitter::hintAtDim(std::string_view name,
                               const std::vector<std::string_view> &dims,
                               std::string_view &near) const {
  near = syntax::nearestName(name, dims);
  if (!isIntroduced(near))
    return syntax::didYouMean(name, dims);
  return "; an operation introduces " + quote(near) +
         ", which may be the one that is misspelled";
}

/// [L10.3]
StringAttr Emitter::rejectImportedDim(const syntax::Name &name) {
  std::vector<std::string_view> known;
  for (const Scope *each = scope; each; each = each->parent)
    for (const auto &entry : each->dims)
      known.push_back(entry.first);
  std::string hint = syntax::didYouMean(name.text, known);
  if (hint.empty())
    hint = "; an imported file knows only the dims that its functions are "
           "given, add 'dim " +
           std::string(name.text) + "' to the arguments";
  error(name.span, "unknown dim " + quote(name.text) + hint);
  return {};
}

StringAttr Emitter::introduceDim(const syntax::Name &name, int64_t size) {
  if (isImported() && !scope->findDimArgument(name.text))
    return rejectImportedDim(name);
  std::string_view text = scope ? scope->findDim(name.text) : name.text;
  StringAttr dim = builder.getStringAttr(StringRef(text));
  if (!checkNotLooped(dim, name.span) ||
      !declarations.introduceDim({text, name.span}, size))
    return {};
  return dim;
}

bool Emitter::canIntroduce(StringRef name, int64_t size) const {
  auto known = declarations.dims.find(std::string_view(name));
  return !findLoop(name) &&
         (known == declarations.dims.end() || known->second.size == size);
}

bool Emitter::isKnownDim(const syntax::Name &name) const {
  const DimArgument *argument =
      scope ? scope->findDimArgument(name.text) : nullptr;
  if (!argument && isImported())
    return false;
  return declarations.dims.count(argument ? argument->name : name.text);
}

bool Emitter::isKnownValue(const syntax::Name &name) const {
  return (scope && scope->findValue(name.text)) ||
         file().constants.count(name.text);
}

bool Emitter::isIntroduced(std::string_view dim) const {
  auto known = declarations.dims.find(dim);
  return known != declarations.dims.end() && !known->second.isDeclared;
}

int64_t Emitter::dimSize(StringAttr dim) const {
  return declarations.dims.at(std::string_view(dim.getValue())).size;
}

nd::DimAttr Emitter::declaredDim(const syntax::Name &name) {
  StringAttr dim = resolveDim(name);
  return dim ? nd::DimAttr::get(builder.getContext(), dim.getValue(),
                                dimSize(dim))
             : nd::DimAttr();
}

Type Emitter::resolveType(const syntax::Name &name) {
  std::vector<std::pair<std::string_view, Type>> types = {
      {"f32", builder.getF32Type()},
      {"bf16", builder.getBF16Type()},
      {"f16", builder.getF16Type()},
      {"i32", builder.getI32Type()},
      {"i1", builder.getI1Type()}};
  for (auto [text, type] : types)
    if (text == name.text)
      return type;
  error(name.span, "unknown type " + quote(name.text) +
                       "; types are f32, bf16, f16, i32 and i1");
  return {};
}

void Emitter::noteOrigin(syntax::Diagnostic &diagnostic,
                         syntax::Span at) const {
  noteName(diagnostic, sources.text(at));
}

void Emitter::noteName(syntax::Diagnostic &diagnostic,
                       std::string_view name) const {
  if (scope)
    if (std::optional<syntax::Span> place = scope->findPlace(name)) {
      diagnostic.note(*place,
                      quote(name) + " is defined here" +
                          (scope->isCarriedNumber(name)
                               ? ", a number that the loop carries as f32"
                               : ""));
      return;
    }
  if (auto constant = file().constants.find(name);
      constant != file().constants.end())
    diagnostic.note(constant->second.span, quote(name) + " is declared here");
}

void Emitter::noteOrigins(syntax::Diagnostic &diagnostic,
                          ArrayRef<syntax::Span> operands) const {
  std::set<std::string_view> seen;
  for (syntax::Span operand : operands)
    if (seen.insert(sources.text(operand)).second)
      noteOrigin(diagnostic, operand);
}

void Emitter::noteDim(syntax::Diagnostic &diagnostic, StringRef dim) const {
  auto known = declarations.dims.find(std::string_view(dim));
  if (known == declarations.dims.end())
    return;
  const syntax::DimInfo &info = known->second;
  diagnostic.note(info.span,
                  "dim " + quote(dim) +
                      (info.isDeclared ? " is declared" : " is introduced") +
                      " here with size " + std::to_string(info.size));
}

Location Emitter::locate(syntax::Span span) const {
  syntax::LineColumn at = sources.lineColumn(span);
  Location place = FileLineColLoc::get(builder.getContext(),
                                       StringRef(sources[span.source].name()),
                                       at.line, at.column);
  return frames.empty() ? place
                        : CallSiteLoc::get(place, frames.back().location);
}

bool Emitter::countOperation(syntax::Span at) {
  if (++opCount <= maxOps)
    return true;
  error(at, "the program has more than " + std::to_string(maxOps) +
                " operations; functions are expanded at each call");
  return false;
}

Value Emitter::create(StringRef op, syntax::Span at, ValueRange operands,
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

bool Emitter::checkIndexable(StringAttr dim, syntax::Span at) {
  constexpr int64_t most = int64_t(1) << 31;
  int64_t size = dimSize(dim);
  if (size < most)
    return true;
  noteDim(error(at, "dim " + quote(dim.getValue()) + " has " +
                        std::to_string(size) + " entries, and i32 numbers " +
                        std::to_string(most - 1) + "; split it"),
          dim.getValue());
  return false;
}

std::string Emitter::nextStream(StringRef what) {
  // Parts of a parameter's name are no numbers, so these are apart from them.
  return (what + "." + Twine(streamCount++)).str();
}

nd::TensorType Emitter::makeType(Type elementType, ArrayRef<nd::DimAttr> dims,
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

std::optional<int64_t> Emitter::countElements(ArrayRef<nd::DimAttr> dims) {
  int64_t count = 1;
  for (nd::DimAttr dim : dims)
    if (llvm::MulOverflow(count, dim.getSize(), count) ||
        count > nd::maxElements)
      return std::nullopt;
  return count;
}

nd::TensorType Emitter::unite(ValueRange operands,
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

bool Emitter::checkKinds(Value value, ElementKinds kinds, StringRef what,
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
