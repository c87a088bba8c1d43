//===- ParseFunction.cpp - bodies of PTX functions ------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/gpu/ptx/Parser.h"

#include <cctype>

namespace meshc::ptx {

static bool isNameStart(const std::string &name) {
  return !name.empty() && (std::isalpha(static_cast<unsigned char>(name[0])) ||
                           name[0] == '_' || name[0] == '$' || name[0] == '%');
}

std::string Parser::declareName(const std::string &name) {
  if (!function || scopes.size() <= 1)
    return name;
  return scopes.back()[name] = name + "#" + std::to_string(blocks);
}

std::string Parser::resolveName(const std::string &name) const {
  for (auto scope = scopes.rbegin(); scope != scopes.rend(); ++scope)
    if (auto found = scope->find(name); found != scope->end())
      return found->second;
  return name;
}

void Parser::declareRegister(const std::string &name, unsigned bits) {
  if (!function->registers.emplace(declareName(name), bits).second)
    lexer.fail("register '" + name + "' is declared twice");
}

/// `{ statements }`; the outermost one is a function's body.
void Parser::parseBlock() {
  lexer.expect("{");
  bool isInner = isBodyOpen;
  isBodyOpen = true;
  if (isInner) {
    scopes.emplace_back();
    ++blocks;
  }
  while (!lexer.takeIf("}")) {
    if (lexer.isAtEnd())
      lexer.fail("the text ends in a function");
    parseStatement();
  }
  if (isInner)
    scopes.pop_back();
  else
    isBodyOpen = false;
}

void Parser::parseStatement() {
  std::string_view text = lexer.peek().text;
  if (text == "{")
    parseBlock();
  else if (text == ";")
    lexer.take();
  else if (lexer.peekSecond().text == ":")
    parseLabel();
  else if (text[0] == '.')
    parseDirective();
  else
    parseInstruction();
}

/// `label:`, or `label: .branchtargets a, b;`.
void Parser::parseLabel() {
  std::string name = declareName(std::string(lexer.take().text));
  lexer.expect(":");
  if (lexer.takeIf(".branchtargets")) {
    do
      function->tables[name].push_back(
          resolveName(std::string(lexer.take().text)));
    while (lexer.takeIf(","));
    lexer.expect(";");
    return;
  }
  if (!function->labels.emplace(name, function->code.size()).second)
    lexer.fail("label '" + name + "' is defined twice");
}

void Parser::parseDirective() {
  std::string_view text = lexer.peek().text;
  if (text == ".reg") {
    parseRegisters();
  } else if (text == ".shared" || text == ".local" || text == ".param") {
    function->variables.push_back(parseVariable(false));
    lexer.expect(";");
  } else if (text == ".loc" || text == ".file") {
    skipLine();
  } else if (text == ".pragma") { // says how fast code is to be
    while (!lexer.takeIf(";"))
      lexer.take();
  } else {
    lexer.fail("unknown directive '" + std::string(text) + "'");
  }
}

/// `.reg .b32 %r<8>, %tmp;`
void Parser::parseRegisters() {
  lexer.expect(".reg");
  std::string type(lexer.take().text.substr(1));
  unsigned bytes = getTypeBytes(type);
  if (bytes == 0 || bytes > 8)
    lexer.fail("registers of unknown type '." + type + "'");
  unsigned bits = type == "pred" ? 1 : 8 * bytes;
  do {
    std::string name(lexer.take().text);
    if (!lexer.takeIf("<")) {
      declareRegister(name, bits);
      continue;
    }
    for (uint64_t i = 0, count = parseNumber(); i < count; ++i)
      declareRegister(name + std::to_string(i), bits);
    lexer.expect(">");
  } while (lexer.takeIf(","));
  lexer.expect(";");
}

void Parser::parseInstruction() {
  Instruction made;
  if (lexer.takeIf("@")) {
    made.isGuardNegated = lexer.takeIf("!");
    made.guard = resolveName(std::string(lexer.take().text));
  }
  made.line = lexer.peek().line;
  made.opcode = lexer.take().text;
  if (!std::isalpha(static_cast<unsigned char>(made.opcode[0])))
    lexer.fail("expected an instruction, found '" + made.opcode + "'");
  if (lexer.peek().text != ";")
    do
      made.operands.push_back(parseOperand());
    while (lexer.takeIf(","));
  lexer.expect(";");
  function->code.push_back(std::move(made));
}

Operand Parser::parseOperand() {
  std::string_view text = lexer.peek().text;
  if (text == "[")
    return parseAddress();
  if (text == "{")
    return parseList(Operand::Kind::Vector, "}");
  if (text == "(")
    return parseList(Operand::Kind::List, ")");
  if (text == "-" ||
      (!text.empty() && std::isdigit(static_cast<unsigned char>(text[0])))) {
    Operand constant;
    constant.kind = Operand::Kind::Constant;
    constant.bits = parseNumber();
    return constant;
  }
  return parseName();
}

/// `{a, b}` or `(a, b)`, maybe empty.
Operand Parser::parseList(Operand::Kind kind, const char *end) {
  lexer.take();
  Operand list;
  list.kind = kind;
  if (lexer.takeIf(end))
    return list;
  do
    list.parts.push_back(parseOperand());
  while (lexer.takeIf(","));
  lexer.expect(end);
  return list;
}

/// `[name]`, `[name+4]`, `[name+-4]`, `[16]`.
Operand Parser::parseAddress() {
  lexer.expect("[");
  Operand address;
  address.kind = Operand::Kind::Address;
  if (std::isdigit(static_cast<unsigned char>(lexer.peek().text[0]))) {
    address.bits = parseNumber();
  } else {
    address.name = resolveName(std::string(lexer.take().text));
    if (lexer.takeIf("+"))
      address.bits = parseNumber();
    else if (lexer.peek().text == "-")
      address.bits = parseNumber();
  }
  lexer.expect("]");
  return address;
}

/// `%r1`, `!%p1`, `%r1|%p1`, `_`, `variable`.
Operand Parser::parseName() {
  Operand operand;
  operand.isNegated = lexer.takeIf("!");
  std::string name(lexer.take().text);
  if (name == "_")
    return operand;
  if (!isNameStart(name))
    lexer.fail("expected an operand, found '" + name + "'");
  operand.name = resolveName(name);
  operand.kind = name[0] == '%' || function->registers.count(operand.name)
                     ? Operand::Kind::Register
                     : Operand::Kind::Symbol;
  if (lexer.takeIf("|"))
    operand.second = resolveName(std::string(lexer.take().text));
  return operand;
}

} // namespace meshc::ptx
