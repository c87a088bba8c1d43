//===- Syntax.h - the text of a PTX module ----------------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// PTX as written: variables, functions and instructions, with the line of
/// each. The parser follows NVIDIA's "PTX ISA", chapters "Syntax" and
/// "Directives". It knows the directives that LLVM writes, and rejects others.
///
/// Names that a block `{ … }` declares are unique afterwards: `tmp` of the
/// third block becomes `tmp#3`.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_TEST_GPU_PTX_SYNTAX_H
#define MESHC_TEST_GPU_PTX_SYNTAX_H

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace meshc::ptx {

/// What is wrong with PTX or with its execution. The message begins with
/// "PTX line N: " and names the instruction.
struct Fault : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Operand {
  enum class Kind {
    Register, ///< `%r1`, special registers too
    Constant, ///< `-4`, `0x10`, `0f3F800000`; bits
    Symbol,   ///< a variable, a function or a label
    Address,  ///< `[base+offset]`; `name` may be empty
    Vector,   ///< `{%r1, %r2}`
    Sink,     ///< `_`
    List      ///< `(a, b)` of a call
  };
  Kind kind = Kind::Sink;
  std::string name;
  uint64_t bits = 0;      ///< of a constant, or the offset of an address
  bool isNegated = false; ///< `!%p1`
  std::vector<Operand> parts;
  std::string second; ///< `%p2` of `%r1|%p2`
};

struct Instruction {
  int line = 0;
  std::string opcode; ///< with all modifiers, as "ld.global.nc.v4.b32"
  std::string guard;  ///< `%p1` of `@%p1`; empty: always executed
  bool isGuardNegated = false;
  std::vector<Operand> operands;
};

struct Variable {
  int line = 0;
  std::string space; ///< "param", "shared", "local", "global" or "const"
  std::string name;
  uint64_t alignment = 1, bytes = 0;
  uint64_t elementBytes = 1;
  bool isExternal = false;      ///< shared memory whose size the launch gives
  std::vector<uint8_t> initial; ///< of `bytes` bytes
};

struct FunctionText {
  int line = 0;
  std::string name;
  bool isEntry = false, isDeclared = false; ///< declared: without a body
  std::vector<Variable> results, parameters, variables;
  std::map<std::string, unsigned> registers; ///< bits; 1: a predicate
  std::vector<Instruction> code;
  std::map<std::string, size_t> labels; ///< indices into `code`
  /// `.branchtargets` and the labels that they list.
  std::map<std::string, std::vector<std::string>> tables;
  unsigned threads = 0;     ///< `.reqntid`, all dims together; 0: not said
  unsigned mostThreads = 0; ///< `.maxntid`; 0: not said
};

struct ModuleText {
  std::string version, target;
  std::vector<Variable> variables;
  std::vector<FunctionText> functions;
};

/// Bytes of a fundamental type ("f32", "b8"), 0 if there is no such type; a
/// predicate has 1.
unsigned getTypeBytes(const std::string &type);

/// Parses a module. Throws Fault.
ModuleText parseModule(const std::string &text);

} // namespace meshc::ptx

#endif // MESHC_TEST_GPU_PTX_SYNTAX_H
