//===- SuspectDims.cpp - dims that are probably a mistake -----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Programs that are valid but hardly what was meant: operands that do not
/// share a dim are broadcast to each other, so a second name for a dim, or one
/// name where two are needed, changes what is computed, and is no error. There
/// is a warning where nothing else explains the text.
///
//===----------------------------------------------------------------------===//
#include "lib/Frontend/SuspectDims.h"

#include "dialects/Nd/Ops/ContractionOps.h"
#include "dialects/Nd/Ops/LoopOps.h"
#include "dialects/Nd/Ops/ModelOps.h"
#include "dialects/Nd/Ops/NormalizationOps.h"
#include "dialects/Nd/Ops/ShapeOps.h"
#include "dialects/Nd/TensorAttributes.h"
#include "lib/Frontend/DimHistory.h"
#include "lib/Frontend/Syntax/Spelling.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace meshc;
using namespace meshc::frontend;
using syntax::quote;

//===----------------------------------------------------------------------===//
// Two names where one was meant
//===----------------------------------------------------------------------===//

/// The known dim of this size that `name` is probably to be: a declared one, or
/// else one that an operation has introduced. Null if there is none.
const SuspectDims::KnownDim *
SuspectDims::findLookalike(std::string_view name, int64_t size,
                           nd::TensorType of) const {
  const KnownDim *introduced = nullptr;
  for (const KnownDim &known : emission.declarations.dims) {
    const auto &[text, info] = known;
    // The operation could not have given that name.
    bool isTaken = of && of.hasDim(StringRef(text));
    if (isTaken || info.size != size || misspelled.count(text) ||
        !syntax::looksAlike(name, text))
      continue;
    if (info.isDeclared)
      return &known;
    introduced = &known;
  }
  return introduced;
}

void SuspectDims::warnOfLookalike(const syntax::Name &name, int64_t size,
                                  nd::TensorType of) {
  const DimArgument *argument =
      emission.scope ? emission.scope->findDimArgument(name.text) : nullptr;
  std::string_view text = argument ? argument->name : name.text;
  if (emission.declarations.dims.count(text) ||
      (emission.isImported() && !argument))
    return;
  const KnownDim *found = findLookalike(text, size, of);
  if (!found)
    return;
  misspelled.insert(text);
  const auto &[known, info] = *found;
  std::string number = std::to_string(size);
  emission.diagnostics
      .warning(argument ? argument->place : name.span,
               "dim " + quote(text) + " is introduced here with size " +
                   number + ", the size of dim " + quote(known) +
                   "; did you mean " + quote(known) +
                   "? If not, declare it: dim " + std::string(text) + " = " +
                   number)
      .note(info.span, quote(known) + " is " +
                           (info.isDeclared ? "declared" : "introduced") +
                           " here");
}

/// The dims whose product an expression is, in the order of the text:
/// a * b * size(c). False if it is none.
static bool collectFactors(const syntax::Expr &expr,
                           std::vector<std::string_view> &dims) {
  if (const syntax::Name *name = expr.asName()) {
    dims.push_back(name->text);
    return true;
  }
  if (const auto *binary = std::get_if<syntax::BinaryExpr>(&expr.node))
    return binary->kind == syntax::BinaryKind::Multiply &&
           collectFactors(*binary->left, dims) &&
           collectFactors(*binary->right, dims);
  const auto *call = std::get_if<syntax::CallExpr>(&expr.node);
  return call && !call->module && call->callee.text == "size" &&
         call->arguments.size() == 1 && call->arguments[0].value &&
         call->arguments[0].value->asName() &&
         collectFactors(*call->arguments[0].value, dims);
}

/// Whether the expression is a number, or computed from numbers alone.
static bool isOfNumbers(const syntax::Expr &expr) {
  if (const auto *binary = std::get_if<syntax::BinaryExpr>(&expr.node))
    return isOfNumbers(*binary->left) && isOfNumbers(*binary->right);
  return std::holds_alternative<syntax::NumberExpr>(expr.node);
}

void SuspectDims::noteTwin(StringAttr name, ArrayRef<StringAttr> merged,
                           int64_t size) {
  std::vector<std::string_view> parts;
  for (StringAttr dim : merged)
    parts.push_back(std::string_view(dim.getValue()));
  std::string_view made(name.getValue());
  for (const auto &[known, info] : emission.declarations.dims) {
    std::vector<std::string_view> factors;
    if (!info.value || info.size != size ||
        !((collectFactors(*info.value, factors) && factors == parts) ||
          isOfNumbers(*info.value)))
      continue;
    // Of a name that looks like the other one there is a warning already.
    if (!syntax::looksAlike(made, known))
      twins.insert({made, known});
  }
}

/// Whether the types share a dim.
static bool shareDim(nd::TensorType a, nd::TensorType b) {
  return llvm::any_of(a.getDims(), [&](nd::DimAttr dim) {
    return b.hasDim(dim.getName().getValue());
  });
}

void SuspectDims::warnOfTwins(ArrayRef<Value> operands, nd::TensorType result,
                              syntax::Span at) {
  auto has = [](nd::TensorType type, std::string_view dim,
                std::string_view lacked) {
    return type.hasDim(StringRef(dim)) && !type.hasDim(StringRef(lacked));
  };
  for (const auto &[made, known] : twins) {
    if (!result.hasDim(StringRef(made)) || !result.hasDim(StringRef(known)))
      continue;
    bool isSplit = false; // between two operands
    for (auto [i, operand] : llvm::enumerate(operands))
      for (Value other : operands.drop_front(i + 1)) {
        nd::TensorType a = nd::getTensorType(operand);
        nd::TensorType b = nd::getTensorType(other);
        isSplit |=
            shareDim(a, b) && ((has(a, made, known) && has(b, known, made)) ||
                               (has(b, made, known) && has(a, known, made)));
      }
    if (!isSplit)
      continue;
    const syntax::DimInfo &madeInfo = emission.declarations.dims.at(made);
    emission.diagnostics
        .warning(at, "the result has dims " + quote(known) + " and " +
                         quote(made) + ", which have the same " +
                         std::to_string(madeInfo.size) +
                         " entries; if they are one dim, give it one name")
        .note(madeInfo.span, quote(made) + " is introduced here")
        .note(emission.declarations.dims.at(known).span,
              quote(known) + " is declared here");
    std::erase_if(twins,
                  [dim = made](const auto &twin) { return twin.first == dim; });
    return;
  }
}

void SuspectDims::warnOfProduct(ArrayRef<Value> factors, nd::TensorType result,
                                syntax::Span at) {
  // All pairs of positions are what attention wants, but not of weights.
  if (llvm::any_of(factors, [](Value factor) {
        return factor.getDefiningOp<nd::ParameterOp>();
      }))
    warnOfTwins(factors, result, at);
}

//===----------------------------------------------------------------------===//
// One name where two were meant: attention without a second name
//===----------------------------------------------------------------------===//

namespace {

/// A softmax over a dim of scores, in which queries and keys both have the dim:
/// each position's query meets its own key alone.
class PairedScores {
public:
  PairedScores(const Emission &emission, nd::SoftmaxOp softmax)
      : history(emission), scores(softmax.getInput()),
        weights(softmax.getResult()), dim(softmax.getDim()) {}

  /// The product of queries and keys; null if the scores are none.
  nd::EinsumOp findProduct() const;
  /// Whether the weights are used for each position again, and not only to sum
  /// up all positions, as a pooling does.
  bool areUsedByPosition() const;

private:
  bool hasDim(Value value) const {
    return nd::getTensorType(value).hasDim(dim);
  }
  bool isOfPairs(nd::EinsumOp product) const;
  bool isParameter(Value value) const;
  bool isProjection(Operation *op) const;
  llvm::SetVector<Value> findOrigins(Value value) const;
  static SmallVector<Value> findResults(OpOperand &use);

  /// Enough for what stands between scores and their product.
  static constexpr size_t mostValues = 1000;
  DimHistory history;
  Value scores, weights;
  StringRef dim;
};

} // namespace

/// Whether the value is a parameter, or its entry in a loop.
bool PairedScores::isParameter(Value value) const {
  while (isa<BlockArgument>(value)) {
    SmallVector<Value> sources = history.findSources(value);
    if (sources.size() != 1)
      return false;
    value = sources.front();
  }
  return value.getDefiningOp<nd::ParameterOp>() != nullptr;
}

/// What the value is computed from, as long as it has the dim: floats that are
/// no parameters.
llvm::SetVector<Value> PairedScores::findOrigins(Value value) const {
  llvm::SetVector<Value> origins;
  origins.insert(value);
  for (size_t i = 0; i < std::min(origins.size(), mostValues); ++i)
    for (Value source : history.findSources(origins[i]))
      if (hasDim(source) && nd::getTensorType(source).isFloat() &&
          !isParameter(source))
        origins.insert(source);
  return origins;
}

/// Whether two factors have the dim, which stays in the product, and come from
/// one tensor.
bool PairedScores::isOfPairs(nd::EinsumOp product) const {
  if (product.getReduced().empty() || !hasDim(product.getResult()))
    return false;
  std::optional<llvm::SetVector<Value>> first;
  for (Value operand : product.getOperands()) {
    if (!hasDim(operand) || isParameter(operand))
      continue;
    llvm::SetVector<Value> origins = findOrigins(operand);
    if (!first)
      first = std::move(origins);
    else if (llvm::any_of(origins,
                          [&](Value each) { return first->contains(each); }))
      return true;
  }
  return false;
}

nd::EinsumOp PairedScores::findProduct() const {
  llvm::SetVector<Value> values;
  values.insert(scores);
  for (size_t i = 0; i < std::min(values.size(), mostValues); ++i) {
    Operation *op = values[i].getDefiningOp();
    if (!op || isa<nd::ScanOp>(op))
      continue;
    if (auto product = dyn_cast<nd::EinsumOp>(op)) {
      if (isOfPairs(product))
        return product;
      continue;
    }
    for (Value operand : op->getOperands())
      if (hasDim(operand))
        values.insert(operand);
  }
  return {};
}

/// What a use computes, through the ends of loops.
SmallVector<Value> PairedScores::findResults(OpOperand &use) {
  Operation *user = use.getOwner();
  SmallVector<Value> results;
  auto add = [&](const nd::Tie &tie, Value from) {
    for (Value each : {Value(tie.argument), Value(tie.result)})
      if (each && each != from)
        results.push_back(each);
  };
  if (auto scan = dyn_cast<nd::ScanOp>(user)) {
    for (const nd::Tie &tie : scan.getTies())
      if (tie.operand == use.get())
        add(tie, use.get());
  } else if (auto scan = dyn_cast<nd::ScanOp>(user->getParentOp());
             scan && isa<nd::YieldOp>(user)) {
    for (const nd::Tie &tie : scan.getTies())
      if (tie.yielded == use.get())
        add(tie, use.get());
  } else {
    llvm::append_range(results, user->getResults());
  }
  return results;
}

/// Whether the op is a product with a parameter, which keeps the dim.
bool PairedScores::isProjection(Operation *op) const {
  return isa<nd::EinsumOp>(op) &&
         llvm::any_of(op->getOperands(),
                      [&](Value operand) { return isParameter(operand); });
}

bool PairedScores::areUsedByPosition() const {
  // The second: whether all positions are summed up in the value.
  llvm::SetVector<std::pair<Value, unsigned>> reached;
  reached.insert({weights, 0});
  for (size_t i = 0; i < std::min(reached.size(), mostValues); ++i) {
    auto [value, isSum] = reached[i];
    for (OpOperand &use : value.getUses())
      for (Value result : findResults(use)) {
        Operation *user = use.getOwner();
        bool isRenamed =
            isa<nd::RenameOp, nd::SplitDimOp, nd::MergeDimsOp>(user);
        if (!nd::getTensorType(result) || (isRenamed && !hasDim(result)))
          continue;
        if (hasDim(result) && (isSum || isProjection(user)))
          return true;
        // Weights may sum up another dim, as those of capsules do.
        auto product = dyn_cast<nd::EinsumOp>(user);
        if (!product || product.getReduced().empty() || !hasDim(result))
          reached.insert({result, isSum || !hasDim(result)});
      }
  }
  return false;
}

/// Warns of attention in which no position meets another one.
void SuspectDims::warnOfScores() {
  std::set<std::pair<uint32_t, uint32_t>> warned;
  emission.modelBody->walk([&](nd::SoftmaxOp softmax) {
    auto place = emission.places.find(softmax);
    PairedScores scores(emission, softmax);
    nd::EinsumOp product =
        place == emission.places.end() ? nd::EinsumOp() : scores.findProduct();
    if (!product || !scores.areUsedByPosition() ||
        !warned.insert({place->second.source, place->second.begin}).second)
      return;
    std::string dim = softmax.getDim().str();
    std::string fresh = dim == "memory" ? "positions" : "memory";
    syntax::Diagnostic &warning = emission.diagnostics.warning(
        place->second,
        "the scores of this softmax have dim " + quote(dim) +
            " once, for queries and keys, so each position meets itself alone; "
            "for attention to all positions, rename the dim in keys and "
            "values, as in rename(k, " +
            dim + " -> " + fresh + "), and take softmax and sum over " +
            quote(fresh));
    if (auto at = emission.places.find(product); at != emission.places.end())
      warning.note(at->second,
                   "this product pairs equal positions of " + quote(dim));
  });
}
