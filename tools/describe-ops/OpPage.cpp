//===- OpPage.cpp - the page about the ops of nd -----------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/describe-ops/OpPage.h"
#include "dialects/Nd/NdOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tools/describe-ops/Cuts.h"
#include "tools/describe-ops/Formulas.h"
#include "llvm/ADT/StringExtras.h"
#include <set>

using namespace mlir;

namespace meshc {

static constexpr StringLiteral introduction = R"(# The operations of nd

From the ops' declarations and code, by tools/describe-ops. All phases up to `collectives` work on these ops; `meshc
--emit=mlir` prints a model as them. [language.md](../language.md) says how a model writes them.

Each op is shown by an example, with the types of its operands and results.

**Gradient** says how the gradients of the operands come from those of the results, `g` (`g_result` where there are several).
An operand that is not named has none.

**Cut** says what happens where a layout cuts one dim over a mesh axis of k ranks: the collectives that this example becomes.
Where a dim does not have the example's size, the type gives its size for k = 2: `m = 2` is one entry for each rank.
Each rank sends, of n bytes of the tensor that is named, 2 (k - 1) / k · n in an `all_reduce`, and (k - 1) / k · n in a
`reduce_scatter`, `all_gather` or `all_to_all`. In a program there may be less: a sum may stay a partial sum, and a tensor that
others need whole is gathered once. There may also be a `permute`, in which a rank sends all n, or, for a
slice, a padding or a concatenation, the entries that another rank needs.
)";

namespace {
/// The section of one op.
class OpSection {
public:
  OpSection(const OpRecord &record, Operation *op, func::FuncOp function)
      : record(record), op(op), function(function) {}

  LogicalResult write(std::string &page);

private:
  std::string writeExample() const;
  /// Formulas over the operands by their names.
  Formulas makeFormulas() const;
  std::string writeParts();
  std::string writeGradients();
  SmallVector<Value> giveGradients(unsigned count, Formulas &formulas);
  FailureOr<std::string> writeCuts();

  const OpRecord &record;
  Operation *op;
  func::FuncOp function;
};
} // namespace

std::string OpSection::writeExample() const {
  Formulas formulas = makeFormulas();
  SmallVector<std::string> results, types;
  for (auto [i, operand] : llvm::enumerate(op->getOperands()))
    types.push_back(record.getOperandName(i) + ": " +
                    writeType(operand.getType()));
  for (auto [i, result] : llvm::enumerate(op->getResults())) {
    results.push_back(record.getResultName(i));
    types.push_back(results.back() + ": " + writeType(result.getType()));
  }
  return "    " + llvm::join(results, ", ") + " = " + formulas.writeCall(op) +
         "\n\n    " + llvm::join(types, "\n    ") + "\n";
}

Formulas OpSection::makeFormulas() const {
  Formulas formulas;
  for (auto [i, operand] : llvm::enumerate(op->getOperands()))
    formulas.name(operand, record.getOperandName(i));
  return formulas;
}

std::string OpSection::writeParts() {
  auto composite = dyn_cast<nd::CompositeOpInterface>(op);
  if (!composite)
    return "";
  OpBuilder builder(op);
  Formulas formulas = makeFormulas();
  for (auto [i, part] : llvm::enumerate(composite.decompose(builder)))
    formulas.add(record.getResultName(i), part);
  return "\nComputed as:\n\n" + formulas.getText();
}

/// Adds arguments for the gradients of the first `count` results to the
/// function and names them; those of whole numbers are null.
SmallVector<Value> OpSection::giveGradients(unsigned count,
                                            Formulas &formulas) {
  SmallVector<Value> given(op->getNumResults());
  for (auto [i, result] : llvm::enumerate(op->getResults().take_front(count))) {
    auto type = cast<nd::TensorType>(result.getType());
    if (!isa<FloatType>(type.getElementType()))
      continue;
    given[i] = function.front().addArgument(type, op->getLoc());
    formulas.name(given[i], op->getNumResults() == 1
                                ? "g"
                                : "g_" + record.getResultName(i));
  }
  return given;
}

std::string OpSection::writeGradients() {
  // An op without a gradient says so by an error.
  ScopedDiagnosticHandler ignore(op->getContext(),
                                 [](Diagnostic &) { return success(); });
  OpBuilder builder(op);
  // Some ops have only a gradient of their first result.
  for (unsigned count : {op->getNumResults(), 1u}) {
    Formulas formulas = makeFormulas();
    for (auto [i, result] : llvm::enumerate(op->getResults()))
      formulas.name(result, record.getResultName(i));
    SmallVector<Value> given = giveGradients(count, formulas),
                       gradients(op->getNumOperands());
    if (llvm::none_of(given, [](Value value) { return value; }) ||
        failed(cast<nd::NamedOpInterface>(op).buildGradient(builder, given,
                                                            gradients)))
      continue;
    for (auto [i, gradient] : llvm::enumerate(gradients))
      if (gradient)
        formulas.add("g_" + record.getOperandName(i), gradient);
    if (std::string text = formulas.getText(); !text.empty())
      return "\n**Gradient**:\n\n" + text;
  }
  return "\n**Gradient**: none.\n";
}

FailureOr<std::string> OpSection::writeCuts() {
  FailureOr<std::vector<Cut>> cuts = findCuts(function);
  if (failed(cuts))
    return failure();
  if (cuts->empty())
    return std::string();
  std::string text = "\n**Cut**:\n\n";
  for (const Cut &cut : *cuts)
    text += "- `" + llvm::join(cut.dims, "`, `") + "`: " +
            (cut.collectives.empty() ? "no collective"
                                     : llvm::join(cut.collectives, ", ")) +
            "\n";
  return text;
}

LogicalResult OpSection::write(std::string &page) {
  FailureOr<std::string> cuts = writeCuts(); // before ops are added
  if (failed(cuts))
    return failure();
  page += "\n" + writeExample() + writeGradients() + writeParts() + *cuts;
  return success();
}

/// The function of the op's name; null after an error if there is none.
static func::FuncOp findExample(const OpRecord &record, ModuleOp examples) {
  auto function = examples.lookupSymbol<func::FuncOp>(record.name);
  Operation *op =
      function ? function.front().getTerminator()->getPrevNode() : nullptr;
  if (op && op->getName().stripDialect() == record.name)
    return function;
  examples.emitError() << "op '" << record.name
                       << "' has no example; add a function @" << record.name
                       << " whose last op before its return is nd."
                       << record.name;
  return {};
}

FailureOr<std::string> writeOpPage(ArrayRef<OpFamily> families,
                                   ModuleOp examples) {
  std::string page = introduction.str();
  std::set<std::string> described;
  for (const OpFamily &family : families) {
    if (family.ops.empty()) // traits or interfaces alone
      continue;
    page += "\n## " + family.title + "\n";
    for (const OpRecord &record : family.ops) {
      described.insert(record.name);
      page += "\n### " + record.name + "\n\n" + record.summary + ".\n";
      if (!record.description.empty())
        page += "\n" + record.description + "\n";
      OperationName name("nd." + record.name, examples.getContext());
      if (!name.hasInterface<nd::NamedOpInterface>())
        continue; // computes no tensor
      func::FuncOp function = findExample(record, examples);
      if (!function ||
          failed(OpSection(record,
                           function.front().getTerminator()->getPrevNode(),
                           function)
                     .write(page)))
        return failure();
    }
  }
  for (func::FuncOp function : examples.getOps<func::FuncOp>())
    if (!described.count(function.getName().str()))
      return function.emitError()
             << "there is no op '" << function.getName() << "'";
  return page;
}

} // namespace meshc
