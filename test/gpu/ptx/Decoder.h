//===- Decoder.h - instructions to ops --------------------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_TEST_GPU_PTX_DECODER_H
#define MESHC_TEST_GPU_PTX_DECODER_H

#include "test/gpu/ptx/MemoryOps.h"

namespace meshc::ptx {

/// What an op reads and writes, and which ops may follow it.
struct Flow {
  std::vector<uint32_t> reads, writes; ///< slots
  std::vector<std::string> targets;    ///< labels
  bool fallsThrough = true, mayFallTwice = false;
  /// A copy may read undefined registers: LLVM packs vectors with an undefined
  /// element. Its results are defined if one of its operands is, or if it has a
  /// constant.
  bool isCopy = false, hasConstant = false;
};

/// Makes the ops of one function. Decoder.cpp has its frame and operands,
/// DecodeInstruction.cpp the kinds of instructions.
class Decoder {
public:
  Decoder(Module &owner, const FunctionText &source)
      : module(owner), text(source) {}
  std::unique_ptr<Function> decode();

private:
  using Words = std::vector<std::string>;

  // The frame.
  void placeVariables();
  void placeShared(const Variable &variable);
  void placeParameters();
  void collectConstants(const Operand &operand);
  uint32_t internConstant(uint64_t bits);
  void numberRegisters();
  uint64_t getAddress(const std::string &symbol) const;
  bool isVariable(const std::string &symbol) const;

  // Operands.
  uint32_t readSlot(const Operand &operand, unsigned bits, bool takesWider);
  uint32_t writeSlot(const Operand &operand, unsigned bits, bool takesWider);
  uint32_t findRegister(const std::string &name, unsigned bits,
                        bool takesWider);
  uint32_t invert(uint32_t slot);
  void setAddress(Op &op, const Operand &operand);
  uint64_t getFrameOffset(const Operand &operand, uint64_t bytes);
  const uint32_t *keepList(std::vector<uint32_t> list);

  // Instructions.
  void decodeInstruction(const Instruction &instruction);
  bool decodeControl(const Words &words);
  void decodeBranch();
  void decodeIndexedBranch();
  void decodeCall();
  bool decodeMove(const Words &words);
  void decodePack(unsigned bits);
  void decodeUnpack(unsigned bits);
  bool decodeAddressConversion(const Words &words);
  bool decodeMemory(const Words &words);
  void decodeAccess(const MemoryOpcode &opcode, bool isLoad);
  void decodeAtomic(const MemoryOpcode &opcode, bool isRed);
  bool decodeFence(const Words &words);
  bool decodeWarp();
  bool decodeTable();
  void expectOperands(size_t count) const;
  /// Appends an op for the current instruction.
  void add(Op op);
  void addEnd();
  void connect();
  [[noreturn]] void fail(const std::string &what) const;

  Module &module;
  const FunctionText &text;
  std::unique_ptr<Function> result;
  std::map<uint64_t, uint32_t> constants; ///< slots
  std::map<std::string, uint32_t> registers;
  const Instruction *now = nullptr;
  Flow flow; ///< of the op that is being made
  std::vector<Flow> flows;
  std::vector<size_t> begins;       ///< op of each instruction
  uint32_t temporary = 0, sink = 0; ///< slots
  uint32_t sinceControl = 0;
};

/// Fails if a register is read that no path before it writes.
void checkUndefinedReads(const Function &function,
                         const std::vector<Flow> &flows,
                         const std::map<std::string, uint32_t> &registers,
                         const std::map<std::string, const Op *> &labels);

} // namespace meshc::ptx

#endif // MESHC_TEST_GPU_PTX_DECODER_H
