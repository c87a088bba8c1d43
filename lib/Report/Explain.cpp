//===- Explain.cpp - why a value lies as it does -------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Report/Explain.h"
#include "dialects/Nd/ModelPlaces.h"
#include "dialects/Nd/Ops/LoopOps.h"
#include "lib/Report/Explainer.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include <set>

using namespace mlir;

namespace meshc::report {

Question Question::of(StringRef text) {
  Question question;
  if (text.empty() || !llvm::all_of(text, llvm::isDigit) ||
      text.getAsInteger(10, question.line))
    question.name = text.str();
  return question;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// The step functions: not the one that makes initial state.
static SmallVector<func::FuncOp> getFunctions(ModuleOp module) {
  return llvm::filter_to_vector(
      module.getOps<func::FuncOp>(),
      [](func::FuncOp function) { return function.getName() != "initialize"; });
}

/// Whether the value is what a loop hands on of a value in its body that has
/// its name.
static bool isHandedOn(OpResult result) {
  auto loop = dyn_cast<nd::ScanOp>(result.getOwner());
  return loop &&
         getName(result) == getName(getSource(loop.getYield()->getOperand(
                                result.getResultNumber())));
}

/// The function's values in the program's order: its arguments, and the results
/// of ops that the model or its gradient has.
static SmallVector<Value> getValues(func::FuncOp function) {
  SmallVector<Value> values(function.getArguments());
  function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (!isa<spmd::ReshardOp>(op))
      for (OpResult result : op->getResults())
        if (nd::getTensorType(result) && !isHandedOn(result))
          values.push_back(result);
  });
  return values;
}

static unsigned getLine(Value value) {
  auto places = nd::getModelPlaces(value.getLoc());
  return places.empty() ? 0 : places.front().getLine();
}

std::vector<std::string> listNames(ModuleOp module) {
  llvm::SetVector<StringRef> names;
  for (func::FuncOp function : getFunctions(module))
    for (Value value : getValues(function))
      if (StringRef name = getName(value); !name.empty())
        names.insert(name);
  std::vector<std::string> list;
  for (StringRef name : names)
    list.push_back(name.str());
  return list;
}

std::vector<unsigned> listLines(ModuleOp module) {
  std::set<unsigned> lines;
  for (func::FuncOp function : getFunctions(module))
    for (Value value : getValues(function))
      if (unsigned line = getLine(value))
        lines.insert(line);
  return {lines.begin(), lines.end()};
}

//===----------------------------------------------------------------------===//
// The answer
//===----------------------------------------------------------------------===//

/// Whether a name is the one asked for: it, or its last parts.
static bool matches(StringRef name, StringRef asked, bool isExact) {
  return name == asked ||
         (!isExact && name.ends_with((Twine(".") + asked).str()));
}

using FoundValues = SmallVector<std::pair<func::FuncOp, Value>>;

/// The values that are asked about, each with its function.
static FoundValues findByName(ModuleOp module, StringRef asked) {
  bool isExact = llvm::is_contained(listNames(module), asked);
  FoundValues found;
  for (func::FuncOp function : getFunctions(module))
    for (Value value : getValues(function)) {
      auto tensor = nd::TensorAttributes::of(value);
      bool isGradient = tensor.hasClass(nd::TensorClass::Gradient);
      StringAttr parameter = tensor.getParameter();
      if (matches(getName(value), asked, isExact) ||
          (isGradient && parameter && matches(parameter, asked, isExact)))
        found.emplace_back(function, value);
    }
  return found;
}

/// The values of the line that have a name or are moved; all if there are none.
static FoundValues findByLine(ModuleOp module, unsigned line,
                              Explainer &explainer) {
  FoundValues all, notable;
  for (func::FuncOp function : getFunctions(module))
    for (Value value : getValues(function)) {
      if (getLine(value) != line)
        continue;
      all.emplace_back(function, value);
      if (!getName(value).empty() || explainer.isMoved(value))
        notable.emplace_back(function, value);
    }
  return notable.empty() ? all : notable;
}

/// Whether a rule of a layout can name the value.
static bool isPlaceable(Value value) {
  nd::TensorIdentity tensor = nd::getIdentity(value);
  return !tensor.name.empty() && !tensor.isWhole &&
         tensor.tensorClass != nd::TensorClass::Gradient &&
         tensor.tensorClass != nd::TensorClass::Optimizer;
}

namespace {
/// What holds of a value, in one or several functions.
struct Answer {
  std::string title, text;
  llvm::SetVector<StringRef> functions;
};
} // namespace

Explanation explain(ModuleOp module, const Question &question) {
  Explainer explainer(module);
  Explanation explanation;
  std::vector<Answer> answers;
  FoundValues found = question.name.empty()
                          ? findByLine(module, question.line, explainer)
                          : findByName(module, question.name);
  for (auto [function, value] : found) {
    Answer answer{
        explainer.describeTitle(value), explainer.describe(value), {}};
    auto known = llvm::find_if(answers, [&](const Answer &other) {
      return other.title == answer.title && other.text == answer.text;
    });
    if (known == answers.end())
      known = answers.insert(known, std::move(answer));
    known->functions.insert(function.getName());
    if (explanation.scope.empty() && isPlaceable(value)) {
      explanation.scope = getName(value).str();
      explanation.type = explainer.getHome(value);
    }
  }
  for (const Answer &answer : answers)
    explanation.text += (explanation.text.empty() ? "" : "\n") + answer.title +
                        ", in " + llvm::join(answer.functions, ", ") + ":\n" +
                        answer.text;
  return explanation;
}

} // namespace meshc::report
