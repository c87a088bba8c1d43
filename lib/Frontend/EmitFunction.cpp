//===- EmitFunction.cpp - functions are inlined ---------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Nd/Ops/LoopOps.h"
#include "dialects/Nd/TensorAttributes.h"
#include "lib/Frontend/Builtins.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace meshc;
using namespace meshc::frontend;
using syntax::quote;

/// [L4.4], [L4.5]
bool Emitter::mayInline(const syntax::FunctionDeclaration &function,
                        const syntax::CallExpr &call) {
  std::string name = quote(function.name.text);
  for (const Frame &frame : frames)
    if (frame.function == &function) {
      error(call.callee.span, "function " + name +
                                  " calls itself; functions are expanded at "
                                  "each call and cannot recur")
          .note(function.name.span, "declared here");
      return false;
    }
  if (frames.size() >= maxCallDepth) {
    error(call.callee.span,
          "calls nest more than " + std::to_string(maxCallDepth) + " deep");
    return false;
  }
  if (!countOperation(call.callee.span))
    return false;
  if (call.arguments.size() == function.arguments.size())
    return true;
  error(call.callee.span, "function " + name + " takes " +
                              std::to_string(function.arguments.size()) +
                              " arguments, got " +
                              std::to_string(call.arguments.size()))
      .note(function.name.span, "declared here");
  return false;
}

/// [L4.3]
bool Emitter::checkArgument(const syntax::TensorDeclaration &declared,
                            Operand &operand, syntax::Span at, Scope &caller) {
  std::string name = quote(declared.name.text);
  nd::TensorType wanted;
  if (declared.dims || declared.type) {
    if (operand.constant) {
      Type type = declared.type ? resolveType(*declared.type)
                                : Type(builder.getF32Type());
      operand = type ? Operand::of(materialize(*operand.constant, type, at))
                     : Operand();
      if (!operand.ok())
        return false;
    }
    nd::TensorType got = nd::getTensorType(operand.value);
    SmallVector<nd::DimAttr> dims(got.getDims());
    if (declared.dims) {
      dims.clear();
      operand.order.clear();
      for (const syntax::Name &dim : *declared.dims) {
        dims.push_back(declaredDim(dim));
        if (!dims.back())
          return false;
        operand.order.push_back(dims.back().getName().getValue());
      }
    }
    Type type =
        declared.type ? resolveType(*declared.type) : got.getElementType();
    wanted = type ? makeType(type, dims, at) : nd::TensorType();
    if (!wanted)
      return false;
    if (wanted == got)
      return true;
    syntax::Diagnostic &mismatch =
        error(at, "argument " + name + " is declared " + describe(wanted) +
                      ", got " + describe(got) + describeSizes(got, wanted));
    mismatch.note(declared.name.span, "declared here");
    for (nd::DimAttr dim : wanted.getDims())
      noteLoop(mismatch, dim.getName().getValue());
    // The argument's text is the caller's.
    llvm::SaveAndRestore inCaller(scope, &caller);
    noteOrigin(mismatch, at);
    return false;
  }
  return operand.ok();
}

/// Evaluates an argument in the caller's scope and binds it in `callee`.
bool Emitter::bindArgument(const syntax::TensorDeclaration &declared,
                           const syntax::Argument &argument, Scope &callee) {
  if (argument.kind != syntax::Argument::Kind::Value) {
    error(argument.span,
          "argument " + quote(declared.name.text) + " must be an expression")
        .note(declared.name.span, "declared here");
    return false;
  }
  if (declared.isDim) {
    const syntax::Name *name = argument.value->asName();
    if (!name) {
      error(argument.span,
            "argument " + quote(declared.name.text) + " is a dim; name one")
          .note(declared.name.span, "declared here");
      return false;
    }
    StringAttr dim = resolveDim(*name);
    if (dim)
      callee.dims[declared.name.text] = std::string_view(dim.getValue());
    return bool(dim);
  }
  Operand operand = emit(*argument.value);
  callee.values[declared.name.text] = operand;
  callee.places[declared.name.text] = declared.name.span;
  return operand.ok();
}

Operand Emitter::emitFunction(const syntax::FunctionDeclaration &function,
                              const syntax::Expr &expr,
                              const syntax::CallExpr &call) {
  calledFunctions.insert(function.name.text);
  if (!mayInline(function, call))
    return {};
  Scope callee;
  bool ok = true;
  for (auto [declared, argument] :
       llvm::zip(function.arguments, call.arguments))
    ok &= bindArgument(declared, argument, callee);
  if (!ok)
    return {};
  Location location = locate(expr.span);
  Scope *caller = scope;
  scope = &callee;
  // Declared dims may be the function's own `dim d`, and its errors are at the
  // call's argument, without a note of the call.
  for (auto [declared, argument] :
       llvm::zip(function.arguments, call.arguments))
    if (!declared.isDim)
      ok &= checkArgument(declared, callee.values[declared.name.text],
                          argument.span, *caller);
  frames.push_back({&function, call.callee.span, location});
  path.push_back({function.name.text, call.callee.span, {}});
  Operand result = ok ? emitBody(function) : Operand();
  path.pop_back();
  frames.pop_back();
  scope = caller;
  return result;
}

/// [L4.2] Statements, and a return at the end.
Operand Emitter::emitBody(const syntax::FunctionDeclaration &function) {
  const syntax::Statement *last = nullptr;
  Operand result;
  for (const syntax::Statement &statement : function.body.statements) {
    if (last) {
      error(statement.span, "nothing may follow 'return'")
          .note(last->span, "the function returns here");
      return {};
    }
    const auto *returned =
        std::get_if<syntax::ReturnStatement>(&statement.node);
    if (!returned) {
      emitStatement(statement);
      continue;
    }
    if (returned->value)
      result = emit(*returned->value);
    last = &statement;
  }
  if (!last)
    error(function.name.span, "function " + quote(function.name.text) +
                                  " returns nothing; end it with 'return'");
  return result;
}

/// [L4.2], [L6.3] A name may be assigned again: x = x + 1.
void Emitter::assign(const syntax::AssignStatement &statement) {
  std::string_view name = statement.name.text;
  Operand result = statement.value ? emit(*statement.value) : Operand();
  if (auto constant = declarations.constants.find(name);
      constant != declarations.constants.end()) {
    error(statement.name.span,
          quote(name) + " is a constant and cannot be assigned")
        .note(constant->second.span, "declared here");
    return;
  }
  result.order.clear();
  tensorNames.push_back(statement.name);
  if (result.value)
    if (Operation *op = result.value.getDefiningOp();
        op && !isa<nd::ParameterOp, nd::ScanOp>(op) &&
        !nd::TensorAttributes::of(op).getName())
      nd::setName(op, builder.getStringAttr(StringRef(name)));
  scope->values[name] = std::move(result);
  scope->places[name] = statement.name.span;
}

void Emitter::warnUncalled() {
  // After an error, calls may be missing.
  if (diagnostics.hasErrors())
    return;
  for (const auto &[name, function] : declarations.functions)
    if (!calledFunctions.count(name))
      diagnostics.warning(function->name.span,
                          "function " + quote(name) +
                              " is never called, so its body is unchecked");
}
