//===- Initializer.cpp - what parameters start as -------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "lib/Frontend/EmitParameter.h"

#include "dialects/Nd/Ops/ModelOps.h"
#include "dialects/Nd/Ops/PointwiseOps.h"
#include "dialects/Nd/Ops/SourceOps.h"
#include "lib/Frontend/Emitter.h"
#include "lib/Frontend/Syntax/Spelling.h"

#include <cmath>

using namespace mlir;
using namespace meshc;
using namespace meshc::frontend;
using syntax::Argument;
using syntax::quote;

namespace {

/// The value of an initializer: offset + scale · random, or offset alone.
/// [L6.6]
struct Start {
  std::optional<nd::Distribution> distribution;
  double scale = 0;
  double offset = 0;
};

/// Reads the initializer of one parameter, such as `normal(0.02)`.
class StartReader {
public:
  StartReader(Emitter &emitter, const syntax::ParamStatement &param,
              nd::TensorType type)
      : emitter(emitter), param(param), type(type) {}

  std::optional<Start> read();

private:
  std::optional<Start> readNumbers();
  std::optional<Start> readFans();
  std::optional<double> number(unsigned i);
  std::optional<double> fan(const std::vector<syntax::Name> &names);
  std::optional<Start> fail(syntax::Span at, std::string message) {
    emitter.noteOrigin(emitter.error(at, std::move(message)), at);
    return std::nullopt;
  }
  bool expectCount(unsigned least, unsigned most);

  Emitter &emitter;
  const syntax::ParamStatement &param;
  nd::TensorType type;
  syntax::Name name;
  syntax::Span span;
  ArrayRef<Argument> arguments;
};

struct Form {
  std::string_view name;
  std::string_view usage;
};
constexpr Form forms[] = {
    {"normal", "normal(deviation) or normal(mean, deviation)"},
    {"uniform", "uniform(low, high)"},
    {"zeros", "zeros"},
    {"ones", "ones"},
    {"constant", "constant(value)"},
    {"he", "he(dim, …) with the dims that are summed over"},
    {"lecun", "lecun(dim, …) with the dims that are summed over"},
    {"glorot", "glorot(dim -> dim) with the dims that come in and go out"},
};

std::string_view usageOf(std::string_view name) {
  for (const Form &form : forms)
    if (form.name == name)
      return form.usage;
  return {};
}

} // namespace

std::optional<Start> StartReader::read() {
  if (!param.initializer) {
    emitter.error(param.tensor.name.span,
                  "parameter " + quote(param.tensor.name.text) +
                      " has no initializer; give one, as in ~ normal(0.02) "
                      "or ~ zeros");
    return std::nullopt;
  }
  const syntax::Expr &expr = *param.initializer;
  span = expr.span;
  if (const syntax::Name *bare = expr.asName()) {
    name = *bare;
  } else if (const auto *call = std::get_if<syntax::CallExpr>(&expr.node);
             call && !call->module) {
    name = call->callee;
    arguments = call->arguments;
  } else {
    return fail(span, "expected an initializer, as in normal(0.02) or zeros");
  }
  if (usageOf(name.text).empty()) {
    std::vector<std::string_view> names;
    std::string list;
    for (const Form &form : forms) {
      names.push_back(form.name);
      list += (list.empty() ? "" : ", ") + std::string(form.name);
    }
    std::string hint = syntax::didYouMean(name.text, names);
    return fail(name.span, "unknown initializer " + quote(name.text) +
                               (hint.empty() ? "; there are " + list : hint));
  }
  bool usesFans =
      name.text == "he" || name.text == "lecun" || name.text == "glorot";
  return usesFans ? readFans() : readNumbers();
}

bool StartReader::expectCount(unsigned least, unsigned most) {
  if (arguments.size() >= least && arguments.size() <= most)
    return true;
  emitter.error(name.span,
                "initializer " + quote(name.text) + " is written " +
                    std::string(usageOf(name.text)) + ", got " +
                    std::to_string(arguments.size()) +
                    (arguments.size() == 1 ? " argument" : " arguments"));
  return false;
}

std::optional<double> StartReader::number(unsigned i) {
  const Argument &argument = arguments[i];
  Operand value;
  if (argument.kind == Argument::Kind::Value)
    value = emitter.emit(*argument.value);
  if (value.constant && std::isfinite(value.constant->real)) {
    // Whole numbers too: initial values are computed in floats.
    syntax::Constant given = syntax::Constant::number(value.constant->real);
    if (!emitter.makeNumber(given, type.getElementType(), argument.span))
      return std::nullopt;
    return given.real;
  }
  if (value.ok() || argument.kind != Argument::Kind::Value)
    fail(argument.span, "initializer " + quote(name.text) +
                            " takes numbers known at compile time; it is "
                            "written " +
                            std::string(usageOf(name.text)));
  return std::nullopt;
}

std::optional<Start> StartReader::readNumbers() {
  bool isNormal = name.text == "normal", isUniform = name.text == "uniform";
  unsigned least = isUniform ? 2 : isNormal || name.text == "constant" ? 1 : 0;
  unsigned most = isNormal ? 2 : least;
  if (!expectCount(least, most))
    return std::nullopt;
  SmallVector<double> numbers;
  for (unsigned i = 0; i < arguments.size(); ++i) {
    std::optional<double> value = number(i);
    if (!value)
      return std::nullopt;
    numbers.push_back(*value);
  }
  if (isNormal && numbers.back() < 0)
    return fail(arguments.back().span, "a deviation cannot be negative");
  if (isNormal)
    return Start{nd::Distribution::Normal, numbers.back(),
                 numbers.size() == 2 ? numbers[0] : 0};
  if (isUniform && numbers[0] > numbers[1]) {
    emitter.noteOrigins(
        emitter.error(span, "the low end of 'uniform' is above the high end"),
        {arguments[0].span, arguments[1].span});
    return std::nullopt;
  }
  if (isUniform)
    return Start{nd::Distribution::Uniform, numbers[1] - numbers[0],
                 numbers[0]};
  return Start{std::nullopt, 0,
               name.text == "ones"    ? 1
               : name.text == "zeros" ? 0
                                      : numbers[0]};
}

/// The product of the sizes of dims of the parameter.
std::optional<double> StartReader::fan(const std::vector<syntax::Name> &names) {
  double product = 1;
  for (const syntax::Name &each : names) {
    StringAttr dim = emitter.resolveDim(each);
    if (!dim)
      return std::nullopt;
    if (!type.hasDim(dim.getValue())) {
      emitter
          .error(each.span, "parameter " + quote(param.tensor.name.text) +
                                " has no dim " + quote(dim.getValue()))
          .note(param.tensor.name.span, "declared here");
      return std::nullopt;
    }
    product *= static_cast<double>(type.getSize(dim.getValue()));
  }
  return product;
}

/// [L6.6] he: normal, deviation sqrt(2 / fan in) (arXiv 1502.01852). lecun:
/// normal, sqrt(1 / fan in). glorot: uniform within ± sqrt(6 / (fan in + fan
/// out)) (Glorot and Bengio, AISTATS 2010).
std::optional<Start> StartReader::readFans() {
  bool isGlorot = name.text == "glorot";
  if (!expectCount(1, isGlorot ? 1 : ~0u))
    return std::nullopt;
  if (isGlorot) {
    if (arguments[0].kind != Argument::Kind::Rename)
      return fail(arguments[0].span,
                  "'glorot' is written " + std::string(usageOf(name.text)));
    std::optional<double> in = fan(arguments[0].from);
    std::optional<double> out = in ? fan(arguments[0].to) : std::nullopt;
    if (!out)
      return std::nullopt;
    double limit = std::sqrt(6 / (*in + *out));
    return Start{nd::Distribution::Uniform, 2 * limit, -limit};
  }
  std::vector<syntax::Name> names;
  for (const Argument &argument : arguments) {
    const syntax::Name *dim = argument.kind == Argument::Kind::Value
                                  ? argument.value->asName()
                                  : nullptr;
    if (!dim)
      return fail(argument.span, quote(name.text) + " is written " +
                                     std::string(usageOf(name.text)));
    names.push_back(*dim);
  }
  std::optional<double> in = fan(names);
  if (!in)
    return std::nullopt;
  return Start{nd::Distribution::Normal,
               std::sqrt((name.text == "he" ? 2 : 1) / *in), 0};
}

/// The region of the parameter: offset + scale · random in f32, then cast.
/// `declared` is its type without the dims of loops.
void ParameterEmitter::emitInitializer(const syntax::ParamStatement &param,
                                       nd::ParameterOp parameter,
                                       nd::TensorType declared) {
  std::optional<Start> start = StartReader(emitter, param, declared).read();
  if (!start)
    return;
  nd::TensorType type = parameter.getType();
  OpBuilder::InsertionGuard guard(emitter.builder);
  emitter.builder.createBlock(&parameter.getInitializer());
  syntax::Span at = param.initializer->span;
  nd::TensorType wide = type.withElementType(emitter.builder.getF32Type());
  auto apply = [&](StringRef op, Value left, double number) {
    Value right = emitter.materialize(syntax::Constant::number(number),
                                      emitter.builder.getF32Type(), at);
    return left && right ? emitter.create(op, at, {left, right}, wide)
                         : Value();
  };
  Value value;
  if (start->distribution) {
    NamedAttribute attributes[] = {
        emitter.builder.getNamedAttr(
            "distribution",
            nd::DistributionAttr::get(emitter.builder.getContext(),
                                      *start->distribution)),
        emitter.builder.getNamedAttr("stream", parameter.getNameAttr())};
    value = emitter.create(nd::RandomOp::getOperationName(), at, {}, wide,
                           attributes);
    value = apply(nd::MulOp::getOperationName(), value, start->scale);
    if (start->offset != 0)
      value = apply(nd::AddOp::getOperationName(), value, start->offset);
  } else if (Value scalar =
                 emitter.materialize(syntax::Constant::number(start->offset),
                                     emitter.builder.getF32Type(), at)) {
    value = emitter.create(
        nd::ConstantOp::getOperationName(), at, {}, wide,
        emitter.builder.getNamedAttr(
            "value", emitter.builder.getF32FloatAttr(start->offset)));
    scalar.getDefiningOp()->erase();
  }
  if (value && wide != type)
    value = emitter.create(nd::CastOp::getOperationName(), at, value, type);
  if (value)
    nd::YieldOp::create(emitter.builder, emitter.locate(at), value);
}
