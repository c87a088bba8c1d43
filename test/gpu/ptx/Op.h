//===- Op.h - decoded instructions ------------------------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The form in which functions run. A function has a *frame* of 8-byte slots:
/// special registers, constants, registers, then its parameters in bytes. An
/// operand is the number of a slot, whatever it was in the text. A slot's low
/// bits hold the value; those above a register's width mean nothing.
///
/// Each op is run by a handler, which calls the next op's (as a tail call
/// where the compiler can promise one). Handlers return where the thread goes
/// on, or null if it waits or has ended.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_TEST_GPU_PTX_OP_H
#define MESHC_TEST_GPU_PTX_OP_H

#include "test/gpu/ptx/Syntax.h"

#include <cstring>
#include <memory>
#include <type_traits>
#include <unordered_map>
#include <utility>

namespace meshc::ptx {

struct Op;
struct Thread;
struct Function;
using Handler = const Op *(*)(const Op *, uint64_t *, Thread &);

/// A decoded instruction.
struct Op {
  Handler run = nullptr;
  const Instruction *source = nullptr;
  union {
    const Op *target = nullptr; ///< of a branch
    const uint32_t *list;       ///< slots of a vector, or of pairs to copy
    const Op *const *table;     ///< of an indexed branch
    const Function *callee;
  };
  int64_t immediate = 0; ///< an offset in bytes, or bits that say how
  uint32_t d = 0;        ///< slot of the result
  uint32_t s[4] = {};    ///< slots of the operands
  /// Instructions from the previous change of control to this one, if this is
  /// one; or the length of a list.
  uint32_t count = 0;
};

/// A function, ready to run.
struct Function {
  const FunctionText *text = nullptr;
  std::vector<Op> code; ///< the last one ends the thread or faults
  /// What a frame begins with: special registers and constants.
  std::vector<uint64_t> begin;
  uint32_t slots = 0;         ///< of a frame, parameters included
  uint32_t parameterSlot = 0; ///< where the parameters' bytes begin
  std::map<std::string, uint64_t> parameterOffsets; ///< bytes from slot 0
  uint64_t parameterBytes = 0;
  uint64_t localBytes = 0;  ///< of a thread
  uint64_t sharedBytes = 0; ///< of a block, without those of the launch
  std::map<std::string, uint64_t> addresses; ///< of shared and local variables
  std::vector<std::shared_ptr<void>> kept;   ///< what ops point to
};

/// Special registers have the first slots of each frame.
enum Special : uint32_t {
  TidX,
  TidY,
  TidZ,
  NtidX,
  NtidY,
  NtidZ,
  CtaidX,
  CtaidY,
  CtaidZ,
  NctaidX,
  NctaidY,
  NctaidZ,
  LaneId,
  WarpId,
  LaneMaskEq,
  LaneMaskLt,
  LaneMaskLe,
  LaneMaskGt,
  LaneMaskGe,
  SpecialCount
};

//===----------------------------------------------------------------------===//
// Values in slots
//===----------------------------------------------------------------------===//

/// A predicate, which has a slot of its own.
struct Predicate {
  bool value;
};

/// The value of type T in the slot's low bits.
template <class T> inline T get(uint64_t slot) {
  if constexpr (std::is_same_v<T, Predicate>) {
    return {slot != 0};
  } else {
    T value;
    std::memcpy(&value, &slot, sizeof(T));
    return value;
  }
}

/// Sets the slot's low bits; signed numbers are sign-extended.
template <class T> inline void put(uint64_t &slot, T value) {
  if constexpr (std::is_same_v<T, Predicate>) {
    slot = value.value;
  } else if constexpr (std::is_integral_v<T>) {
    slot = static_cast<uint64_t>(value);
  } else {
    slot = 0;
    std::memcpy(&slot, &value, sizeof(T));
  }
}

//===----------------------------------------------------------------------===//
// Handlers
//===----------------------------------------------------------------------===//

#if defined(__clang__)
/// Ends a handler: goes on with another op.
#define MESHC_PTX_GO(op, frame, thread)                                        \
  [[clang::musttail]] return (op)->run(op, frame, thread)
#else
#define MESHC_PTX_GO(op, frame, thread) return (op)
#endif
#define MESHC_PTX_NEXT(op, frame, thread)                                      \
  do {                                                                         \
    const Op *next = (op) + 1;                                                 \
    MESHC_PTX_GO(next, frame, thread);                                         \
  } while (false)

/// The bits of the registers that an opcode takes, result first; 0: it has no
/// result.
using Widths = std::vector<unsigned>;

template <class T> constexpr unsigned widthOf() {
  return std::is_same_v<T, Predicate> ? 1 : 8 * unsigned(sizeof(T));
}

/// The handler of a function of the operands' values, and what it takes.
template <auto function, class Signature = decltype(function)> struct Call;

template <auto function, class R, class... A>
struct Call<function, R (*)(A...)> {
  static const Op *run(const Op *op, uint64_t *frame, Thread &thread) {
    apply(op, frame, std::index_sequence_for<A...>());
    MESHC_PTX_NEXT(op, frame, thread);
  }
  template <size_t... I>
  static void apply(const Op *op, uint64_t *frame, std::index_sequence<I...>) {
    put<R>(frame[op->d], function(get<A>(frame[op->s[I]])...));
  }
  static constexpr unsigned widths[] = {widthOf<R>(), widthOf<A>()...};
};

/// The same for functions that fail, or use the thread's carry flag.
template <auto function, class R, class... A>
struct Call<function, R (*)(const Op *, Thread &, A...)> {
  static const Op *run(const Op *op, uint64_t *frame, Thread &thread) {
    apply(op, frame, thread, std::index_sequence_for<A...>());
    MESHC_PTX_NEXT(op, frame, thread);
  }
  template <size_t... I>
  static void apply(const Op *op, uint64_t *frame, Thread &thread,
                    std::index_sequence<I...>) {
    put<R>(frame[op->d], function(op, thread, get<A>(frame[op->s[I]])...));
  }
  static constexpr unsigned widths[] = {widthOf<R>(), widthOf<A>()...};
};

/// What an opcode with all its modifiers is.
struct Opcode {
  Handler run = nullptr;
  const unsigned *widths = nullptr; ///< of result and operands
  unsigned count = 0;               ///< of widths
  /// cvt, whose registers may be wider than its types.
  bool takesWider = false;
};

using Opcodes = std::unordered_map<std::string, Opcode>;

template <auto function> constexpr Opcode makeOpcode() {
  using Called = Call<function>;
  return {&Called::run, Called::widths,
          unsigned(sizeof(Called::widths) / sizeof(unsigned)), false};
}
/// The same for a cvt.
template <auto function> constexpr Opcode makeConversion() {
  Opcode opcode = makeOpcode<function>();
  opcode.takesWider = true;
  return opcode;
}

/// Adds an opcode whose name is that of these parts. Many templates call it:
/// what it does is not to be compiled for each.
void addOpcode(Opcodes &opcodes, std::initializer_list<const char *> name,
               Opcode opcode);

/// All opcodes that work on registers alone.
const Opcodes &getOpcodes();

void addIntegerOpcodes(Opcodes &opcodes);
void addBitOpcodes(Opcodes &opcodes);
void addComparisonOpcodes(Opcodes &opcodes);
void addFloatOpcodes(Opcodes &opcodes);
void addHalfOpcodes(Opcodes &opcodes);
void addIntegerConversions(Opcodes &opcodes);
void addFloatConversions(Opcodes &opcodes);

} // namespace meshc::ptx

#endif // MESHC_TEST_GPU_PTX_OP_H
