//===- Explain.cpp - what --explain does ----------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Report/Explain.h"
#include "dialects/Nd/Ops/ModelOps.h"
#include "dialects/Spmd/Sharding.h"
#include "lib/Frontend/Syntax/Spelling.h"
#include "lib/Pipeline/Compilation.h"
#include "lib/Pipeline/OptionRules.h"
#include "lib/Pipeline/Trial.h"
#include "lib/Report/Format.h"
#include "llvm/Support/Format.h"

using namespace mlir;

namespace meshc {

using report::Explanation;
using report::Question;

//===----------------------------------------------------------------------===//
// Other rules
//===----------------------------------------------------------------------===//

namespace {

/// A rule for one dim of the value.
struct DimRule {
  StringAttr dim;
  spmd::AxisList axes;
};
using Alternative = SmallVector<DimRule, 2>;

/// A row of the table.
struct Row {
  std::string text;
  double bytes = 0; ///< that a rank sends
  cost::Outcome outcome;
};

} // namespace

/// Where else the value may lie: each dim whole that is cut, and each axis at
/// the end of another dim's axes, instead of the dim that has it now.
static SmallVector<Alternative> findAlternatives(nd::TensorType type,
                                                 nd::MeshAttr mesh) {
  SmallVector<Alternative> found;
  for (nd::DimAttr dim : type.getDims()) {
    if (!dim.getAxes().empty())
      found.push_back({{dim.getName(), {}}});
    for (nd::AxisAttr axis : mesh.getAxes()) {
      StringAttr name = axis.getName();
      if (axis.getSize() == 1 || llvm::is_contained(dim.getAxes(), name))
        continue;
      spmd::AxisList axes(dim.getAxes());
      axes.push_back(name);
      Alternative other = {{dim.getName(), std::move(axes)}};
      for (nd::DimAttr from : type.getDims())
        if (llvm::is_contained(from.getAxes(), name)) {
          spmd::AxisList left(from.getAxes());
          llvm::erase(left, name);
          other.push_back({from.getName(), std::move(left)});
        }
      found.push_back(std::move(other));
    }
  }
  return found;
}

/// Gives the layout the rules, in place of those that it has in their scope.
/// Returns them as text.
static std::string setRules(ModuleOp program, StringRef scope,
                            ArrayRef<DimRule> rules) {
  std::string text;
  for (const DimRule &rule : rules) {
    for (auto old : llvm::make_early_inc_range(program.getOps<nd::RuleOp>()))
      if (old.getScope() == scope && old.getDim() == rule.dim.getValue())
        old.erase();
    OpBuilder builder = OpBuilder::atBlockBegin(program.getBody());
    auto made = nd::RuleOp::create(builder, program.getLoc(),
                                   builder.getStringAttr(scope), rule.dim,
                                   builder.getArrayAttr(SmallVector<Attribute>(
                                       rule.axes.begin(), rule.axes.end())),
                                   /*optional=*/nullptr, /*weak=*/nullptr);
    text += (text.empty() ? "" : ", ") + made.getText();
  }
  return text;
}

/// A row for the program after the phase `steps`; nothing if its layout is
/// refused.
static std::optional<Row> makeRow(ModuleOp steps, std::string text,
                                  const CompileOptions &options,
                                  const cost::Machine &machine) {
  std::optional<Trial> trial = tryPhases(steps, "layout", options, machine);
  if (!trial)
    return std::nullopt;
  Row row{std::move(text), 0, trial->getOutcome(options, machine)};
  for (const auto &[axis, bytes] : trial->getStep()["bytes"].items())
    row.bytes += bytes.get<double>();
  return row;
}

/// "+1.5 kB", "-3.0 us", or "same".
static std::string formatChange(double change, std::string (*format)(double)) {
  std::string size = format(std::abs(change));
  return size == format(0) ? "same" : (change < 0 ? "-" : "+") + size;
}

/// What other rules for the value would cost: a table of the differences from
/// its first row, the program as it is.
static std::string compareRules(ModuleOp steps, const Explanation &explanation,
                                const CompileOptions &options,
                                const cost::Machine &machine) {
  constexpr size_t most = 32;
  std::vector<Row> rows;
  size_t refused = 0, left = 0;
  if (auto row = makeRow(steps, "as it is", options, machine))
    rows.push_back(std::move(*row));
  for (const Alternative &other :
       findAlternatives(explanation.type, nd::MeshAttr::of(steps))) {
    if (rows.size() + refused > most) {
      ++left;
      continue;
    }
    OwningOpRef<ModuleOp> changed = steps.clone();
    std::string text = setRules(*changed, explanation.scope, other);
    if (auto row = makeRow(*changed, text, options, machine))
      rows.push_back(std::move(*row));
    else
      ++refused;
  }
  if (rows.size() < 2)
    return "";
  std::stable_sort(rows.begin() + 1, rows.end(),
                   [](const Row &a, const Row &b) {
                     return a.outcome.seconds < b.outcome.seconds;
                   });
  size_t width = 0;
  for (const Row &row : rows)
    width = std::max(width, row.text.size());
  std::string table;
  llvm::raw_string_ostream out(table);
  out << "\nwhat other rules for '" << explanation.scope
      << "' would cost: bytes that a rank sends in a step, its arena, and the "
         "time predicted for machine '"
      << machine.name << "'\n";
  auto print = [&](const Row &row, const std::string &bytes,
                   const std::string &arena, const std::string &seconds) {
    out << llvm::format("  %-*s %10s %10s %10s%s\n", int(width),
                        row.text.c_str(), bytes.c_str(), arena.c_str(),
                        seconds.c_str(),
                        row.outcome.fits ? "" : "  over --memory-budget");
  };
  const Row &now = rows.front();
  const double arena = double(now.outcome.arenaBytes);
  print(now, report::formatBytes(now.bytes), report::formatBytes(arena),
        report::formatSeconds(now.outcome.seconds));
  for (const Row &row : llvm::drop_begin(rows))
    print(row, formatChange(row.bytes - now.bytes, report::formatBytes),
          formatChange(double(row.outcome.arenaBytes) - arena,
                       report::formatBytes),
          formatChange(row.outcome.seconds - now.outcome.seconds,
                       report::formatSeconds));
  if (refused > 0)
    out << "  refused: " << refused
        << ", where two dims of a tensor want one axis, or a loop takes the "
           "dim "
           "apart\n";
  if (left > 0)
    out << "  not tried: " << left << "\n";
  return table;
}

//===----------------------------------------------------------------------===//
// The answer
//===----------------------------------------------------------------------===//

/// What is wrong with a question to which there is no answer.
static std::string describeUnknown(const Question &question, ModuleOp program,
                                   StringRef input) {
  if (!question.name.empty()) {
    std::vector<std::string> names = report::listNames(program);
    // The last parts of a name are an answer, too.
    std::vector<std::string_view> known;
    for (StringRef rest : names)
      for (; !rest.empty(); rest = rest.split('.').second)
        known.emplace_back(rest);
    return "--explain: the model has no value '" + question.name + "'" +
           syntax::didYouMean(question.name, known);
  }
  std::string text = "--explain: nothing is computed at line " +
                     std::to_string(question.line) + " of '" + input.str() +
                     "'";
  std::vector<unsigned> lines = report::listLines(program);
  auto next = llvm::lower_bound(lines, question.line);
  if (next != lines.end())
    return text + "; the next line with a value is " + std::to_string(*next);
  return lines.empty() ? text
                       : text + "; the last line with a value is " +
                             std::to_string(lines.back());
}

ExitCode Compilation::keepSteps() {
  steps = module->clone();
  return ExitCode::Success;
}

ExitCode Compilation::explainValues() {
  Question question = Question::of(options.explain);
  Explanation explanation = report::explain(*module, question);
  if (explanation.text.empty())
    return fail(ExitCode::Input,
                describeUnknown(question, *module, options.input));
  hasEnded = !isToWrite(options) && options.verify == Verify::None &&
             options.report == ReportFormat::None;
  std::string text = explanation.text;
  if (steps && !explanation.scope.empty())
    text += compareRules(*steps, explanation, options, machine);
  return printText(text);
}

} // namespace meshc
