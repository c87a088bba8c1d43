//===- EmitExpression.cpp - names, numbers, operators and calls -----------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Nd/Ops/PointwiseOps.h"
#include "dialects/Nd/Ops/SourceOps.h"
#include "dialects/Nd/Ops/StackOps.h"
#include "lib/Frontend/Builtins.h"
#include "lib/Frontend/EmissionOrder.h"
#include "lib/Frontend/EmitTable.h"
#include "lib/Frontend/FindCallee.h"
#include "lib/Frontend/Syntax/Spelling.h"

#include "llvm/ADT/ScopeExit.h"

using namespace mlir;
using namespace meshc;
using namespace meshc::frontend;
using syntax::BinaryKind;
using syntax::quote;

namespace {

/// An operator as an op. [L5.1]
struct Operator {
  StringRef text;
  StringRef op;
  ElementKinds kinds;
  std::optional<nd::Predicate> predicate;
};

Operator describeOperator(BinaryKind kind) {
  const ElementKinds numbers = Floats | Integers;
  static const Operator table[] = {
      {"or", nd::OrOp::getOperationName(), Booleans, {}},
      {"and", nd::AndOp::getOperationName(), Booleans, {}},
      {"==", nd::CompareOp::getOperationName(), numbers, nd::Predicate::Eq},
      {"!=", nd::CompareOp::getOperationName(), numbers, nd::Predicate::Ne},
      {"<", nd::CompareOp::getOperationName(), numbers, nd::Predicate::Lt},
      {"<=", nd::CompareOp::getOperationName(), numbers, nd::Predicate::Le},
      {">", nd::CompareOp::getOperationName(), numbers, nd::Predicate::Gt},
      {">=", nd::CompareOp::getOperationName(), numbers, nd::Predicate::Ge},
      {"+", nd::AddOp::getOperationName(), numbers, {}},
      {"-", nd::SubOp::getOperationName(), numbers, {}},
      {"*", nd::MulOp::getOperationName(), numbers, {}},
      {"/", nd::DivOp::getOperationName(), numbers, {}},
      {"**", nd::PowOp::getOperationName(), Floats, {}},
  };
  return table[static_cast<unsigned>(kind)];
}

} // namespace

Operand Emitter::emit(const syntax::Expr &expr) {
  if (diagnostics.isFull())
    return {};
  if (++expressionDepth > maxExpressionDepth) {
    --expressionDepth;
    error(expr.span, "calls and expressions nest more than " +
                         std::to_string(maxExpressionDepth) +
                         " deep; give parts of them names");
    return {};
  }
  llvm::scope_exit leave([&] { --expressionDepth; });
  if (const auto *number = std::get_if<syntax::NumberExpr>(&expr.node))
    return Operand::of(
        syntax::Constant{number->value, number->integer, number->isInteger});
  if (const syntax::Name *name = expr.asName())
    return emitName(*name);
  if (const auto *unary = std::get_if<syntax::UnaryExpr>(&expr.node))
    return emitUnary(expr, *unary);
  if (const auto *binary = std::get_if<syntax::BinaryExpr>(&expr.node))
    return emitBinary(expr, *binary);
  if (const auto *entry = std::get_if<syntax::EntryExpr>(&expr.node))
    return emitEntry(expr, *entry);
  if (const auto *member = std::get_if<syntax::MemberExpr>(&expr.node))
    return emitMember(*member);
  if (const auto *table = std::get_if<syntax::TableExpr>(&expr.node))
    return TableEmitter(*this).emit(expr, *table);
  return emitCall(expr, std::get<syntax::CallExpr>(expr.node));
}

Value Emitter::emitTensor(const syntax::Expr &expr, Type elementType) {
  Operand operand = emit(expr);
  if (!operand.constant)
    return operand.value;
  if (!elementType)
    elementType = builder.getF32Type();
  return materialize(*operand.constant, elementType, expr.span);
}

/// [L5.6] Looks up values first, then constants; a dim is not a value.
Operand Emitter::emitName(const syntax::Name &name) {
  if (const Operand *found = scope->findValue(name.text)) {
    if (found->ok())
      return capture(*found, name.span);
    rejectUnusable(name);
    return {};
  }
  if (auto found = file().constants.find(name.text);
      found != file().constants.end())
    return Operand::of(found->second.value);
  return rejectName(name);
}

/// Reports a name that is neither a value nor a constant.
Operand Emitter::rejectName(const syntax::Name &name) {
  std::string text(name.text);
  if (isKnownDim(name)) {
    noteDim(error(name.span,
                  quote(text) + " is a dim, not a value; its size is size(" +
                      text + "), its indices are iota(" + text + ")"),
            scope->findDim(name.text));
    return {};
  }
  auto function = file().functions.find(name.text);
  bool isFunction = function != file().functions.end();
  if (findBuiltin(text) || isFunction || scope->findFunction(text)) {
    syntax::Diagnostic &uncalled = error(
        name.span, quote(text) + " is a function; call it: " + text + "(…)");
    if (isFunction)
      uncalled.note(function->second->name.span, "declared here");
    return {};
  }
  if (!file().incomplete.dims)
    rejectUnknown(name);
  return {};
}

/// Where the model has a tensor of that name; null if it has none.
const syntax::Name *Emitter::findTensorName(std::string_view name) const {
  auto found = llvm::find_if(
      tensorNames, [&](const syntax::Name &each) { return each.text == name; });
  return found == tensorNames.end() ? nullptr : &*found;
}

void Emitter::rejectUnknown(const syntax::Name &name) {
  std::string text(name.text);
  for (const Scope *each = scope; each->loop; each = each->parent)
    for (const syntax::Name &later : each->loop->assigned)
      if (later.text == name.text) {
        error(name.span, quote(text) +
                             " has no value yet; give it one before the loop, "
                             "which carries it from iteration to iteration")
            .note(later.span, "the loop assigns it here");
        return;
      }
  std::vector<std::string_view> names = scope->valueNames();
  for (const auto &entry : file().constants)
    names.push_back(entry.first);
  std::string hint = syntax::didYouMean(name.text, names);
  auto outside = declared.find(name.text);
  bool isOutside = !frames.empty() && outside != declared.end();
  if (hint.empty() && isOutside)
    hint = "; a function sees its arguments only, pass it as one";
  const syntax::Name *ofModel =
      isTraining ? findTensorName(name.text) : nullptr;
  if (ofModel && !isOutside)
    hint = "; a setting sees no value of the model: it is computed from "
           "step(), numbers and sizes of dims";
  syntax::Diagnostic &unknown =
      error(name.span, "unknown name " + quote(text) + hint);
  if (isOutside)
    unknown.note(outside->second, "the model's is declared here");
  else if (ofModel)
    unknown.note(ofModel->span, "the model's is defined here");
  else
    noteName(unknown, syntax::nearestName(name.text, names));
}

Operand Emitter::emitUnary(const syntax::Expr &expr,
                           const syntax::UnaryExpr &unary) {
  Operand operand = emit(*unary.operand);
  if (!operand.ok())
    return {};
  bool isNot = unary.kind == syntax::UnaryKind::Not;
  if (operand.constant && !isNot) {
    syntax::Constant number = *operand.constant;
    if (!number.isInteger)
      return Operand::of(syntax::Constant::number(-number.real));
    syntax::Folded folded =
        syntax::fold(BinaryKind::Subtract, syntax::Constant::whole(0), number);
    if (folded.ok())
      return Operand::of(folded.value);
    noteOrigin(error(expr.span, folded.problem), unary.operand->span);
    return {};
  }
  if (operand.constant) {
    noteOrigin(error(expr.span, "'not' takes i1, got the number " +
                                    syntax::toString(*operand.constant)),
               unary.operand->span);
    return {};
  }
  if (!checkKinds(operand.value, isNot ? Booleans : Floats | Integers,
                  isNot ? "not" : "-", expr.span, unary.operand->span))
    return {};
  return Operand::of(create(
      isNot ? nd::NotOp::getOperationName() : nd::NegOp::getOperationName(),
      expr.span, operand.value, nd::getTensorType(operand.value)));
}

Operand Emitter::emitBinary(const syntax::Expr &expr,
                            const syntax::BinaryExpr &binary) {
  bool isRightFirst =
      findEarly(*this, {binary.left.get(), binary.right.get()})[1];
  Operand operands[2];
  if (isRightFirst)
    operands[1] = emit(*binary.right);
  operands[0] = emit(*binary.left);
  if (!isRightFirst)
    operands[1] = emit(*binary.right);
  if (!operands[0].ok() || !operands[1].ok())
    return {};
  if (operands[0].constant && operands[1].constant) {
    syntax::Folded folded =
        syntax::fold(binary.kind, *operands[0].constant, *operands[1].constant);
    if (folded.ok())
      return Operand::of(folded.value);
    noteOrigins(error(binary.operatorSpan, folded.problem),
                {binary.left->span, binary.right->span});
    return {};
  }
  if (binary.kind == BinaryKind::Power && operands[1].constant)
    return emitPower(operands[0].value, operands[1], binary);
  return emitArithmetic(binary, operands);
}

/// [L5.1] Some powers have an op of their own.
Operand Emitter::emitPower(Value base, const Operand &exponent,
                           const syntax::BinaryExpr &binary) {
  struct Entry {
    double exponent;
    StringRef op;
    ElementKinds kinds;
  };
  const Entry entries[] = {
      {2, nd::SquareOp::getOperationName(), Floats | Integers},
      {0.5, nd::SqrtOp::getOperationName(), Floats},
      {-0.5, nd::RsqrtOp::getOperationName(), Floats},
      {-1, nd::ReciprocalOp::getOperationName(), Floats},
  };
  for (const Entry &entry : entries)
    if (entry.exponent == exponent.constant->real) {
      if (!checkKinds(base, entry.kinds, "**", binary.operatorSpan,
                      binary.left->span))
        return {};
      return Operand::of(
          create(entry.op, binary.operatorSpan, base, nd::getTensorType(base)));
    }
  Operand operands[] = {Operand::of(base), exponent};
  return emitArithmetic(binary, operands);
}

/// [L5.4] Operands align by name.
Operand Emitter::emitArithmetic(const syntax::BinaryExpr &binary,
                                MutableArrayRef<Operand> operands) {
  Operator op = describeOperator(binary.kind);
  syntax::Span places[] = {binary.left->span, binary.right->span};
  for (auto [operand, place] : llvm::zip(operands, places))
    if (operand.value && !checkKinds(operand.value, op.kinds, op.text,
                                     binary.operatorSpan, place))
      return {};
  if (!unifyTypes(operands, places, op.text, binary.operatorSpan))
    return {};
  Value values[] = {operands[0].value, operands[1].value};
  Type elementType = nd::getTensorType(values[0]).getElementType();
  SmallVector<NamedAttribute> attributes;
  if (op.predicate) {
    elementType = builder.getI1Type();
    attributes.push_back(builder.getNamedAttr(
        "predicate",
        nd::PredicateAttr::get(builder.getContext(), *op.predicate)));
  }
  nd::TensorType all = unite(values, places, elementType, binary.operatorSpan);
  // Comparisons of all pairs of positions are masks.
  if (all && !op.predicate)
    suspects.warnOfTwins(values, all, binary.operatorSpan);
  return Operand::of(
      create(op.op, binary.operatorSpan, values, all, attributes));
}

/// The index of an entry along a dim of `type`; nullopt after an error. [L5.15]
std::optional<int64_t> Emitter::entryIndex(const syntax::EntryExpr &entry,
                                           nd::TensorType type,
                                           StringAttr dim) {
  syntax::Span at = entry.index->span;
  std::string text = quote(entry.dim.text);
  Operand index = emit(*entry.index);
  if (index.value)
    noteOrigin(error(at, "the index along " + text +
                             " must be a number known at compile time; "
                             "gather(x, index, " +
                             std::string(entry.dim.text) +
                             ") takes the entry at a computed index"),
               at);
  if (!index.constant)
    return std::nullopt;
  int64_t size = type.getSize(dim.getValue());
  const syntax::Constant &number = *index.constant;
  if (number.isInteger && number.integer >= 0 && number.integer < size)
    return number.integer;
  syntax::Diagnostic &outside = error(
      at, number.isInteger
              ? "dim " + text + " has no entry " + toString(number) +
                    "; its entries are 0 to " + std::to_string(size - 1)
              : "the index along " + text + " must be a whole number, got " +
                    syntax::describeNotWhole(number));
  if (number.isInteger && size == dimSize(dim))
    noteDim(outside, dim.getValue());
  noteOrigins(outside, {entry.operand->span, at});
  return std::nullopt;
}

/// x at dim = index. [L5.15]
Operand Emitter::emitEntry(const syntax::Expr &expr,
                           const syntax::EntryExpr &entry) {
  Value value = emitTensor(*entry.operand);
  StringAttr dim = value ? resolveDim(entry.dim) : StringAttr();
  if (!dim)
    return {};
  nd::TensorType type = nd::getTensorType(value);
  if (!type.hasDim(dim.getValue())) {
    reportMissingDim(*this, entry.dim.span, dim.getValue(), value,
                     entry.operand->span);
    return {};
  }
  std::optional<int64_t> index = entryIndex(entry, type, dim);
  if (!index || !checkIndexable(dim, entry.dim.span))
    return {};
  return Operand::of(create(
      nd::EntryOp::getOperationName(), expr.span, value, type.withoutDims(dim),
      {builder.getNamedAttr("dim", dim),
       builder.getNamedAttr("index", builder.getI64IntegerAttr(*index))}));
}

/// A constant of an imported file. [L10.3]
Operand Emitter::emitMember(const syntax::MemberExpr &member) {
  if (CalleeFinder(*this).rejectValueMember(member.module, member.name,
                                            /*isCall=*/false))
    return {};
  std::optional<syntax::Constant> value =
      file().member(member.module, member.name);
  return value ? Operand::of(*value) : Operand();
}

Operand Emitter::emitCall(const syntax::Expr &expr,
                          const syntax::CallExpr &call) {
  Callee callee = CalleeFinder(*this).find(call.module, call.callee);
  if (callee.function)
    return emitFunction(callee, expr, call, {}).front();
  if (!callee.builtin)
    return {};
  return emitBuiltin(*callee.builtin, expr, call, {}).front();
}

/// The values of a call of a function of the language, as emitFunction.
SmallVector<Operand> Emitter::emitBuiltin(const Builtin &builtin,
                                          const syntax::Expr &expr,
                                          const syntax::CallExpr &call,
                                          ArrayRef<syntax::Name> names) {
  SmallVector<Operand> none(std::max<size_t>(names.size(), 1));
  if (!checkResultCount(std::string_view(builtin.name), builtin.resultCount,
                        call.callee.span, names, std::nullopt))
    return none;
  Call context(*this, builtin, expr, call);
  context.emitEarly();
  if (!context.checkArguments())
    return none;
  return builtin.emitAll ? builtin.emitAll(context)
                         : SmallVector<Operand>{builtin.emit(context)};
}
