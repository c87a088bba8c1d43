//===- Explain.cpp - why a value lies as it does -------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Report/Explain.h"
#include "dialects/Nd/ModelPlaces.h"
#include "dialects/Nd/Ops/LoopOps.h"
#include "dialects/Nd/StepNames.h"
#include "lib/Report/Explainer.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"
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
      module.getOps<func::FuncOp>(), [](func::FuncOp function) {
        return !nd::isStep(function, nd::Step::Initialize);
      });
}

/// The function's values in the program's order: its arguments, what loops
/// carry if it moves, and the results of ops that the model or its gradient
/// has.
static SmallVector<Value> getValues(func::FuncOp function) {
  SmallVector<Value> values(function.getArguments());
  function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (auto loop = dyn_cast<nd::ScanOp>(op))
      for (const nd::Tie &tie : loop.getTies())
        if (tie.argument && tie.kind == nd::TieKind::Carried &&
            llvm::any_of(tie.argument.getUsers(), [](Operation *user) {
              return isa<spmd::ReshardOp>(user);
            }))
          values.push_back(tie.argument);
    if (!isa<spmd::ReshardOp>(op))
      for (OpResult result : op->getResults())
        if (nd::getTensorType(result) && !isHandedOn(result))
          values.push_back(result);
  });
  return values;
}

/// The lines that say what the value is: the one that computes it, and then the
/// calls around it.
static SmallVector<unsigned> getLines(Value value) {
  return llvm::map_to_vector(
      nd::getModelPlaces(value.getLoc()),
      [](FileLineColLoc place) { return place.getLine(); });
}

/// The values of the function's results that have names: metrics, and state.
static SmallVector<std::pair<StringRef, Value>>
getResults(func::FuncOp function) {
  SmallVector<std::pair<StringRef, Value>> results;
  Operation *end = function.getBody().front().getTerminator();
  for (OpOperand &operand : end->getOpOperands())
    if (auto name =
            nd::TensorAttributes::ofResult(function, operand.getOperandNumber())
                .getName())
      results.emplace_back(name.getValue(), getSource(operand.get()));
  return results;
}

std::vector<std::string> listNames(ModuleOp module) {
  llvm::SetVector<StringRef> names;
  for (func::FuncOp function : getFunctions(module)) {
    for (Value value : getValues(function))
      if (StringRef name = getName(value); !name.empty())
        names.insert(name);
    for (auto [name, value] : getResults(function))
      names.insert(name);
  }
  std::vector<std::string> list;
  for (StringRef name : names)
    list.push_back(name.str());
  return list;
}

std::vector<unsigned> listLines(ModuleOp module) {
  std::set<unsigned> lines;
  for (func::FuncOp function : getFunctions(module))
    for (Value value : getValues(function))
      for (unsigned line : getLines(value))
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
  for (func::FuncOp function : getFunctions(module))
    for (auto [name, value] : getResults(function)) {
      std::pair<func::FuncOp, Value> result(function, value);
      if (matches(name, asked, isExact) && !llvm::is_contained(found, result))
        found.push_back(result);
    }
  return found;
}

/// The values of the line, or of what it calls if it computes none, that have a
/// name or are moved; all if there are none.
static FoundValues findByLine(ModuleOp module, unsigned line,
                              Explainer &explainer) {
  FoundValues inside, called;
  for (func::FuncOp function : getFunctions(module))
    for (Value value : getValues(function)) {
      SmallVector<unsigned> lines = getLines(value);
      if (!lines.empty() && lines.front() == line)
        inside.emplace_back(function, value);
      else if (llvm::is_contained(lines, line))
        called.emplace_back(function, value);
    }
  FoundValues &all = inside.empty() ? called : inside;
  FoundValues notable = llvm::filter_to_vector(all, [&](auto &found) {
    return !getName(found.second).empty() || explainer.isMoved(found.second);
  });
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
/// What holds of a value, in one or several functions: of how many values in
/// each.
struct Answer {
  std::string title, text;
  llvm::MapVector<StringRef, unsigned> functions;

  std::string getFunctions() const {
    std::string list;
    for (auto [function, count] : functions)
      list += (list.empty() ? "" : ", ") + function.str() +
              (count > 1 ? " (" + std::to_string(count) + " such values)" : "");
    return list;
  }
};
} // namespace

/// The value for which other rules are tried: the first one that is computed,
/// or else the first one.
static Value chooseValue(const FoundValues &found) {
  Value chosen;
  for (auto [function, value] : found)
    if (isPlaceable(value) &&
        (!chosen || (isa<BlockArgument>(chosen) && isa<OpResult>(value))))
      chosen = value;
  return chosen;
}

Explanation explain(ModuleOp module, const Question &question) {
  Explainer explainer(module);
  Explanation explanation;
  std::vector<Answer> answers;
  FoundValues found = question.name.empty()
                          ? findByLine(module, question.line, explainer)
                          : findByName(module, question.name);
  auto isFound = [&](Value value) {
    return llvm::is_contained(llvm::make_second_range(found), value);
  };
  for (auto [function, value] : found) {
    Answer answer{
        explainer.describeTitle(value), explainer.describe(value, isFound), {}};
    auto known = llvm::find_if(answers, [&](const Answer &other) {
      return other.title == answer.title && other.text == answer.text;
    });
    if (known == answers.end())
      known = answers.insert(known, std::move(answer));
    ++known->functions[function.getName()];
  }
  if (Value value = chooseValue(found)) {
    explanation.scope = getName(value).str();
    explanation.type = explainer.getHome(value);
  }
  for (const Answer &answer : answers)
    explanation.text += (explanation.text.empty() ? "" : "\n") + answer.title +
                        ", in " + answer.getFunctions() + ":\n" + answer.text;
  return explanation;
}

} // namespace meshc::report
