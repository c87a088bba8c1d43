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
#include "lib/Frontend/Emitter.h"
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
bool Emitter::convertNumber(StringRef what, const TensorDeclaration &declared,
                            Operand &operand, syntax::Span at) {
  Type type =
      declared.type ? resolveType(*declared.type) : Type(builder.getF32Type());
  if (type && type.isInteger(1)) {
    error(at, what.str() + " " + quote(declared.name.text) +
                  " is declared i1, got the number " +
                  toString(*operand.constant) +
                  "; a comparison makes truth values, as in … != 0")
        .note(declared.name.span, "declared here");
    type = {};
  }
  operand =
      type ? Operand::of(materialize(*operand.constant, type, at)) : Operand();
  return operand.ok();
}

/// The type that is declared, where a value of type `got` is; null after an
/// error. `order` gets the dims in the order of the text.
nd::TensorType Emitter::wantedType(const TensorDeclaration &declared,
                                   nd::TensorType got, syntax::Span at,
                                   SmallVectorImpl<StringRef> &order) {
  SmallVector<nd::DimAttr> dims(got.getDims());
  if (declared.dims) {
    dims.clear();
    order.clear();
    for (const syntax::Name &name : *declared.dims) {
      nd::DimAttr dim = declaredDim(name);
      if (!dim)
        return {};
      if (auto *first = llvm::find(dims, dim); first != dims.end()) {
        error(name.span, "dim " + quote(name.text) +
                             " is given twice; a tensor has each dim once")
            .note((*declared.dims)[first - dims.begin()].span,
                  "first given here");
        return {};
      }
      dims.push_back(dim);
      order.push_back(dim.getName().getValue());
    }
  }
  Type type =
      declared.type ? resolveType(*declared.type) : got.getElementType();
  return type ? makeType(type, dims, at) : nd::TensorType();
}

/// Notes where the dims that are wanted went, and where those that are not
/// wanted came from.
void Emitter::noteDims(syntax::Diagnostic &mismatch, Value value,
                       nd::TensorType wanted) const {
  nd::TensorType got = nd::getTensorType(value);
  for (nd::DimAttr dim : wanted.getDims()) {
    StringRef name = dim.getName().getValue();
    noteLoop(mismatch, name);
    if (got.hasDim(name))
      continue;
    if (std::optional<syntax::Span> place = findRemoval(value, name))
      noteRemoval(mismatch, *place, name);
  }
  for (nd::DimAttr dim : got.getDims()) {
    StringRef name = dim.getName().getValue();
    if (!wanted.hasDim(name) && isIntroduced(name))
      noteDim(mismatch, name);
  }
}

bool Emitter::checkDeclared(StringRef what, const TensorDeclaration &declared,
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
      error(at, what.str() + " " + quote(declared.name.text) + " is declared " +
                    describe(wanted) + ", got " + describe(got) +
                    describeSizes(got, wanted) +
                    hintAtType(sources.text(at), got, wanted));
  if (&origin != scope)
    mismatch.note(declared.name.span, "declared here");
  noteDims(mismatch, operand.value, wanted);
  llvm::SaveAndRestore inOrigin(scope, &origin);
  noteOrigin(mismatch, at);
  return false;
}
