//===- Parser.cpp - modules, functions and variables of PTX ---------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/gpu/ptx/Parser.h"

#include <algorithm>
#include <set>

namespace meshc::ptx {

unsigned getTypeBytes(const std::string &type) {
  static const std::map<std::string, unsigned> bytes = {
      {"b8", 1},  {"s8", 1},  {"u8", 1},    {"b16", 2},    {"s16", 2},
      {"u16", 2}, {"f16", 2}, {"bf16", 2},  {"b32", 4},    {"s32", 4},
      {"u32", 4}, {"f32", 4}, {"f16x2", 4}, {"bf16x2", 4}, {"b64", 8},
      {"s64", 8}, {"u64", 8}, {"f64", 8},   {"pred", 1},   {"b128", 16}};
  auto found = bytes.find(type);
  return found == bytes.end() ? 0 : found->second;
}

ModuleText parseModule(const std::string &text) { return Parser(text).parse(); }

ModuleText Parser::parse() {
  lexer.expect(".version");
  module.version = lexer.take().text;
  lexer.expect(".target");
  module.target = lexer.take().text;
  while (lexer.takeIf(",")) // as in "sm_90, debug"
    lexer.take();
  lexer.expect(".address_size");
  if (lexer.take().text != "64")
    lexer.fail("addresses of 64 bits are expected");
  while (!lexer.isAtEnd())
    parseDeclaration();
  return std::move(module);
}

/// A variable or a function of the module.
void Parser::parseDeclaration() {
  bool isExternal = false;
  while (lexer.peek().text == ".visible" || lexer.peek().text == ".weak" ||
         lexer.peek().text == ".extern" || lexer.peek().text == ".common")
    isExternal |= lexer.take().text == ".extern";
  std::string_view directive = lexer.peek().text;
  if (directive == ".entry" || directive == ".func") {
    parseFunction();
  } else if (directive == ".global" || directive == ".const" ||
             directive == ".shared") {
    module.variables.push_back(parseVariable(isExternal));
    lexer.expect(";");
  } else if (directive == ".file" || directive == ".loc") {
    skipLine();
  } else {
    lexer.fail("unknown directive '" + std::string(directive) + "'");
  }
}

/// A directive without a semicolon, to the end of its line.
void Parser::skipLine() {
  int line = lexer.peek().line;
  while (!lexer.isAtEnd() && lexer.peek().line == line)
    lexer.take();
}

uint64_t Parser::parseNumber() {
  bool isNegative = lexer.takeIf("-");
  Token token = lexer.take();
  std::string text(token.text);
  try {
    size_t end = 0;
    uint64_t bits = 0;
    if (text.size() > 2 && text[0] == '0' &&
        (text[1] == 'f' || text[1] == 'F' || text[1] == 'd' ||
         text[1] == 'D')) {
      bits = std::stoull(text.substr(2), &end, 16);
      end += 2;
      if (isNegative)
        lexer.fail("a negative hexadecimal float");
    } else {
      bits = std::stoull(text, &end, 0);
    }
    if (end == text.size() || (end + 1 == text.size() && text[end] == 'U'))
      return isNegative ? -bits : bits;
  } catch (const std::logic_error &) {
    // Reported below.
  }
  lexer.fail("expected a number, found '" + text + "'");
}

/// `.space .align N .type name[size] = {…}`, up to the semicolon.
Variable Parser::parseVariable(bool isExternal) {
  Variable variable;
  variable.line = lexer.peek().line;
  variable.isExternal = isExternal;
  variable.space = lexer.take().text.substr(1);
  while (lexer.peek().text.substr(0, 1) == ".") {
    std::string word(lexer.take().text.substr(1));
    if (word == "align") {
      variable.alignment = parseNumber();
    } else if (word == "ptr") {
      // `.param .u64 .ptr .global .align 4 name`: about what it points to.
      while (lexer.peek().text.substr(0, 1) == ".")
        if (lexer.take().text == ".align")
          parseNumber();
      break;
    } else if (unsigned bytes = getTypeBytes(word)) {
      variable.bytes = bytes;
      variable.alignment = std::max<uint64_t>(variable.alignment, bytes);
    } else {
      lexer.fail("unknown directive '." + word + "' of a variable");
    }
  }
  variable.elementBytes = variable.bytes;
  variable.name = declareName(std::string(lexer.take().text));
  while (lexer.takeIf("[")) {
    if (lexer.takeIf("]")) {
      variable.bytes = 0;
      continue;
    }
    variable.bytes *= parseNumber();
    lexer.expect("]");
  }
  if (lexer.takeIf("="))
    parseInitial(variable);
  return variable;
}

/// A number, or a list of numbers in braces.
void Parser::parseInitial(Variable &variable) {
  auto add = [&] {
    uint64_t bits = parseNumber();
    for (uint64_t byte = 0; byte < variable.elementBytes; ++byte)
      variable.initial.push_back(static_cast<uint8_t>(bits >> (8 * byte)));
  };
  if (!lexer.takeIf("{")) {
    add();
  } else if (!lexer.takeIf("}")) {
    do
      add();
    while (lexer.takeIf(","));
    lexer.expect("}");
  }
  if (variable.bytes == 0)
    variable.bytes = variable.initial.size();
  if (variable.initial.size() > variable.bytes)
    lexer.fail("too many values for '" + variable.name + "'");
  variable.initial.resize(variable.bytes);
}

std::vector<Variable> Parser::parseParameters() {
  std::vector<Variable> parameters;
  lexer.expect("(");
  if (lexer.takeIf(")"))
    return parameters;
  do
    parameters.push_back(parseVariable(false));
  while (lexer.takeIf(","));
  lexer.expect(")");
  return parameters;
}

/// `.entry name(parameters) directives { … }`, `.func (result) name(…) { … }`.
void Parser::parseFunction() {
  FunctionText made;
  function = &made;
  scopes.assign(1, {});
  made.line = lexer.peek().line;
  made.isEntry = lexer.take().text == ".entry";
  if (lexer.peek().text == "(")
    made.results = parseParameters();
  made.name = lexer.take().text;
  if (lexer.peek().text == "(")
    made.parameters = parseParameters();
  parseFunctionDirectives();
  if (lexer.takeIf(";"))
    made.isDeclared = true;
  else
    parseBlock();
  function = nullptr;
  // A definition replaces a declaration before it.
  auto &all = module.functions;
  all.erase(std::remove_if(all.begin(), all.end(),
                           [&](const FunctionText &other) {
                             return other.name == made.name && other.isDeclared;
                           }),
            all.end());
  for (const FunctionText &other : all)
    if (other.name == made.name && !made.isDeclared)
      lexer.fail("function '" + made.name + "' is defined twice");
  all.push_back(std::move(made));
}

void Parser::parseFunctionDirectives() {
  static const std::set<std::string_view> withNumber = {
      ".minnctapersm", ".maxnreg", ".maxclusterrank"};
  while (lexer.peek().text.substr(0, 1) == ".") {
    std::string_view directive = lexer.take().text;
    if (directive == ".reqntid" || directive == ".maxntid") {
      unsigned threads = 1;
      do
        threads *= static_cast<unsigned>(parseNumber());
      while (lexer.takeIf(","));
      (directive == ".reqntid" ? function->threads : function->mostThreads) =
          threads;
    } else if (withNumber.count(directive)) {
      parseNumber();
    } else if (directive != ".noreturn") {
      lexer.fail("unknown directive '" + std::string(directive) +
                 "' of a function");
    }
  }
}

} // namespace meshc::ptx
