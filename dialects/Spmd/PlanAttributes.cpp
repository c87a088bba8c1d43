//===- PlanAttributes.cpp - plans as text ---------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Spmd/FormAttributes.h"

using namespace mlir;

namespace meshc::spmd {

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

/// `op 3`, `op 3 result 1` or `argument 2`
static void printValue(AsmPrinter &printer, PlanValue value) {
  printer << (value.isArgument() ? "argument " : "op ") << value.number;
  if (value.result > 0)
    printer << " result " << value.result;
}

static ParseResult parseNumber(AsmParser &parser, int64_t &number) {
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseInteger(number))
    return failure();
  return number >= 0 && number <= std::numeric_limits<int32_t>::max()
             ? success()
             : ParseResult(
                   parser.emitError(loc, "expected a number of 31 bits"));
}

static ParseResult parseValue(AsmParser &parser, PlanValue &value) {
  StringRef word;
  if (failed(parser.parseOptionalKeyword(&word, {"op", "argument"})))
    return parser.emitError(parser.getCurrentLocation(),
                            "expected 'op' or 'argument' and its number");
  if (parseNumber(parser, value.number))
    return failure();
  if (word == "argument")
    value.result = -1;
  else if (succeeded(parser.parseOptionalKeyword("result")))
    return parseNumber(parser, value.result);
  return success();
}

namespace {
/// The parameters of a step.
struct StepFields {
  StepKind kind = StepKind::Make;
  PlanValue value;
  llvm::SmallVector<ArrayAttr> axes;
  llvm::SmallVector<FormAttr> operands, results;
  StringAttr name;
  int64_t loop = 0;
  PlanValue source;
  Attribute body;
};

/// What stands behind the value of a step, in this order.
struct StepSyntax {
  bool hasAxes = false;   ///< lists of axes
  bool hasShared = false; ///< one list of axes
  bool hasOperands = false, hasOperand = false, hasResults = false;
  bool hasResult = false, hasCause = false, hasSource = false, hasBody = false;
  bool hasOpName = false; ///< first of all

  explicit StepSyntax(StepKind kind) {
    hasOpName = kind != StepKind::Move && kind != StepKind::Enter &&
                kind != StepKind::Take && kind != StepKind::Keep;
    switch (kind) {
    case StepKind::Make:
      hasAxes = hasOperands = hasResults = true;
      return;
    case StepKind::Repeat:
      hasOperands = hasResult = true;
      return;
    case StepKind::Return:
      hasOperand = hasResult = true;
      return;
    case StepKind::Move:
      hasOperand = hasResult = hasCause = true;
      return;
    case StepKind::Loop:
      hasShared = hasBody = true;
      return;
    case StepKind::Take:
      hasResult = hasSource = true;
      return;
    case StepKind::Same:
    case StepKind::Zero:
    case StepKind::Enter:
    case StepKind::Keep:
      hasResult = true;
      return;
    }
  }
  bool hasArrow() const { return hasOperands || hasOperand; }
};
} // namespace

static void printPlan(AsmPrinter &printer, PlanAttr plan, unsigned depth);

static void printStep(AsmPrinter &printer, StepAttr step, unsigned depth) {
  const StepSyntax syntax(step.getKind());
  printer << stringifyStepKind(step.getKind()) << ' ';
  printValue(printer, step.getValue());
  if (syntax.hasOpName)
    printer << ' ' << step.getName().getValue();
  if (syntax.hasAxes) {
    printer << " [";
    llvm::interleaveComma(step.getAxes(), printer, [&](ArrayAttr axes) {
      printAxes(printer, getNames(axes));
    });
    printer << ']';
  }
  if (syntax.hasShared && !step.getAxes().empty()) {
    printer << ' ';
    printAxes(printer, getNames(step.getAxes().front()));
  }
  printer << ' ';
  if (syntax.hasOperands)
    printForms(printer, step.getOperands());
  if (syntax.hasOperand)
    printForm(printer, step.getOperands().front());
  if (syntax.hasArrow())
    printer << " -> ";
  if (syntax.hasResults)
    printForms(printer, step.getResults());
  if (syntax.hasResult)
    printForm(printer, step.getResults().front());
  if (syntax.hasCause && step.getName())
    printer << ' ' << step.getName();
  if (syntax.hasSource) {
    printer << " from op " << step.getLoop() << ' ';
    printValue(printer, step.getSource());
  }
  if (syntax.hasBody)
    printPlan(printer, cast<PlanAttr>(step.getBody()), depth + 1);
}

static FailureOr<PlanAttr> parsePlan(AsmParser &parser, unsigned depth);

static ParseResult parseAxisLists(AsmParser &parser, StepFields &fields) {
  return parser.parseCommaSeparatedList(
      AsmParser::Delimiter::Square, [&]() -> ParseResult {
        AxisList axes;
        if (parseAxes(parser, axes))
          return failure();
        fields.axes.push_back(ArrayAttr::get(
            parser.getContext(),
            llvm::SmallVector<Attribute>(axes.begin(), axes.end())));
        return success();
      });
}

static ParseResult parseOne(AsmParser &parser,
                            llvm::SmallVectorImpl<FormAttr> &forms) {
  FailureOr<FormAttr> form = parseForm(parser);
  if (failed(form))
    return failure();
  forms.push_back(*form);
  return success();
}

/// The axes that share a loop's work, if they stand here.
static ParseResult parseShared(AsmParser &parser, StepFields &fields) {
  AxisList axes;
  if (succeeded(parser.parseOptionalLBrace())) {
    do {
      std::string axis;
      if (parser.parseKeywordOrString(&axis))
        return failure();
      axes.push_back(StringAttr::get(parser.getContext(), axis));
    } while (succeeded(parser.parseOptionalComma()));
    if (parser.parseRBrace())
      return failure();
    fields.axes.push_back(
        ArrayAttr::get(parser.getContext(),
                       llvm::SmallVector<Attribute>(axes.begin(), axes.end())));
  }
  return success();
}

/// What stands behind the value.
static ParseResult parseRest(AsmParser &parser, StepFields &fields,
                             unsigned depth) {
  const StepSyntax syntax(fields.kind);
  if (syntax.hasOpName) {
    StringRef name;
    if (parser.parseKeyword(&name))
      return failure();
    fields.name = StringAttr::get(parser.getContext(), name);
  }
  if ((syntax.hasAxes && parseAxisLists(parser, fields)) ||
      (syntax.hasShared && parseShared(parser, fields)) ||
      (syntax.hasOperands && parseForms(parser, fields.operands)) ||
      (syntax.hasOperand && parseOne(parser, fields.operands)) ||
      (syntax.hasArrow() && parser.parseArrow()) ||
      (syntax.hasResults && parseForms(parser, fields.results)) ||
      (syntax.hasResult && parseOne(parser, fields.results)))
    return failure();
  std::string cause;
  if (syntax.hasCause && succeeded(parser.parseOptionalString(&cause)))
    fields.name = StringAttr::get(parser.getContext(), cause);
  if (syntax.hasSource &&
      (parser.parseKeyword("from") || parser.parseKeyword("op") ||
       parseNumber(parser, fields.loop) || parseValue(parser, fields.source)))
    return failure();
  if (!syntax.hasBody)
    return success();
  FailureOr<PlanAttr> body = parsePlan(parser, depth + 1);
  if (failed(body))
    return failure();
  fields.body = *body;
  return success();
}

/// The step whose kind is `word`.
static FailureOr<StepAttr> parseStep(AsmParser &parser, StringRef word,
                                     SMLoc loc, unsigned depth) {
  StepFields fields;
  auto kind = symbolizeStepKind(word);
  if (!kind) {
    parser.emitError(loc, "expected a step such as 'make' or 'move', got '")
        << word << "'";
    return failure();
  }
  fields.kind = *kind;
  if (parseValue(parser, fields.value) || parseRest(parser, fields, depth))
    return failure();
  return StepAttr::get(parser.getContext(), fields.kind, fields.value,
                       fields.axes, fields.operands, fields.results,
                       fields.name, fields.loop, fields.source, fields.body);
}

void StepAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printStep(printer, *this, /*depth=*/0);
  printer << '>';
}

Attribute StepAttr::parse(AsmParser &parser, Type) {
  StringRef word;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() || parser.parseKeyword(&word))
    return {};
  FailureOr<StepAttr> step = parseStep(parser, word, loc, /*depth=*/0);
  return failed(step) || parser.parseGreater() ? StepAttr() : *step;
}

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

static void printLine(AsmPrinter &printer, unsigned depth) {
  printer.getStream() << '\n' << std::string(2 * depth + 2, ' ');
}

static void printPlan(AsmPrinter &printer, PlanAttr plan, unsigned depth) {
  if (plan.getGathersOnce())
    printer << "gather_once ";
  printForms(printer, plan.getArguments());
  printer << " {";
  for (StepAttr step : plan.getSteps()) {
    printLine(printer, depth + 1);
    printStep(printer, step, depth);
  }
  printLine(printer, depth);
  printer << "} ";
  printForms(printer, plan.getEnds());
}

/// Loops in so many loops are read, and no more: the parser recurses.
static constexpr unsigned mostDepth = 64;

static FailureOr<PlanAttr> parsePlan(AsmParser &parser, unsigned depth) {
  llvm::SmallVector<FormAttr> arguments, ends;
  llvm::SmallVector<StepAttr> steps;
  SMLoc start = parser.getCurrentLocation();
  if (depth > mostDepth) {
    parser.emitError(start, "expected at most ")
        << mostDepth << " nested loops";
    return failure();
  }
  bool gathersOnce = succeeded(parser.parseOptionalKeyword("gather_once"));
  if (parseForms(parser, arguments) || parser.parseLBrace())
    return failure();
  while (failed(parser.parseOptionalRBrace())) {
    StringRef word;
    SMLoc loc = parser.getCurrentLocation();
    if (parser.parseKeyword(&word))
      return failure();
    FailureOr<StepAttr> step = parseStep(parser, word, loc, depth);
    if (failed(step))
      return failure();
    steps.push_back(*step);
  }
  if (parseForms(parser, ends))
    return failure();
  auto plan = PlanAttr::getChecked(
      [&] { return parser.emitError(start); }, parser.getContext(),
      ArrayRef<FormAttr>(arguments), ArrayRef<StepAttr>(steps),
      ArrayRef<FormAttr>(ends), gathersOnce);
  if (!plan)
    return failure();
  return plan;
}

void PlanAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printPlan(printer, *this, /*depth=*/0);
  printer << '>';
}

Attribute PlanAttr::parse(AsmParser &parser, Type) {
  if (parser.parseLess())
    return {};
  FailureOr<PlanAttr> plan = parsePlan(parser, /*depth=*/0);
  return failed(plan) || parser.parseGreater() ? PlanAttr() : *plan;
}

/// Whether the lists of a step are as long as its kind wants them, apart from
/// those whose length depends on the op.
static bool isComplete(StepAttr step) {
  const StepSyntax syntax(step.getKind());
  auto hasNone = [](const auto &list) { return list.empty(); };
  return (syntax.hasOperands ||
          step.getOperands().size() == syntax.hasOperand) &&
         (syntax.hasResults || step.getResults().size() == syntax.hasResult) &&
         (syntax.hasAxes || hasNone(step.getAxes()) ||
          (syntax.hasShared && step.getAxes().size() == 1)) &&
         (step.getName() || !syntax.hasOpName) &&
         isa_and_nonnull<PlanAttr>(step.getBody()) == syntax.hasBody;
}

LogicalResult
PlanAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                 ArrayRef<FormAttr>, ArrayRef<StepAttr> steps,
                 ArrayRef<FormAttr>, bool) {
  for (auto [number, step] : llvm::enumerate(steps)) {
    if (!isComplete(step))
      return emitError() << "step " << number << " ('"
                         << stringifyStepKind(step.getKind())
                         << "') lacks a form, or has one too many";
    bool namesArgument = step.getValue().isArgument();
    bool isOfOp = StepSyntax(step.getKind()).hasOpName;
    if ((isOfOp && namesArgument) ||
        (step.getKind() == StepKind::Enter && !namesArgument))
      return emitError() << "step " << number << " ('"
                         << stringifyStepKind(step.getKind()) << "') must name "
                         << (isOfOp ? "an op" : "an argument");
  }
  return success();
}

} // namespace meshc::spmd
