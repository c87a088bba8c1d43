//===- FormAttributes.cpp - how a tensor lies, as text --------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Spmd/FormAttributes.h"

using namespace mlir;

namespace meshc::spmd {

using nd::DimAttr;
using nd::ReductionKind;
using nd::TensorType;

//===----------------------------------------------------------------------===//
// Axes
//===----------------------------------------------------------------------===//

ParseResult parseAxes(AsmParser &parser, AxisList &axes) {
  return parser.parseCommaSeparatedList(
      AsmParser::Delimiter::Braces, [&]() -> ParseResult {
        std::string axis;
        if (parser.parseKeywordOrString(&axis))
          return failure();
        axes.push_back(StringAttr::get(parser.getContext(), axis));
        return success();
      });
}

void printAxes(AsmPrinter &printer, ArrayRef<StringAttr> axes) {
  printer << '{';
  llvm::interleaveComma(axes, printer, [&](StringAttr axis) {
    printer.printKeywordOrString(axis.getValue());
  });
  printer << '}';
}

//===----------------------------------------------------------------------===//
// Forms
//===----------------------------------------------------------------------===//

FormAttr FormAttr::of(TensorType value, TensorType type) {
  MLIRContext *context = value.getContext();
  llvm::SmallVector<DimAttr> cuts;
  for (DimAttr dim : type.getDims())
    if (!dim.getAxes().empty())
      cuts.push_back(
          DimAttr::get(context, dim.getName(), /*size=*/1, dim.getAxes()));
  Type elementType = type.getElementType() == value.getElementType()
                         ? Type()
                         : type.getElementType();
  return get(context, cuts, type.getPartialKind(), type.getPartialAxes(),
             elementType);
}

TensorType FormAttr::apply(TensorType value) const {
  TensorType type = value.getGlobal();
  if (getElementType())
    type = type.withElementType(getElementType());
  for (DimAttr cut : getCuts()) {
    type = addAxes(type, cut.getName().getValue(), cut.getAxes());
    if (!type)
      return {};
  }
  if (getPartialAxes().empty())
    return type;
  AxisList used = getUsedAxes(type);
  if (llvm::any_of(getPartialAxes(), [&](StringAttr axis) {
        return llvm::is_contained(used, axis);
      }))
    return {};
  return type.withPartial(getPartialKind(), getPartialAxes());
}

void printForm(AsmPrinter &printer, FormAttr form) {
  printer << '[';
  llvm::interleaveComma(form.getCuts(), printer, [&](DimAttr cut) {
    printer.printKeywordOrString(cut.getName().getValue());
    printer << ' ';
    printAxes(printer, cut.getAxes());
  });
  printer << ']';
  if (!form.getPartialAxes().empty()) {
    printer << ' ' << stringifyReductionKind(form.getPartialKind()) << ' ';
    printAxes(printer, form.getPartialAxes());
  }
  if (form.getElementType())
    printer << ' ' << form.getElementType();
}

static ParseResult parseCut(AsmParser &parser,
                            llvm::SmallVectorImpl<DimAttr> &cuts) {
  std::string name;
  AxisList axes;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeywordOrString(&name) || parseAxes(parser, axes))
    return failure();
  if (axes.empty())
    return parser.emitError(loc, "expected axes that cut dim '") << name << "'";
  cuts.push_back(DimAttr::get(parser.getContext(),
                              StringAttr::get(parser.getContext(), name),
                              /*size=*/1, axes));
  return success();
}

/// The axes of a reduction, if one stands here.
static ParseResult parsePartial(AsmParser &parser, ReductionKind &kind,
                                AxisList &axes) {
  StringRef word;
  if (failed(parser.parseOptionalKeyword(&word, {"sum", "max", "min", "prod"})))
    return success();
  kind = *nd::symbolizeReductionKind(word);
  return parseAxes(parser, axes);
}

FailureOr<FormAttr> parseForm(AsmParser &parser) {
  llvm::SmallVector<DimAttr> cuts;
  ReductionKind kind = ReductionKind::Sum;
  AxisList partial;
  Type elementType;
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                     [&] { return parseCut(parser, cuts); }) ||
      parsePartial(parser, kind, partial))
    return failure();
  OptionalParseResult type = parser.parseOptionalType(elementType);
  if (type.has_value() && failed(*type))
    return failure();
  // As types have them.
  llvm::sort(cuts, [](DimAttr a, DimAttr b) {
    return a.getName().getValue() < b.getName().getValue();
  });
  return FormAttr::get(parser.getContext(), cuts, kind, partial, elementType);
}

void FormAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printForm(printer, *this);
  printer << '>';
}

Attribute FormAttr::parse(AsmParser &parser, Type) {
  if (parser.parseLess())
    return {};
  FailureOr<FormAttr> form = parseForm(parser);
  return failed(form) || parser.parseGreater() ? FormAttr() : *form;
}

void printForms(AsmPrinter &printer, ArrayRef<FormAttr> forms) {
  printer << '(';
  llvm::interleaveComma(forms, printer,
                        [&](FormAttr form) { printForm(printer, form); });
  printer << ')';
}

ParseResult parseForms(AsmParser &parser,
                       llvm::SmallVectorImpl<FormAttr> &forms) {
  return parser.parseCommaSeparatedList(
      AsmParser::Delimiter::Paren, [&]() -> ParseResult {
        FailureOr<FormAttr> form = parseForm(parser);
        if (failed(form))
          return failure();
        forms.push_back(*form);
        return success();
      });
}

} // namespace meshc::spmd
