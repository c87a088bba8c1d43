//===- Decoder.cpp - the frame of a function, and operands ----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/gpu/ptx/Decoder.h"
#include "test/gpu/ptx/ControlOps.h"

#include <algorithm>

namespace meshc::ptx {

static uint64_t align(uint64_t value, uint64_t to) {
  return (value + to - 1) / to * to;
}

void Decoder::fail(const std::string &what) const {
  throw Fault("PTX line " + std::to_string(now ? now->line : text.line) +
              ": '" + (now ? now->opcode : text.name) + "' " + what);
}

std::unique_ptr<Function> Decoder::decode() {
  result = std::make_unique<Function>();
  result->text = &text;
  placeVariables();
  internConstant(0);
  for (const Instruction &instruction : text.code)
    for (const Operand &operand : instruction.operands)
      collectConstants(operand);
  numberRegisters();
  placeParameters();
  for (const Instruction &instruction : text.code) {
    now = &instruction;
    begins.push_back(result->code.size());
    for (const auto &label : text.labels)
      if (label.second == begins.size() - 1)
        sinceControl = 0;
    decodeInstruction(instruction);
  }
  addEnd();
  connect();
  return std::move(result);
}

//===----------------------------------------------------------------------===//
// The frame
//===----------------------------------------------------------------------===//

void Decoder::placeShared(const Variable &variable) {
  if (result->addresses.count(variable.name))
    return;
  if (!text.isEntry)
    fail("uses shared memory, which only entries are interpreted with");
  result->sharedBytes = align(result->sharedBytes, variable.alignment);
  result->addresses[variable.name] = firstAddress + result->sharedBytes;
  result->sharedBytes += variable.bytes;
}

/// Local variables, and those in shared memory that the function names. What
/// the launch adds comes after them.
void Decoder::placeVariables() {
  std::vector<std::string> names;
  for (const Instruction &instruction : text.code)
    for (const Operand &operand : instruction.operands)
      names.push_back(operand.name);
  auto isNamed = [&](const Variable &variable) {
    return std::find(names.begin(), names.end(), variable.name) != names.end();
  };
  for (const Variable &variable : text.variables) {
    if (variable.space == "shared")
      placeShared(variable);
    if (variable.space != "local")
      continue;
    result->localBytes = align(result->localBytes, variable.alignment);
    result->addresses[variable.name] = firstAddress + result->localBytes;
    result->localBytes += variable.bytes;
  }
  result->localBytes = align(result->localBytes, 16);
  for (bool isExternal : {false, true})
    for (const Variable &variable : module.getText().variables)
      if (variable.space == "shared" && variable.isExternal == isExternal &&
          isNamed(variable))
        placeShared(variable);
}

/// Parameters, results, and what calls in this function pass.
void Decoder::placeParameters() {
  uint64_t bytes = uint64_t(result->slots) * 8;
  result->parameterSlot = result->slots;
  auto place = [&](const Variable &variable) {
    bytes = align(bytes, variable.alignment);
    result->parameterOffsets[variable.name] = bytes;
    bytes += variable.bytes;
  };
  for (const Variable &variable : text.parameters)
    place(variable);
  result->parameterBytes = bytes - uint64_t(result->slots) * 8;
  for (const Variable &variable : text.results)
    place(variable);
  for (const Variable &variable : text.variables)
    if (variable.space == "param")
      place(variable);
  result->slots = static_cast<uint32_t>(align(bytes, 16) / 8);
}

uint32_t Decoder::internConstant(uint64_t bits) {
  auto slot = static_cast<uint32_t>(SpecialCount + constants.size());
  return constants.emplace(bits, slot).first->second;
}

bool Decoder::isVariable(const std::string &symbol) const {
  return result->addresses.count(symbol) || module.addresses.count(symbol);
}

uint64_t Decoder::getAddress(const std::string &symbol) const {
  auto own = result->addresses.find(symbol);
  return own != result->addresses.end() ? own->second
                                        : module.addresses.at(symbol);
}

void Decoder::collectConstants(const Operand &operand) {
  if (operand.kind == Operand::Kind::Constant)
    internConstant(operand.bits);
  if (isVariable(operand.name))
    internConstant(getAddress(operand.name));
  for (const Operand &part : operand.parts)
    collectConstants(part);
}

void Decoder::numberRegisters() {
  result->begin.resize(SpecialCount + constants.size());
  for (const auto &[bits, slot] : constants)
    result->begin[slot] = bits;
  auto next = static_cast<uint32_t>(result->begin.size());
  for (const auto &[name, bits] : text.registers)
    registers[name] = next++;
  temporary = next++;
  sink = next++;
  result->slots = next;
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

static const std::map<std::string, uint32_t> specialRegisters = {
    {"%tid.x", TidX},
    {"%tid.y", TidY},
    {"%tid.z", TidZ},
    {"%ntid.x", NtidX},
    {"%ntid.y", NtidY},
    {"%ntid.z", NtidZ},
    {"%ctaid.x", CtaidX},
    {"%ctaid.y", CtaidY},
    {"%ctaid.z", CtaidZ},
    {"%nctaid.x", NctaidX},
    {"%nctaid.y", NctaidY},
    {"%nctaid.z", NctaidZ},
    {"%laneid", LaneId},
    {"%warpid", WarpId},
    {"%lanemask_eq", LaneMaskEq},
    {"%lanemask_lt", LaneMaskLt},
    {"%lanemask_le", LaneMaskLe},
    {"%lanemask_gt", LaneMaskGt},
    {"%lanemask_ge", LaneMaskGe}};

/// `bits`: of the type; 0: any. Those of some instructions may be wider.
uint32_t Decoder::findRegister(const std::string &name, unsigned bits,
                               bool takesWider) {
  auto special = specialRegisters.find(name);
  auto found = registers.find(name);
  if (special == specialRegisters.end() && found == registers.end())
    fail("uses register '" + name + "', which is not declared");
  bool isSpecial = found == registers.end();
  unsigned actual = isSpecial ? 32 : text.registers.at(name);
  bool fits =
      bits == 0 || actual == bits || (takesWider && actual > bits && bits != 1);
  if (!fits)
    fail("expects " + std::to_string(bits) + " bits, but register '" + name +
         "' has " + std::to_string(actual));
  return isSpecial ? special->second : found->second;
}

uint32_t Decoder::readSlot(const Operand &operand, unsigned bits,
                           bool takesWider) {
  switch (operand.kind) {
  case Operand::Kind::Register: {
    uint32_t slot = findRegister(operand.name, bits, takesWider);
    flow.reads.push_back(slot);
    return operand.isNegated ? invert(slot) : slot;
  }
  case Operand::Kind::Constant:
    flow.hasConstant = true;
    return constants.at(operand.bits);
  case Operand::Kind::Symbol:
    flow.hasConstant = true;
    if (isVariable(operand.name))
      return constants.at(getAddress(operand.name));
    fail("uses '" + operand.name + "', which is not declared");
  default:
    fail("has an operand of a kind that it does not take");
  }
}

/// The temporary, with the opposite of a predicate.
uint32_t Decoder::invert(uint32_t slot) {
  Op op;
  op.run = getOpcodes().at("not.pred").run;
  op.d = temporary;
  op.s[0] = slot;
  op.source = now;
  result->code.push_back(op);
  Flow inverted;
  inverted.reads = {slot};
  inverted.writes = {temporary};
  flows.push_back(inverted);
  return temporary;
}

uint32_t Decoder::writeSlot(const Operand &operand, unsigned bits,
                            bool takesWider) {
  if (operand.kind == Operand::Kind::Sink)
    return sink;
  if (operand.kind != Operand::Kind::Register ||
      specialRegisters.count(operand.name))
    fail("has a result that is no register");
  uint32_t slot = findRegister(operand.name, bits, takesWider);
  flow.writes.push_back(slot);
  return slot;
}

/// s[0] and `immediate` of `[register+4]`, `[variable+4]` or `[16]`.
void Decoder::setAddress(Op &op, const Operand &operand) {
  if (operand.kind != Operand::Kind::Address)
    fail("has no address where one is expected");
  op.immediate = static_cast<int64_t>(operand.bits);
  if (operand.name.empty()) {
    op.s[0] = constants.at(0);
  } else if (isVariable(operand.name)) {
    op.s[0] = constants.at(getAddress(operand.name));
  } else {
    // An address in shared or local memory may have 32 bits.
    op.s[0] = findRegister(operand.name, 64, false);
    flow.reads.push_back(op.s[0]);
  }
}

/// Where in the frame the bytes of a parameter are.
uint64_t Decoder::getFrameOffset(const Operand &operand, uint64_t bytes) {
  auto found = result->parameterOffsets.find(operand.name);
  if (operand.kind != Operand::Kind::Address ||
      found == result->parameterOffsets.end())
    fail("has an address that is not in a parameter");
  auto check = [&](const Variable &variable) {
    if (variable.name == operand.name &&
        (operand.bits + bytes > variable.bytes || operand.bits % bytes))
      fail("accesses " + std::to_string(bytes) + " bytes at " +
           std::to_string(operand.bits) + " of '" + operand.name +
           "', which has " + std::to_string(variable.bytes));
  };
  for (const auto *all : {&text.parameters, &text.results, &text.variables})
    std::for_each(all->begin(), all->end(), check);
  return found->second + operand.bits;
}

const uint32_t *Decoder::keepList(std::vector<uint32_t> list) {
  auto kept = std::make_shared<std::vector<uint32_t>>(std::move(list));
  result->kept.push_back(kept);
  return kept->data();
}

} // namespace meshc::ptx
