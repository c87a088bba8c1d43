//===- DecodeInstruction.cpp - the kinds of instructions ------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/gpu/ptx/ControlOps.h"
#include "test/gpu/ptx/Decoder.h"
#include "test/gpu/ptx/WarpOps.h"

#include <algorithm>

namespace meshc::ptx {

static std::vector<std::string> split(const std::string &opcode) {
  std::vector<std::string> words;
  size_t begin = 0;
  while (begin <= opcode.size()) {
    size_t end = std::min(opcode.find('.', begin), opcode.size());
    words.push_back(opcode.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

void Decoder::decodeInstruction(const Instruction &instruction) {
  ++sinceControl;
  Words words = split(instruction.opcode);
  if (!instruction.guard.empty() && words[0] != "bra") {
    Op guard;
    guard.run = runGuard;
    guard.s[0] = findRegister(instruction.guard, 1, false);
    guard.immediate = !instruction.isGuardNegated;
    flow.reads = {guard.s[0]};
    flow.mayFallTwice = true;
    add(guard);
  }
  size_t first = result->code.size();
  if (!decodeControl(words) && !decodeMove(words) && !decodeMemory(words) &&
      !decodeFence(words) && !decodeWarp() && !decodeTable())
    fail("is an unknown opcode");
  if (!instruction.guard.empty() && words[0] != "bra" &&
      result->code.size() != first + 1)
    fail("has a guard and an operand '!…', which is not interpreted");
}

void Decoder::add(Op op) {
  op.source = now;
  result->code.push_back(op);
  flows.push_back(std::move(flow));
  flow = {};
}

void Decoder::expectOperands(size_t count) const {
  if (now->operands.size() != count)
    fail("has " + std::to_string(now->operands.size()) + " operands, not " +
         std::to_string(count));
}

//===----------------------------------------------------------------------===//
// Control
//===----------------------------------------------------------------------===//

bool Decoder::decodeControl(const Words &words) {
  static const std::map<std::string, Handler> ends = {
      {"ret", runReturn}, {"exit", runExit}, {"trap", runTrap}};
  auto end = ends.find(words[0]);
  bool isUniform = words.size() == 2 && words[1] == "uni";
  if (words.size() > 1 && !isUniform && words[0] != "brx")
    return false;
  if (words[0] == "bra") {
    decodeBranch();
  } else if (now->opcode == "brx.idx" || now->opcode == "brx.idx.uni") {
    decodeIndexedBranch();
  } else if (words[0] == "call") {
    decodeCall();
  } else if (end != ends.end()) {
    expectOperands(0);
    Op op;
    op.run = end->second;
    op.count = sinceControl;
    flow.fallsThrough = false;
    add(op);
  } else {
    return false;
  }
  sinceControl = 0;
  return true;
}

void Decoder::decodeBranch() {
  expectOperands(1);
  Op op;
  op.run = runBranch;
  op.count = sinceControl;
  if (!now->guard.empty()) {
    op.run = now->isGuardNegated ? runBranchUnless : runBranchIf;
    op.s[0] = findRegister(now->guard, 1, false);
    flow.reads = {op.s[0]};
  } else {
    flow.fallsThrough = false;
  }
  flow.targets = {now->operands[0].name};
  add(op);
}

void Decoder::decodeIndexedBranch() {
  expectOperands(2);
  auto table = text.tables.find(now->operands[1].name);
  if (table == text.tables.end())
    fail("has no '.branchtargets'");
  Op op;
  op.run = runIndexedBranch;
  op.count = sinceControl;
  op.s[0] = readSlot(now->operands[0], 32, false);
  op.immediate = static_cast<int64_t>(table->second.size());
  flow.targets = table->second;
  flow.fallsThrough = false;
  add(op);
}

/// `call (result), function, (arguments);`, each list of parameters.
void Decoder::decodeCall() {
  std::vector<Operand> lists[2]; // arguments, results
  std::string name;
  for (const Operand &operand : now->operands) {
    if (operand.kind == Operand::Kind::List)
      lists[name.empty()] = operand.parts;
    else
      name = operand.name;
  }
  auto copies = std::make_shared<CallCopies>();
  Op op;
  op.callee = &module.getFunction(name);
  const FunctionText &callee = *op.callee->text;
  auto connectLists = [&](const std::vector<Operand> &own,
                          const std::vector<Variable> &others,
                          std::vector<CallCopies::Range> &ranges, bool isIn) {
    if (own.size() != others.size())
      fail("passes another number of values than '" + name + "' has");
    for (size_t i = 0; i < own.size(); ++i) {
      auto found = result->parameterOffsets.find(own[i].name);
      if (found == result->parameterOffsets.end())
        fail("passes '" + own[i].name + "', which is no parameter");
      uint64_t other = op.callee->parameterOffsets.at(others[i].name);
      ranges.push_back({isIn ? found->second : other,
                        isIn ? other : found->second, others[i].bytes});
    }
  };
  connectLists(lists[0], callee.parameters, copies->arguments, true);
  connectLists(lists[1], callee.results, copies->results, false);
  op.run = runCall;
  op.count = sinceControl;
  op.immediate = reinterpret_cast<int64_t>(copies.get());
  result->kept.push_back(copies);
  result->localBytes = std::max(result->localBytes, op.callee->localBytes);
  if (op.callee->localBytes)
    fail("calls a function with local memory, which is not interpreted");
  add(op);
}

//===----------------------------------------------------------------------===//
// Moves
//===----------------------------------------------------------------------===//

bool Decoder::decodeMove(const Words &words) {
  if (words[0] == "cvta")
    return decodeAddressConversion(words);
  if (words[0] != "mov" || words.size() != 2 || !getTypeBytes(words[1]))
    return false;
  unsigned bits = words[1] == "pred" ? 1 : 8 * getTypeBytes(words[1]);
  expectOperands(2);
  flow.isCopy = true;
  if (now->operands[0].kind == Operand::Kind::Vector) {
    decodeUnpack(bits);
  } else if (now->operands[1].kind == Operand::Kind::Vector) {
    decodePack(bits);
  } else {
    Op op;
    op.run = runMove;
    op.s[0] = readSlot(now->operands[1], bits, false);
    op.d = writeSlot(now->operands[0], bits, false);
    add(op);
  }
  return true;
}

void Decoder::decodePack(unsigned bits) {
  const std::vector<Operand> &parts = now->operands[1].parts;
  unsigned partBits = bits / static_cast<unsigned>(parts.size());
  std::vector<uint32_t> slots;
  for (const Operand &part : parts)
    slots.push_back(readSlot(part, partBits, false));
  Op op;
  op.run = runPack;
  op.count = static_cast<uint32_t>(parts.size());
  op.immediate = partBits;
  op.list = keepList(slots);
  op.d = writeSlot(now->operands[0], bits, false);
  add(op);
}

void Decoder::decodeUnpack(unsigned bits) {
  const std::vector<Operand> &parts = now->operands[0].parts;
  unsigned partBits = bits / static_cast<unsigned>(parts.size());
  std::vector<uint32_t> slots;
  for (const Operand &part : parts)
    slots.push_back(part.kind == Operand::Kind::Sink
                        ? 0
                        : writeSlot(part, partBits, false));
  Op op;
  op.run = runUnpack;
  op.count = static_cast<uint32_t>(parts.size());
  op.immediate = partBits;
  op.list = keepList(slots);
  op.s[0] = readSlot(now->operands[1], bits, false);
  add(op);
}

/// cvta.space.u64 and cvta.to.space.u64.
bool Decoder::decodeAddressConversion(const Words &words) {
  bool isFrom = words[1] == "to";
  if (words.size() != size_t(isFrom ? 4 : 3) || words.back() != "u64")
    return false;
  const std::string &space = words[isFrom ? 2 : 1];
  uint64_t window = 0;
  if (space == "shared")
    window = sharedWindow;
  else if (space == "local")
    window = localWindow;
  else if (space != "global" && space != "const")
    return false;
  expectOperands(2);
  Op op;
  op.run = isFrom && window ? runFromGeneric : runToGeneric;
  op.immediate = static_cast<int64_t>(window);
  op.s[0] = readSlot(now->operands[1], 64, false);
  op.d = writeSlot(now->operands[0], 64, false);
  add(op);
  return true;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

bool Decoder::decodeMemory(const Words &words) {
  Words others(words.begin() + 1, words.end());
  MemoryOpcode opcode;
  if (words[0] == "ld" || words[0] == "st") {
    bool isLoad = words[0] == "ld";
    opcode = isLoad ? findLoad(others) : findStore(others);
    if (!opcode.run)
      return false;
    decodeAccess(opcode, isLoad);
    return true;
  }
  if (words[0] != "atom" && words[0] != "red")
    return false;
  opcode = findAtomic(others, words[0] == "red");
  if (!opcode.run)
    return false;
  decodeAtomic(opcode, words[0] == "red");
  return true;
}

void Decoder::decodeAccess(const MemoryOpcode &opcode, bool isLoad) {
  expectOperands(2);
  const Operand &address = now->operands[isLoad ? 1 : 0],
                &value = now->operands[isLoad ? 0 : 1];
  Op op;
  op.run = opcode.run;
  if (opcode.isFrame)
    op.immediate =
        static_cast<int64_t>(getFrameOffset(address, opcode.registerBits / 8));
  else
    setAddress(op, address);
  std::vector<uint32_t> slots;
  std::vector<Operand> parts = {value};
  if (value.kind == Operand::Kind::Vector)
    parts = value.parts;
  if (parts.size() != opcode.lanes)
    fail("has a vector of " + std::to_string(parts.size()) + " elements");
  for (const Operand &part : parts)
    slots.push_back(isLoad ? writeSlot(part, opcode.registerBits, true)
                           : readSlot(part, opcode.registerBits, true));
  if (opcode.lanes > 1) {
    op.list = keepList(slots);
    op.count = opcode.lanes;
  }
  (isLoad ? op.d : op.s[1]) = slots[0];
  add(op);
}

void Decoder::decodeAtomic(const MemoryOpcode &opcode, bool isRed) {
  size_t first = isRed ? 0 : 1;
  expectOperands(first + 1 + opcode.operands);
  Op op;
  op.run = opcode.run;
  op.count = opcode.order;
  setAddress(op, now->operands[first]);
  for (unsigned i = 0; i < opcode.operands; ++i)
    op.s[1 + i] =
        readSlot(now->operands[first + 1 + i], opcode.registerBits, false);
  if (!isRed)
    op.d = writeSlot(now->operands[0], opcode.registerBits, false);
  add(op);
}

/// Fences for the threads of a block order nothing that barriers do not.
bool Decoder::decodeFence(const Words &words) {
  static const std::vector<std::string> known = {
      "fence.acq_rel.gpu", "fence.acq_rel.sys", "fence.sc.gpu", "fence.sc.sys",
      "membar.gl",         "membar.sys",        "fence.gpu",    "fence.sys"};
  if (words[0] != "fence" && words[0] != "membar")
    return false;
  if (std::find(known.begin(), known.end(), now->opcode) == known.end())
    return false;
  expectOperands(0);
  Op op;
  op.run = runFence;
  add(op);
  return true;
}

//===----------------------------------------------------------------------===//
// The others
//===----------------------------------------------------------------------===//

bool Decoder::decodeWarp() {
  Widths widths;
  Op op;
  op.run =
      findWarpHandler(now->opcode, now->operands.size(), widths, op.immediate);
  if (!op.run)
    return false;
  size_t first = widths[0] ? 1 : 0;
  expectOperands(widths.size() - 1 + first);
  for (size_t i = 1; i < widths.size(); ++i)
    op.s[i - 1] = readSlot(now->operands[i - 1 + first], widths[i], false);
  if (first) {
    op.d = writeSlot(now->operands[0], widths[0], false);
    if (!now->operands[0].second.empty()) {
      uint32_t second = findRegister(now->operands[0].second, 1, false);
      flow.writes.push_back(second);
      op.list = keepList({second});
    }
  }
  op.count = sinceControl;
  sinceControl = 0;
  add(op);
  return true;
}

bool Decoder::decodeTable() {
  auto found = getOpcodes().find(now->opcode);
  if (found == getOpcodes().end())
    return false;
  const Opcode &opcode = found->second;
  expectOperands(opcode.count);
  if (!now->operands[0].second.empty())
    fail("has a second result, which is not interpreted");
  Op op;
  op.run = opcode.run;
  for (size_t i = 1; i < opcode.count; ++i)
    op.s[i - 1] =
        readSlot(now->operands[i], opcode.widths[i], opcode.takesWider);
  op.d = writeSlot(now->operands[0], opcode.widths[0], opcode.takesWider);
  add(op);
  return true;
}

} // namespace meshc::ptx
