//===- ParseDeclaration.cpp - top-level declarations ----------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "lib/Frontend/Syntax/Lexer.h"
#include "lib/Frontend/Syntax/Parser.h"
#include "lib/Frontend/Syntax/Spelling.h"

#include <algorithm>

using namespace meshc::syntax;

Program Parser::parseProgram() {
  Program program;
  while (!at(TokenKind::End) && !diagnostics.isFull()) {
    if (accept(TokenKind::Semicolon))
      continue;
    outcome = Outcome::Read;
    std::string_view word = textOf(peek());
    std::optional<Declaration> declaration = parseDeclaration();
    if (declaration)
      program.declarations.push_back(std::move(*declaration));
    else if (outcome == Outcome::Read)
      outcome = Outcome::Lost;
    if (outcome != Outcome::Read)
      markIncomplete(word, program);
    isBehindTrain = declaration && std::holds_alternative<TrainDeclaration>(
                                       program.declarations.back());
    if (outcome == Outcome::Lost || !finishDeclaration())
      skipTo(&Parser::atDeclaration);
  }
  return program;
}

/// Notes that names are missing since a declaration could not be read, so that
/// nobody is told of each use of them.
void Parser::markIncomplete(std::string_view word, Program &program) const {
  Incomplete &lost = program.incomplete;
  bool isDims = word == "dim" || word == "let" || word == "const";
  bool isMesh = word == "mesh", isFunction = word == "fn";
  bool isImport = word == "import";
  bool isOther = word == "layout" || word == "model" || word == "train" ||
                 word == "generate";
  bool isUnknown = !isDims && !isMesh && !isFunction && !isImport && !isOther;
  lost.dims |= isDims || isUnknown;
  lost.axes |= isMesh || isUnknown;
  lost.functions |= isFunction || isUnknown;
  lost.imports |= isImport || isUnknown;
}

/// The declaration that begins here; what was read of a list is kept when an
/// item of it is wrong.
std::optional<Declaration> Parser::parseDeclaration() {
  Token word = peek();
  auto finish = [&](bool ok, Declaration declaration) {
    if (!ok)
      outcome = Outcome::Lost;
    return std::optional<Declaration>(std::move(declaration));
  };
  if (atWord("fn") || atWord("model")) {
    next();
    return parseFunctionOrModel(textOf(word) == "model");
  }
  if (atWord("train"))
    return parseTrain();
  if (atWord("generate"))
    return parseGenerate();
  if (atWord("import")) {
    next();
    ImportDeclaration import{word.span, {}};
    bool ok = parseImports(import.imports);
    return finish(ok, std::move(import));
  }
  if (atWord("dim")) {
    next();
    DimDeclaration dims;
    bool ok = parseDefinitions("a dim's name", dims.dims);
    return finish(ok, std::move(dims));
  }
  if (atWord("let") || atWord("const")) {
    next();
    ConstantDeclaration constants;
    bool ok = parseDefinitions("a constant's name", constants.constants);
    return finish(ok, std::move(constants));
  }
  if (atWord("mesh")) {
    next();
    MeshDeclaration mesh{word.span, {}};
    bool ok = parseDefinitions("a mesh axis' name", mesh.axes);
    return finish(ok, std::move(mesh));
  }
  if (atWord("layout")) {
    next();
    LayoutDeclaration layout{word.span, {}};
    bool ok = parseLayoutRules(layout.rules, /*onCommandLine=*/false);
    return finish(ok, std::move(layout));
  }
  rejectDeclaration(word);
  return std::nullopt;
}

/// The end of a declaration. Behind a `train`, clauses may follow. [L1.6]
bool Parser::finishDeclaration() {
  if (!isBehindTrain || endsStatement())
    return finishStatement("a declaration");
  unexpected("a clause of 'train' (" + std::string(trainClauses) +
             "), a new line or ';'");
  return false;
}

/// Reports a word that begins no declaration, and skips it.
void Parser::rejectDeclaration(const Token &word) {
  std::string hint;
  if (word.kind == TokenKind::Name)
    hint = didYouMean(textOf(word),
                      {"import", "dim", "let", "const", "mesh", "layout", "fn",
                       "model", "train", "generate"});
  if (atWord("def") || atWord("function") || atWord("func"))
    hint = "; a function is declared by 'fn'";
  std::string got =
      word.kind == TokenKind::End ? describe(word) : quote(textOf(word));
  diagnostics.error(word.span,
                    "expected a declaration (import, dim, let, mesh, "
                    "layout, fn, model, train or generate)" +
                        std::string(isBehindTrain && hint.empty()
                                        ? " or a clause of 'train' (" +
                                              std::string(trainClauses) + ")"
                                        : "") +
                        ", got " + got + hint);
  // This token may itself look like a declaration's start to the recovery.
  next();
}

/// nn, "layers/mine.mesh" as mine, …  [L10.1]
bool Parser::parseImports(std::vector<Import> &list) {
  do {
    std::optional<Import> import = parseImport();
    if (!import)
      return false;
    list.push_back(*import);
  } while (accept(TokenKind::Comma));
  return true;
}

/// The name by which a file is known unless another is given: the path without
/// folders and ending.
static Name findStem(const Name &path) {
  size_t begin = path.text.rfind('/') + 1; // 0 if there is none
  size_t end = std::min(path.text.find('.', begin), path.text.size());
  Span span = path.span;
  return {path.text.substr(begin, end - begin),
          {span.source, span.begin + static_cast<uint32_t>(begin),
           span.begin + static_cast<uint32_t>(end)}};
}

std::optional<Import> Parser::parseImport() {
  Import import;
  import.isPath = at(TokenKind::String);
  if (import.isPath) {
    Span quoted = next().span;
    Span inside = {quoted.source, quoted.begin + 1, quoted.end - 1};
    import.file = {sources.text(inside), inside};
    import.name = findStem(import.file);
  } else {
    std::optional<Name> name =
        expectName("the name of a module, or the path of a file in quotation "
                   "marks");
    if (!name)
      return std::nullopt;
    import.file = import.name = *name;
  }
  if (atWord("as") && !peek().startsLine) {
    next();
    std::optional<Name> name = expectName("a name for the module");
    if (!name)
      return std::nullopt;
    import.name = *name;
  } else if (import.isPath && !isName(import.name.text)) {
    diagnostics.error(import.file.span,
                      quote(import.name.text) +
                          " cannot be a module's name; give it one behind the "
                          "path, as in 'as layers'");
    return std::nullopt;
  }
  return import;
}

/// name = expression, …  [L2.1]
bool Parser::parseDefinitions(std::string_view what,
                              std::vector<Definition> &list) {
  do {
    std::optional<Name> name = expectName(what);
    if (!name)
      return false;
    bool isColon = at(TokenKind::Colon);
    std::string wanted = "'=' after " + quote(name->text);
    if (isColon &&
        (peek(1).kind == TokenKind::Integer || peek(1).kind == TokenKind::Name))
      wanted +=
          " (as in " +
          quote(std::string(name->text) + "=" + std::string(textOf(peek(1)))) +
          ")";
    if (!expect(TokenKind::Assign, wanted))
      return false;
    ExprPtr value = parseExpression();
    if (!value)
      return false;
    list.push_back({*name, std::move(value)});
  } while (accept(TokenKind::Comma));
  return true;
}

bool Parser::parseLayoutRules(std::vector<LayoutRule> &list,
                              bool onCommandLine) {
  do {
    std::optional<LayoutRule> rule = parseLayoutRule(onCommandLine);
    if (!rule)
      return false;
    list.push_back(std::move(*rule));
  } while (accept(TokenKind::Comma));
  return true;
}

/// [scope.]dim -> axis | (axis, axis), or with ->?, ~> or ~>?  [L3.2]
std::optional<LayoutRule> Parser::parseLayoutRule(bool onCommandLine) {
  std::optional<Name> name = expectName("a dim's name or a scope");
  if (!name)
    return std::nullopt;
  LayoutRule rule;
  rule.dim = *name;
  while (accept(TokenKind::Dot)) {
    std::optional<Name> dim = expectName("a dim's name after the scope");
    if (!dim)
      return std::nullopt;
    // The last part is the dim, those before it are the scope.
    if (!rule.scope)
      rule.scope.emplace();
    else
      rule.scope->text += '.';
    rule.scope->text += rule.dim.text;
    rule.scope->span = Span::join(name->span, rule.dim.span);
    rule.dim = *dim;
  }
  if (!parseRuleAxes(rule, onCommandLine))
    return std::nullopt;
  rule.span = Span::join(name->span, tokens[position - 1].span);
  return rule;
}

bool Parser::parseRuleAxes(LayoutRule &rule, bool onCommandLine) {
  auto takes = [&](TokenKind arrow, TokenKind colon) {
    return accept(arrow) || (onCommandLine && accept(colon));
  };
  if (takes(TokenKind::OptionalArrow, TokenKind::OptionalColon)) {
    rule.isOptional = true;
  } else if (takes(TokenKind::WeakArrow, TokenKind::WeakColon)) {
    rule.isWeak = true;
  } else if (takes(TokenKind::WeakOptionalArrow,
                   TokenKind::WeakOptionalColon)) {
    rule.isOptional = rule.isWeak = true;
  } else if (!takes(TokenKind::Arrow, TokenKind::Colon)) {
    unexpected(onCommandLine
                   ? "':' or '->' and a mesh axis after " + quote(rule.dim.text)
                   : "'->' and a mesh axis after " + quote(rule.dim.text));
    return false;
  }
  if (at(TokenKind::LeftParen)) {
    if (peek(1).kind != TokenKind::RightParen)
      return parseNames(TokenKind::LeftParen, TokenKind::RightParen, rule.axes);
    position += 2; // dim -> (): whole
    return true;
  }
  do {
    std::optional<Name> axis = expectName("a mesh axis");
    if (!axis)
      return false;
    rule.axes.push_back(*axis);
  } while (onCommandLine && accept(TokenKind::Plus));
  return true;
}

/// After an error in a header: skips to the body, past its `{`, so that errors
/// in the body are found too; false if there is no body.
bool Parser::skipToBody() {
  while (!at(TokenKind::End) && !at(TokenKind::LeftBrace) && !atDeclaration())
    next();
  return at(TokenKind::LeftBrace);
}

/// fn name(x, gain[model], dim d) { … }, model name(images[batch]: f32) { … }
/// [L4.1], [L6.1]
std::optional<Declaration> Parser::parseFunctionOrModel(bool isModel) {
  std::string owner = isModel ? "the model" : "the function";
  std::optional<Name> name = expectName(owner + "'s name");
  std::vector<TensorDeclaration> list;
  bool ok = name && parseTensorList(list);
  if (ok && !at(TokenKind::LeftBrace)) {
    unexpected("'{' to open the body of " + quote(name->text));
    ok = false;
  }
  if (!ok && !skipToBody())
    return std::nullopt;
  Body body = parseBody(owner);
  std::optional<GradientDeclaration> gradient;
  if (!isModel && atWord("gradient"))
    ok &= parseGradient(gradient.emplace());
  if (!ok) {
    outcome = Outcome::Recovered;
    return std::nullopt;
  }
  if (isModel)
    return ModelDeclaration{*name, std::move(list), std::move(body)};
  return FunctionDeclaration{*name, std::move(list), std::move(body),
                             std::move(gradient)};
}

/// gradient(g) { … } [L4.15]
bool Parser::parseGradient(GradientDeclaration &gradient) {
  gradient.span = next().span;
  bool ok = at(TokenKind::LeftParen)
                ? parseNames(TokenKind::LeftParen, TokenKind::RightParen,
                             gradient.results)
                : expect(TokenKind::LeftParen,
                         "'(' and names of the gradients of what the function "
                         "returns");
  if (ok && !at(TokenKind::LeftBrace)) {
    unexpected("'{' to open the body of the gradient");
    ok = false;
  }
  if (!ok && !skipToBody())
    return false;
  gradient.body = parseBody("the gradient");
  return ok;
}

bool Parser::parseTensorList(std::vector<TensorDeclaration> &list) {
  Span open = peek().span;
  if (!expect(TokenKind::LeftParen, "'(' and a list of tensors"))
    return false;
  while (!at(TokenKind::RightParen)) {
    std::optional<TensorDeclaration> tensor = parseTensor("a tensor's name");
    if (!tensor || !parseDefault(*tensor, list))
      return false;
    list.push_back(std::move(*tensor));
    if (!accept(TokenKind::Comma))
      break;
  }
  return expectClose(TokenKind::RightParen, "',' or ')'", open);
}

/// x = 1e-5, fn f = gelu: the default value of an argument, if there is one.
/// [L4.14]
bool Parser::parseDefault(TensorDeclaration &tensor,
                          const std::vector<TensorDeclaration> &before) {
  if (accept(TokenKind::Assign)) {
    tensor.defaultValue = parseExpression();
    if (tensor.defaultValue && tensor.kind == TensorDeclaration::Kind::Dim) {
      diagnostics.error(tensor.defaultValue->span,
                        "argument " + quote(tensor.name.text) +
                            " is a dim, which has no default; each call names "
                            "one");
      tensor.defaultValue = nullptr;
    }
    return tensor.defaultValue != nullptr;
  }
  if (before.empty() || !before.back().defaultValue)
    return true;
  diagnostics
      .error(tensor.name.span, "argument " + quote(tensor.name.text) +
                                   " needs a default value, because the one "
                                   "before it has one")
      .note(before.back().name.span, "declared here");
  return true;
}

/// x | gain[model] | labels[batch]: i32 | dim d | fn f
std::optional<TensorDeclaration> Parser::parseTensor(std::string_view what) {
  TensorDeclaration tensor;
  bool isDim = atWord("dim");
  if ((isDim || atWord("fn")) && peek(1).kind == TokenKind::Name) {
    next();
    tensor.kind = isDim ? TensorDeclaration::Kind::Dim
                        : TensorDeclaration::Kind::Function;
    tensor.name = *expectName("a name");
    return tensor;
  }
  std::optional<Name> name = expectName(what);
  if (!name)
    return std::nullopt;
  tensor.name = *name;
  if (at(TokenKind::LeftBracket)) {
    tensor.dims.emplace();
    if (!parseNames(TokenKind::LeftBracket, TokenKind::RightBracket,
                    *tensor.dims))
      return std::nullopt;
  }
  if (accept(TokenKind::Colon)) {
    tensor.type = expectName("a type (f32, bf16, f16, i32 or i1)");
    if (!tensor.type)
      return std::nullopt;
  }
  return tensor;
}

std::vector<Definition> Parser::parseCommandLineDefinitions() {
  std::vector<Definition> list;
  if (at(TokenKind::End))
    return list;
  if (parseDefinitions("a name", list) && !at(TokenKind::End))
    unexpected("',' or the end of the list");
  return list;
}

std::vector<LayoutRule> Parser::parseCommandLineLayout() {
  std::vector<LayoutRule> list;
  if (at(TokenKind::End))
    return list;
  if (parseLayoutRules(list, /*onCommandLine=*/true) && !at(TokenKind::End))
    unexpected("',' or the end of the layout");
  return list;
}

Program meshc::syntax::parseProgram(const SourceSet &sources, uint32_t source,
                                    Diagnostics &diagnostics) {
  return Parser(sources, source, diagnostics).parseProgram();
}

std::vector<Definition>
meshc::syntax::parseDefinitionList(const SourceSet &sources, uint32_t source,
                                   Diagnostics &diagnostics) {
  return Parser(sources, source, diagnostics).parseCommandLineDefinitions();
}

std::vector<LayoutRule>
meshc::syntax::parseLayoutList(const SourceSet &sources, uint32_t source,
                               Diagnostics &diagnostics) {
  return Parser(sources, source, diagnostics).parseCommandLineLayout();
}
