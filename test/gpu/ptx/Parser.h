//===- Parser.h - text to the syntax of PTX ---------------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_TEST_GPU_PTX_PARSER_H
#define MESHC_TEST_GPU_PTX_PARSER_H

#include "test/gpu/ptx/Lexer.h"

namespace meshc::ptx {

/// Recursive descent over the tokens of a module. Parser.cpp has what a module
/// consists of, ParseFunction.cpp what a function's body consists of.
class Parser {
public:
  /// `text` outlives the parser.
  explicit Parser(std::string_view text) : lexer(text) {}
  ModuleText parse();

private:
  void parseDeclaration();
  void skipLine();
  uint64_t parseNumber();
  Variable parseVariable(bool isExternal);
  void parseInitial(Variable &variable);
  std::vector<Variable> parseParameters();
  void parseFunction();
  void parseFunctionDirectives();

  void parseBlock();
  void parseStatement();
  void parseDirective();
  void parseRegisters();
  void parseLabel();
  void parseInstruction();
  Operand parseOperand();
  Operand parseAddress();
  Operand parseList(Operand::Kind kind, const char *end);
  Operand parseName();

  /// Makes a name of the innermost block unique.
  std::string declareName(const std::string &name);
  /// The unique name of what the innermost block of that name declared.
  std::string resolveName(const std::string &name) const;
  void declareRegister(const std::string &name, unsigned bits);

  Lexer lexer;
  ModuleText module;
  FunctionText *function = nullptr; ///< whose body is parsed
  /// For each open block, what its names became. The first one keeps names.
  std::vector<std::map<std::string, std::string>> scopes;
  bool isBodyOpen = false;
  int blocks = 0; ///< inner ones so far
};

} // namespace meshc::ptx

#endif // MESHC_TEST_GPU_PTX_PARSER_H
