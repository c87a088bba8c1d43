//===- DeclaredTypes.cpp - dims and types that the text states ------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What an argument of a function or the target of an assignment is declared to
/// be, and whether its value is that.
///
//===----------------------------------------------------------------------===//
#include "lib/Frontend/DeclaredTypes.h"

#include "lib/Frontend/DimHistory.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace meshc;
using namespace meshc::frontend;
using syntax::quote;
using syntax::TensorDeclaration;

/// How a value gets the type that is wanted, if the type alone is wrong.
static std::string hintAtType(std::string_view shown, nd::TensorType got,
                              nd::TensorType wanted) {
  Type type = wanted.getElementType();
  if (type == got.getElementType() || got.getDims() != wanted.getDims())
    return {};
  // The text of a longer expression would only be repeated.
  std::string value(shown.size() <= 16 ? shown : "…");
  if (type.isInteger(1))
    return "; a comparison makes truth values, as in " + value + " != 0";
  return "; cast it: cast(" + value + ", " + describe(type) + ")";
}

/// Makes a number a tensor of the type that is declared.
bool DeclaredTypes::convertNumber(StringRef what,
                                  const TensorDeclaration &declared,
                                  Operand &operand, syntax::Span at) {
  Type type = declared.type ? emitter.resolveType(*declared.type)
                            : Type(emitter.builder.getF32Type());
  if (type && type.isInteger(1)) {
    emitter
        .error(at, what.str() + " " + quote(declared.name.text) +
                       " is declared i1, got the number " +
                       toString(*operand.constant) +
                       "; a comparison makes truth values, as in … != 0")
        .note(declared.name.span, "declared here");
    type = {};
  }
  operand = type ? Operand::of(emitter.materialize(*operand.constant, type, at))
                 : Operand();
  return operand.ok();
}

/// The type that is declared, where a value of type `got` is; null after an
/// error. `order` gets the dims in the order of the text.
nd::TensorType DeclaredTypes::wantedType(const TensorDeclaration &declared,
                                         nd::TensorType got, syntax::Span at,
                                         SmallVectorImpl<StringRef> &order) {
  SmallVector<nd::DimAttr> dims(got.getDims());
  if (declared.dims) {
    dims.clear();
    order.clear();
    for (const syntax::Name &name : *declared.dims) {
      nd::DimAttr dim = emitter.declaredDim(name);
      if (!dim)
        return {};
      if (auto *first = llvm::find(dims, dim); first != dims.end()) {
        emitter
            .error(name.span, "dim " + quote(name.text) +
                                  " is given twice; a tensor has each dim once")
            .note((*declared.dims)[first - dims.begin()].span,
                  "first given here");
        return {};
      }
      dims.push_back(dim);
      order.push_back(dim.getName().getValue());
    }
  }
  Type type = declared.type ? emitter.resolveType(*declared.type)
                            : got.getElementType();
  return type ? emitter.makeType(type, dims, at) : nd::TensorType();
}

/// Notes where the dims that are wanted went, and where those that are not
/// wanted came from.
void DeclaredTypes::noteDims(syntax::Diagnostic &mismatch, Value value,
                             nd::TensorType wanted) const {
  DimHistory history(emitter);
  nd::TensorType got = nd::getTensorType(value);
  for (nd::DimAttr dim : wanted.getDims()) {
    StringRef name = dim.getName().getValue();
    emitter.noteLoop(mismatch, name);
    if (got.hasDim(name))
      continue;
    if (std::optional<syntax::Span> place = history.findRemoval(value, name))
      history.noteRemoval(mismatch, *place, name);
  }
  for (nd::DimAttr dim : got.getDims()) {
    StringRef name = dim.getName().getValue();
    if (!wanted.hasDim(name) && emitter.isIntroduced(name))
      emitter.noteDim(mismatch, name);
  }
}

bool DeclaredTypes::check(StringRef what, const TensorDeclaration &declared,
                          Operand &operand, syntax::Span at, Scope &origin) {
  if (!declared.dims && !declared.type)
    return operand.ok();
  if (!operand.ok() ||
      (operand.constant && !convertNumber(what, declared, operand, at)))
    return false;
  nd::TensorType got = nd::getTensorType(operand.value);
  nd::TensorType wanted = wantedType(declared, got, at, operand.order);
  if (!wanted || wanted == got)
    return wanted != nullptr;
  syntax::Diagnostic &mismatch =
      emitter.error(at, what.str() + " " + quote(declared.name.text) +
                            " is declared " + describe(wanted) + ", got " +
                            describe(got) + describeSizes(got, wanted) +
                            hintAtType(emitter.sources.text(at), got, wanted));
  if (&origin != emitter.scope)
    mismatch.note(declared.name.span, "declared here");
  noteDims(mismatch, operand.value, wanted);
  llvm::SaveAndRestore inOrigin(emitter.scope, &origin);
  emitter.noteOrigin(mismatch, at);
  return false;
}

nd::TensorType DeclaredTypes::getType(const syntax::TensorDeclaration &tensor,
                                      StringRef what) {
  if (!tensor.dims) {
    std::string text(tensor.name.text);
    emitter.error(tensor.name.span, what.str() + " " + quote(text) +
                                        " needs its dims, as in " + text +
                                        "[batch]; a scalar is " + text + "[]");
    return {};
  }
  SmallVector<nd::DimAttr> dims;
  for (const syntax::Name &name : *tensor.dims) {
    nd::DimAttr dim = emitter.declaredDim(name);
    if (!dim)
      return {};
    if (const Loop *loop = emitter.findLoop(dim.getName().getValue())) {
      emitter
          .error(name.span, "a parameter inside a loop over " +
                                quote(loop->dimName()) +
                                " gets that dim from the loop; leave it out")
          .note(loop->span, "the loop is here");
      return {};
    }
    if (auto *first = llvm::find(dims, dim); first != dims.end()) {
      emitter
          .error(name.span, "dim " + quote(name.text) +
                                " is given twice; a tensor "
                                "has each dim once")
          .note((*tensor.dims)[first - dims.begin()].span, "first given here");
      return {};
    }
    dims.push_back(dim);
  }
  Type elementType = tensor.type ? emitter.resolveType(*tensor.type)
                                 : Type(emitter.builder.getF32Type());
  return elementType ? emitter.makeType(elementType, dims, tensor.name.span)
                     : nd::TensorType();
}
