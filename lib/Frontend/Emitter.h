//===- Emitter.h - tree to nd IR ------------------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Private to this folder. The emitter checks an expression and builds its op
/// in one walk. It rejects everything that a verifier would reject, with the
/// place and the terms of the text. A failed expression yields an Operand that
/// is not ok(); its users report no further error.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_FRONTEND_EMITTER_H
#define MESHC_FRONTEND_EMITTER_H

#include "dialects/Nd/Ops/ModelOps.h"
#include "lib/Frontend/Scope.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace meshc::frontend {

/// Sets of element types that an operation accepts.
enum ElementKinds : unsigned { Floats = 1, Integers = 2, Booleans = 4 };

inline ElementKinds operator|(ElementKinds a, ElementKinds b) {
  return static_cast<ElementKinds>(unsigned(a) | unsigned(b));
}

/// Whether `type` is one of `kinds`.
bool isOf(mlir::Type type, ElementKinds kinds);
/// "f32, bf16 or f16", "i32", … as messages show a set.
std::string describe(ElementKinds kinds);
/// "f32[batch, pixel]", as the text would declare it.
std::string describe(nd::TensorType type);
/// "f32", "i32"; the element type as the text names it.
std::string describe(mlir::Type elementType);
/// "; dim 'd' has size 2, not 3" for each dim whose sizes differ.
std::string describeSizes(nd::TensorType got, nd::TensorType wanted);

/// The ops of one program.
class Emitter {
public:
  /// Bounds that keep small texts from causing unbounded work. [L4.5]
  static constexpr unsigned maxOps = 100000;
  static constexpr unsigned maxCallDepth = 64;
  static constexpr unsigned maxExpressionDepth = 1024;
  static constexpr unsigned maxLoopDepth = 16;

  Emitter(const syntax::SourceSet &sources, syntax::Diagnostics &diagnostics,
          syntax::Declarations &declarations, mlir::MLIRContext &context);

  /// The whole program; null if it has no model.
  mlir::OwningOpRef<mlir::ModuleOp> emitProgram();

  // Expressions (EmitExpression.cpp).

  /// The value of an expression in the current scope.
  Operand emit(const syntax::Expr &expr);
  /// The same as a tensor; a number becomes a scalar of `elementType`
  /// (default: f32). Null after an error.
  mlir::Value emitTensor(const syntax::Expr &expr,
                         mlir::Type elementType = nullptr);
  /// The number in the element type; null after an error if it does not fit.
  /// `tensor` is the place of the tensor whose type the number takes, if any.
  mlir::TypedAttr makeNumber(const syntax::Constant &number,
                             mlir::Type elementType, syntax::Span at,
                             std::optional<syntax::Span> tensor = std::nullopt);
  /// The same as a scalar tensor.
  mlir::Value materialize(const syntax::Constant &number,
                          mlir::Type elementType, syntax::Span at,
                          std::optional<syntax::Span> tensor = std::nullopt);
  /// Both operands as tensors of one element type: numbers take the other's
  /// type, or f32 if both are numbers. False after an error. [L5.2]
  bool unifyTypes(llvm::MutableArrayRef<Operand> operands,
                  llvm::ArrayRef<syntax::Span> places, llvm::StringRef what,
                  syntax::Span at);
  /// The type of all dims of the operands, aligned by name; null after an error
  /// if two sizes of a dim differ. `places` are the operands' places in the
  /// text. [L5.4]
  nd::TensorType unite(mlir::ValueRange operands,
                       llvm::ArrayRef<syntax::Span> places,
                       mlir::Type elementType, syntax::Span at);
  /// A tensor type; null after an error if it would be too large.
  nd::TensorType makeType(mlir::Type elementType,
                          llvm::ArrayRef<nd::DimAttr> dims, syntax::Span at);
  /// The product of the dims' sizes; nothing if it is over the limit. [L2.6]
  static std::optional<int64_t> countElements(llvm::ArrayRef<nd::DimAttr> dims);
  /// Whether the value, which the text at `origin` gives, is one of `kinds`;
  /// reports at `at` if not.
  bool checkKinds(mlir::Value value, ElementKinds kinds, llvm::StringRef what,
                  syntax::Span at, syntax::Span origin);

  /// Which of an operation's operands are emitted before the others, since they
  /// introduce a dim that one on their left uses. Null operands are no
  /// expressions. (EmissionOrder.cpp) [L2.5]
  llvm::SmallVector<bool>
  findEarly(llvm::ArrayRef<const syntax::Expr *> operands) const;

  // Loops (EmitLoop.cpp).

  /// The innermost loop around the current place, also around calls, that runs
  /// over `dim`; null if there is none. No tensor inside it has the dim. [L4.6]
  Loop *findLoop(llvm::StringRef dim) const;
  /// Notes the loop around the current place that runs over `dim`, if any.
  void noteLoop(syntax::Diagnostic &diagnostic, llvm::StringRef dim) const;
  /// Whether a tensor made at the current place may have `dim`; reports an
  /// error if a loop runs over it.
  bool checkNotLooped(mlir::StringAttr dim, syntax::Span at);
  /// The number of the iteration of a loop around the current place, as a
  /// scalar of the type; null after an error.
  mlir::Value emitIteration(Loop &loop, mlir::Type elementType,
                            syntax::Span at);
  /// The numbers of all iterations around the current place, outermost first,
  /// as nd.random takes them; nullopt after an error.
  std::optional<llvm::SmallVector<mlir::Value>> emitIterations(syntax::Span at);

  // Where a value lost a dim (DimHistory.cpp).

  /// The values that a value is computed from, through loops.
  llvm::SmallVector<mlir::Value> findSources(mlir::Value value) const;
  /// The place of the operation that removed `dim` from what `value` is
  /// computed from, if one did.
  std::optional<syntax::Span> findRemoval(mlir::Value value,
                                          llvm::StringRef dim) const;
  /// Notes that place.
  void noteRemoval(syntax::Diagnostic &diagnostic, syntax::Span at,
                   llvm::StringRef dim) const;

  // Dims that are probably a mistake (SuspectDims.cpp).

  /// Warns if an operation on a tensor of type `of` introduces a dim that looks
  /// like another one of its size. To be called before introduceDim.
  void warnOfLookalike(const syntax::Name &name, int64_t size,
                       nd::TensorType of);
  /// Remembers for warnOfTwins that the dims `merged` became one, called
  /// `name`, if the size of a declared dim is their product.
  void noteTwin(mlir::StringAttr name, llvm::ArrayRef<mlir::StringAttr> merged);

  // Names and places (Emitter.cpp).

  /// The file of the current place.
  syntax::Module &file() const { return scope ? *scope->module : declarations; }
  /// Whether the place is in an imported file, which names no dims but those of
  /// arguments. [L10.3]
  bool isImported() const { return &file() != &declarations; }
  /// The dim with this name; the name of an argument `dim d` is resolved to the
  /// caller's dim. Null after an error if there is no such dim.
  mlir::StringAttr resolveDim(const syntax::Name &name);
  /// The same for a dim that the operation introduces with `size`; an error if
  /// a loop runs over it. [L2.5], [L4.6]
  mlir::StringAttr introduceDim(const syntax::Name &name, int64_t size);
  /// Whether an operation may give a dim of this size the name. [L2.5]
  bool canIntroduce(llvm::StringRef name, int64_t size) const;
  /// Whether the name is that of a known dim.
  bool isKnownDim(const syntax::Name &name) const;
  /// Whether the name is that of a value or constant.
  bool isKnownValue(const syntax::Name &name) const;
  /// Whether an operation has introduced the dim, which is not declared. [L2.5]
  bool isIntroduced(std::string_view dim) const;
  int64_t dimSize(mlir::StringAttr dim) const;
  /// The dim of a declaration or list, with the size that it was declared with.
  nd::DimAttr declaredDim(const syntax::Name &name);
  /// The element type of that name; null after an error. [L2.7]
  mlir::Type resolveType(const syntax::Name &name);
  /// Whether i32 can index the dim; reports an error if not. [L2.7]
  bool checkIndexable(mlir::StringAttr dim, syntax::Span at);
  /// An error at a place; inlined, it gets a note at each call around it.
  syntax::Diagnostic &error(syntax::Span at, std::string message) {
    return diagnostics.error(at, std::move(message));
  }
  /// If the text at `at` is the name of a value or a constant, notes where it
  /// is defined.
  void noteOrigin(syntax::Diagnostic &diagnostic, syntax::Span at) const;
  /// Notes where a value or constant of that name is defined, if there is one.
  void noteName(syntax::Diagnostic &diagnostic, std::string_view name) const;
  /// noteOrigin for each operand of an operation.
  void noteOrigins(syntax::Diagnostic &diagnostic,
                   llvm::ArrayRef<syntax::Span> operands) const;
  /// Notes where a dim got its size.
  void noteDim(syntax::Diagnostic &diagnostic, llvm::StringRef dim) const;
  /// A hint at the one of the dims that resembles `name`, if there is one; for
  /// noteDim, `near` is that dim. A dim that an operation has introduced may be
  /// the one that is misspelled.
  std::string hintAtDim(std::string_view name,
                        const std::vector<std::string_view> &dims,
                        std::string_view &near) const;
  mlir::Location locate(syntax::Span span) const;
  /// Counts one operation; an error if there are too many. [L4.5]
  bool countOperation(syntax::Span at);
  /// The first result of one op. `others`: the types of its other results.
  mlir::Value create(llvm::StringRef op, syntax::Span at,
                     mlir::ValueRange operands, nd::TensorType result,
                     llvm::ArrayRef<mlir::NamedAttribute> attributes = {},
                     mlir::TypeRange others = {});
  /// The name of a new stream of random numbers. [L5.8]
  std::string nextStream(llvm::StringRef what);

  mlir::OpBuilder builder;

private:
  /// A function being inlined.
  struct Frame {
    const syntax::FunctionDeclaration *function;
    mlir::Location location;
    syntax::Span call; ///< the function's name in the call
  };
  /// A call or loop around the current place, as names of parameters show it.
  /// [L4.9]
  struct PathPart {
    std::string_view name; ///< of the function or dim
    syntax::Span span;
    std::string path; ///< the whole path; empty until a parameter needs it
  };
  /// The name of each result of a loop and the value that the body yields for
  /// it; null after an error.
  using LoopResults = llvm::SmallVector<std::pair<syntax::Name, mlir::Value>>;

  // Emitter.cpp
  mlir::StringAttr rejectImportedDim(const syntax::Name &name);
  void rejectUnknownDim(const syntax::Name &name, Scope *around);

  // EmitExpression.cpp
  Operand emitName(const syntax::Name &name);
  Operand rejectUnusable(const syntax::Name &name);
  Operand rejectName(const syntax::Name &name);
  const syntax::Name *findTensorName(std::string_view name) const;
  void rejectUnknown(const syntax::Name &name);
  Operand emitUnary(const syntax::Expr &expr, const syntax::UnaryExpr &unary);
  Operand emitBinary(const syntax::Expr &expr,
                     const syntax::BinaryExpr &binary);
  Operand emitPower(mlir::Value base, const Operand &exponent,
                    const syntax::BinaryExpr &binary);
  Operand emitArithmetic(const syntax::BinaryExpr &binary,
                         llvm::MutableArrayRef<Operand> operands);
  Operand emitEntry(const syntax::Expr &expr, const syntax::EntryExpr &entry);
  std::optional<int64_t> entryIndex(const syntax::EntryExpr &entry,
                                    nd::TensorType type, mlir::StringAttr dim);
  Operand emitMember(const syntax::MemberExpr &member);
  Operand emitCall(const syntax::Expr &expr, const syntax::CallExpr &call);
  llvm::SmallVector<Operand> emitBuiltin(const Builtin &builtin,
                                         const syntax::Expr &expr,
                                         const syntax::CallExpr &call,
                                         llvm::ArrayRef<syntax::Name> names);

  // EmissionOrder.cpp
  void findNewDims(const syntax::Expr &expr,
                   std::set<std::string_view> &dims) const;

  // EmitTable.cpp
  llvm::SmallVector<nd::DimAttr> tableDims(const syntax::TableExpr &table);
  llvm::SmallVector<mlir::Value> tableEntries(const syntax::TableExpr &table,
                                              mlir::Type elementType);
  mlir::Value tableIndex(llvm::ArrayRef<nd::DimAttr> dims, syntax::Span at);
  Operand emitTable(const syntax::Expr &expr, const syntax::TableExpr &table);

  // EmitFunction.cpp
  Callee findCallee(const std::optional<syntax::Name> &module,
                    const syntax::Name &name);
  Callee findMember(const syntax::Name &module, const syntax::Name &name);
  void rejectCallee(const syntax::Name &name);
  std::string describeInstead(std::string_view name) const;
  bool rejectForeignMember(const syntax::Name &module,
                           const syntax::Name &name);
  bool rejectValueMember(const syntax::Name &value, const syntax::Name &member,
                         bool isCall);
  llvm::SmallVector<Operand> emitFunction(const Callee &callee,
                                          const syntax::Expr &expr,
                                          const syntax::CallExpr &call,
                                          llvm::ArrayRef<syntax::Name> names);
  llvm::SmallVector<Operand> emitSeveral(const syntax::Expr &expr,
                                         llvm::ArrayRef<syntax::Name> names);
  bool checkResultCount(std::string_view function, size_t count,
                        syntax::Span at, llvm::ArrayRef<syntax::Name> names,
                        std::optional<syntax::Span> end);
  bool checkResultCount(const syntax::FunctionDeclaration &function,
                        const syntax::CallExpr &call,
                        llvm::ArrayRef<syntax::Name> names);
  bool mayInline(const syntax::FunctionDeclaration &function,
                 const syntax::CallExpr &call);
  llvm::SmallVector<Operand> emitBody(const syntax::Body &body,
                                      const syntax::Name &name);
  void emitStatement(const syntax::Statement &statement);
  void assign(const syntax::AssignStatement &statement);
  void assign(const syntax::Name &target, Operand result);
  void warnUncalled();

  // EmitGradient.cpp
  llvm::SmallVector<Operand>
  emitWithGradient(const syntax::FunctionDeclaration &function,
                   syntax::Span at);
  bool checkGradient(const syntax::FunctionDeclaration &function,
                     llvm::ArrayRef<Operand> results);
  llvm::SmallVector<mlir::Value>
  emitReturned(const syntax::FunctionDeclaration &function,
               llvm::ArrayRef<Operand> arguments);
  void emitGradient(const syntax::FunctionDeclaration &function,
                    llvm::ArrayRef<Operand> arguments,
                    llvm::MutableArrayRef<Operand> results, syntax::Span at);
  mlir::Value emitArgumentGradient(const syntax::Name &argument,
                                   nd::TensorType wanted, Operand gradient,
                                   syntax::Span at);

  // BindArguments.cpp

  /// The argument of a call for each of the function's; null where its default
  /// applies. Nothing after an error. [L4.14]
  using Matching = llvm::SmallVector<const syntax::Argument *>;
  std::optional<Matching>
  matchArguments(const syntax::FunctionDeclaration &function,
                 const syntax::CallExpr &call);
  bool checkMissing(const syntax::FunctionDeclaration &function,
                    const syntax::CallExpr &call, const Matching &matching);
  bool bindArguments(const Callee &called, const Matching &matching,
                     syntax::Span at, Scope &callee);
  bool bindArgument(const syntax::TensorDeclaration &declared,
                    const syntax::Expr &value, Scope &callee);
  bool bindDefault(const syntax::TensorDeclaration &declared, Scope &callee);
  bool bindFunction(const syntax::TensorDeclaration &declared,
                    const syntax::Expr &value, Scope &callee);

  // DeclaredTypes.cpp
  bool convertNumber(llvm::StringRef what,
                     const syntax::TensorDeclaration &declared,
                     Operand &operand, syntax::Span at);
  nd::TensorType wantedType(const syntax::TensorDeclaration &declared,
                            nd::TensorType got, syntax::Span at,
                            llvm::SmallVectorImpl<llvm::StringRef> &order);
  void noteDims(syntax::Diagnostic &mismatch, mlir::Value value,
                nd::TensorType wanted) const;
  /// Whether the value has the dims and the type that `declared` states; the
  /// value gets its dims in this order. A number becomes a tensor. Reports an
  /// error at `at`, where `origin` has the names of the text. `what` is
  /// "argument" or "value". [L4.3], [L4.18]
  bool checkDeclared(llvm::StringRef what,
                     const syntax::TensorDeclaration &declared,
                     Operand &operand, syntax::Span at, Scope &origin);

  // SuspectDims.cpp
  void warnOfTwins(llvm::ArrayRef<mlir::Value> operands, syntax::Span at);
  void warnOfScores();

  // EmitRequire.cpp

  /// What a condition comes to, and the part of it that decides if it is false.
  struct Verdict {
    bool holds;
    const syntax::Expr *blamed;
  };
  void emitRequire(const syntax::Statement &statement);
  std::optional<Verdict> judge(const syntax::Expr &expr);
  std::optional<Verdict> judgeBoth(const syntax::Expr &expr,
                                   const syntax::BinaryExpr &binary);
  std::optional<Verdict> judgeComparison(const syntax::Expr &expr,
                                         const syntax::BinaryExpr &binary);
  std::optional<syntax::Constant> judgedNumber(const syntax::Expr &expr);
  std::string describeUnmet(const syntax::Expr &expr,
                            std::vector<syntax::Note> &notes);
  void reportUnmet(const syntax::RequireStatement &require, syntax::Span at,
                   const syntax::Expr &blamed);

  // EmitLoop.cpp
  void skip(const syntax::Statement &statement);
  void emitLoop(const syntax::Statement &statement);
  nd::DimAttr checkLoop(const syntax::Statement &statement);
  void carryValues(Loop &loop);
  mlir::Value findNext(const Loop &loop, unsigned index);
  LoopResults emitYield(Loop &loop, mlir::Value condition);
  void emitScan(Loop &loop, const LoopResults &results);
  void emitRecompute(const syntax::Statement &statement);
  void markRecomputed(mlir::Operation *op) const;
  void finishLoops();
  mlir::Value capture(mlir::Value value, syntax::Span at);
  Operand capture(const Operand &operand, syntax::Span at);
  mlir::Block *blockAround(const Loop &loop) const;

  // EmitCondition.cpp
  void carryCondition(Loop &loop);
  mlir::Value emitCondition(const Loop &loop);
  mlir::Value carryNumber(Loop &loop);
  mlir::Value maskEntries(const Loop &loop, mlir::Value last,
                          mlir::Value stacked);
  void dropUnusedMasks();

  // EmitModel.cpp
  void emitMesh();
  void emitLayout();
  void emitModel(const syntax::ModelDeclaration &model);
  bool checkInput(const syntax::TensorDeclaration &input);
  void emitInputs(const syntax::ModelDeclaration &model,
                  mlir::func::FuncOp function);
  void emitMetric(const syntax::MetricStatement &metric, syntax::Span at);
  void finishModel(const syntax::ModelDeclaration &model,
                   mlir::func::FuncOp function);
  bool declare(const syntax::Name &name);
  nd::TensorType declaredType(const syntax::TensorDeclaration &tensor,
                              llvm::StringRef what);

  // EmitParameter.cpp
  void emitParameter(const syntax::ParamStatement &param);
  bool declareParameter(const syntax::Name &name);
  nd::TensorType parameterType(const syntax::TensorDeclaration &tensor);
  std::string makePath(const std::string &text, syntax::Span span);
  mlir::StringAttr nameParameter(const syntax::Name &name);
  nd::TensorType stackType(nd::TensorType declared, syntax::Span at);

  // Initializer.cpp
  void emitInitializer(const syntax::ParamStatement &param,
                       nd::ParameterOp parameter, nd::TensorType declared);

  // EmitTrain.cpp
  mlir::Value findLoss();
  const Operand *findModelValue(const syntax::Name &name);
  void checkGradients(mlir::Value loss, syntax::Span at);
  mlir::TypeAttr readPrecision(const syntax::TrainDeclaration &train);
  void readPrecisionSetting(const syntax::Argument &setting, nd::TrainOp op);
  bool checkModel(const syntax::Name &name);
  void emitTrain();

  // EmitGenerate.cpp
  mlir::Value findLogits();
  void emitGenerate();

  const syntax::SourceSet &sources;
  syntax::Diagnostics &diagnostics;
  syntax::Declarations &declarations;
  mlir::ModuleOp module;
  mlir::Block *modelBody = nullptr; ///< or the region of nd.train
  bool isTraining = false;          ///< in the region of nd.train
  Scope *scope = nullptr;
  llvm::SmallVector<Frame> frames;
  llvm::DenseMap<mlir::Operation *, syntax::Span> places; ///< of `create`
  /// Dims that `merge` has introduced, and the declared dim of each whose size
  /// is the product of the same dims.
  std::map<std::string_view, std::string_view> twins;
  llvm::SmallVector<Loop *> loops; ///< around the current place, also of calls
  std::vector<PathPart> path;
  /// Names of parameters and paths to them, and their places.
  std::map<std::string, syntax::Span> parameterPaths;
  std::map<std::string, unsigned> pathNumbers; ///< the last one tried
  std::map<std::string_view, syntax::Span> declared;
  std::vector<syntax::Name> tensorNames; ///< that a rule's scope may name
  std::set<const syntax::FunctionDeclaration *> calledFunctions;
  llvm::SmallVector<std::pair<syntax::Name, mlir::Value>> results;
  /// Whose body and gradient are being emitted, the outermost one. [L4.15]
  const syntax::FunctionDeclaration *withGradient = nullptr;
  /// The blocks of gradients at the current place, outermost first, and how
  /// many loops are around each.
  llvm::SmallVector<std::pair<mlir::Block *, size_t>> gradientBlocks;
  /// A requirement of the function or model being emitted is not met: the
  /// statements behind it are skipped. [L4.17]
  bool isUnmet = false;
  /// Dims that a function would have introduced, but for an error in it.
  std::set<std::string_view> lostDims;
  unsigned opCount = 0;
  unsigned expressionDepth = 0;
  unsigned streamCount = 0;
  unsigned recomputeCount = 0; ///< blocks `recompute { … }`
  /// What sets the entries of iterations to 0 that did not run. [L4.16]
  llvm::SmallVector<mlir::Operation *> masks;
};

/// The last statement of a body, if it is a return that could be parsed; else
/// null.
const syntax::Statement *findReturn(const syntax::Body &body);

/// What a function with a gradient computes, if the value is its result;
/// otherwise the value, which may be null.
mlir::Value skipCustomGradient(mlir::Value value);

} // namespace meshc::frontend

#endif // MESHC_FRONTEND_EMITTER_H
