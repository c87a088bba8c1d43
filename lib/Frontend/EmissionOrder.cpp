//===- EmissionOrder.cpp - operands that introduce dims come first --------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Operands are emitted from left to right, but `iota(memory)` needs the size
/// of a dim that an operand on its right may introduce: iota(memory) <=
/// rename(x, seq -> memory). [L2.5]
///
//===----------------------------------------------------------------------===//
#include "lib/Frontend/EmissionOrder.h"

using namespace meshc;
using namespace meshc::frontend;
using syntax::Argument;

/// Calls `visit` with each expression directly below `expr`.
static void
visitChildren(const syntax::Expr &expr,
              llvm::function_ref<void(const syntax::Expr &)> visit) {
  if (const auto *unary = std::get_if<syntax::UnaryExpr>(&expr.node))
    visit(*unary->operand);
  if (const auto *binary = std::get_if<syntax::BinaryExpr>(&expr.node)) {
    visit(*binary->left);
    visit(*binary->right);
  }
  if (const auto *entry = std::get_if<syntax::EntryExpr>(&expr.node))
    visit(*entry->operand);
  if (const auto *call = std::get_if<syntax::CallExpr>(&expr.node))
    for (const Argument &argument : call->arguments)
      if (argument.value)
        visit(*argument.value);
}

/// Adds the unknown dims that the operations of an expression introduce.
static void findNewDims(const NameResolver &names, const syntax::Expr &expr,
                        std::set<std::string_view> &dims) {
  auto add = [&](const std::vector<syntax::Name> &list) {
    for (const syntax::Name &name : list)
      if (!names.isKnownDim(name))
        dims.insert(name.text);
  };
  if (const auto *table = std::get_if<syntax::TableExpr>(&expr.node))
    add(table->dims);
  if (const auto *call = std::get_if<syntax::CallExpr>(&expr.node))
    for (const Argument &argument : call->arguments)
      if (argument.kind == Argument::Kind::Rename)
        add(argument.to);
  visitChildren(expr, [&](const syntax::Expr &child) {
    findNewDims(names, child, dims);
  });
}

/// Whether an expression names one of the dims as an argument or by `at`.
static bool usesDim(const syntax::Expr &expr,
                    const std::set<std::string_view> &dims) {
  bool uses = false;
  if (const auto *entry = std::get_if<syntax::EntryExpr>(&expr.node))
    uses = dims.count(entry->dim.text);
  if (const auto *call = std::get_if<syntax::CallExpr>(&expr.node))
    for (const Argument &argument : call->arguments)
      if (argument.value && argument.value->asName())
        uses |= dims.count(argument.value->asName()->text) != 0;
  visitChildren(expr, [&](const syntax::Expr &child) {
    uses = uses || usesDim(child, dims);
  });
  return uses;
}

llvm::SmallVector<bool>
frontend::findEarly(const NameResolver &names,
                    llvm::ArrayRef<const syntax::Expr *> operands) {
  llvm::SmallVector<bool> early(operands.size());
  for (size_t i = 1; i < operands.size(); ++i) {
    std::set<std::string_view> dims;
    if (operands[i])
      findNewDims(names, *operands[i], dims);
    if (dims.empty())
      continue;
    early[i] = llvm::any_of(operands.take_front(i), [&](const auto *before) {
      return before && usesDim(*before, dims);
    });
  }
  return early;
}
