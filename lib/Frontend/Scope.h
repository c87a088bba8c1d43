//===- Scope.h - names of a body and what they mean -----------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Private to this folder: values of expressions, the names of one body, and a
/// loop whose body is being emitted.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_FRONTEND_SCOPE_H
#define MESHC_FRONTEND_SCOPE_H

#include "dialects/Nd/NdTypes.h"
#include "lib/Frontend/Syntax/Declarations.h"

#include "mlir/IR/Region.h"
#include "llvm/ADT/DenseMap.h"

namespace meshc::frontend {

/// The value of an expression: a tensor, or a number, which takes the type of
/// the tensor that it is combined with. [L5.2]
struct Operand {
  mlir::Value value;
  std::optional<syntax::Constant> constant;
  /// The dims in the order of the declaration, if the value is an input, a
  /// parameter or an argument declared with dims. [L5.7]
  llvm::SmallVector<llvm::StringRef> order;

  bool ok() const { return value || constant; }
  static Operand of(mlir::Value value) { return {value, std::nullopt, {}}; }
  static Operand of(syntax::Constant number) {
    return {mlir::Value(), number, {}};
  }
};

struct Builtin;
struct Loop;
struct Scope;

/// What the name of a call means: a function of the language or of a file; both
/// are null after an error.
struct Callee {
  const Builtin *builtin = nullptr;
  const syntax::FunctionDeclaration *function = nullptr;
  syntax::Module *module = nullptr; ///< the function's file
};

/// What an argument `dim d` stands for, and where it is named: in the outermost
/// call that passes it on.
struct DimArgument {
  std::string_view name;
  syntax::Span place;
  Scope *scope; ///< of the place
};

/// The names of one body: the model's, one inlined function's, or one loop's.
struct Scope {
  Scope *parent = nullptr;    ///< the body around a loop's; null otherwise
  const Loop *loop = nullptr; ///< whose body this is; null otherwise
  /// The file of the body, in which its functions and constants are found.
  syntax::Module *module = nullptr;
  /// Values belong to the block in which they were made, which may be outside
  /// of loops around the place where a name is used. OpEmitter::capture makes
  /// them visible there.
  std::map<std::string_view, Operand> values;
  std::map<std::string_view, syntax::Span> places; ///< of the values' names
  std::map<std::string_view, DimArgument> dims;    ///< of arguments `dim d`
  std::map<std::string_view, Callee> functions;    ///< of arguments `fn f`
  /// Why a name has no value, where only its use is an error.
  std::map<std::string_view, std::string> problems;

  /// The value of that name here or in a body around this one; null if there is
  /// none.
  const Operand *findValue(std::string_view name) const;
  /// The place of that value's name.
  std::optional<syntax::Span> findPlace(std::string_view name) const;
  /// Whether a loop carries the value, which was a number before the loop and
  /// has not been assigned in the body so far.
  bool isCarriedNumber(std::string_view name) const;
  /// The dim that an argument `dim d` called `name` stands for, otherwise
  /// `name`.
  std::string_view findDim(std::string_view name) const;
  /// That argument; null if `name` is none.
  const DimArgument *findDimArgument(std::string_view name) const;
  /// What an argument `fn f` stands for; null if `name` is none.
  const Callee *findFunction(std::string_view name) const;
  /// All names of values, for hints.
  std::vector<std::string_view> valueNames() const;
};

/// A loop while its body is emitted. The body is isolated: what it uses of the
/// blocks around it becomes an operand of the nd.scan. [L4.6]
struct Loop {
  /// `assigned` are the first assignments of each name in the body, in the
  /// order of the text.
  Loop(const syntax::ForStatement &statement, syntax::Span span,
       nd::DimAttr dim, std::vector<syntax::Name> assigned, Scope &parent);

  /// Makes a value of the block around the loop visible in the body: as its
  /// entry if it has the loop's dim, otherwise whole. Returns the argument.
  mlir::Value capture(mlir::Value outside);
  /// Makes a name a carried value. Returns the argument. Without text, the name
  /// is none of the body.
  mlir::Value carry(const syntax::Name &name, mlir::Value initial);
  /// The value outside that the argument of `body` with this number stands for.
  mlir::Value findOperand(unsigned argument) const;
  bool isCarried(std::string_view name) const { return carries.at(name); }
  bool isAssigned(std::string_view name) const { return carries.count(name); }

  llvm::StringRef dimName() const { return dim.getName().getValue(); }

  const syntax::ForStatement &statement;
  syntax::Span span; ///< of its first word
  nd::DimAttr dim;
  const std::vector<syntax::Name> assigned;
  /// Of the carried values: a part of `assigned`. Empty ones are the loop's
  /// own: with a condition [L4.16], the first, and the number of the last
  /// iteration.
  std::vector<syntax::Name> carriedNames;
  Scope scope;
  mlir::Region region; ///< until the nd.scan takes it
  mlir::Block *body;
  /// The operands of the nd.scan, and the arguments of `body` in this order.
  llvm::SmallVector<mlir::Value> carried, stacked, whole;
  /// The number of the block `recompute { … }` of the body that is being
  /// emitted, if any. [L4.11]
  std::optional<int64_t> recomputeBlock;
  /// The nd.iota over the dim by element type, in the block around the loop.
  llvm::DenseMap<mlir::Type, mlir::Value> iterations;

private:
  llvm::DenseMap<mlir::Value, mlir::Value> captured;
  std::map<std::string_view, bool> carries; ///< of each assigned name
};

} // namespace meshc::frontend

#endif // MESHC_FRONTEND_SCOPE_H
