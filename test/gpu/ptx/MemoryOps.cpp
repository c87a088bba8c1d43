//===- MemoryOps.cpp - loads and stores of PTX ----------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// "PTX ISA", section "Data Movement and Conversion Instructions": ld, st.
//
//===----------------------------------------------------------------------===//

#include "test/gpu/ptx/MemoryOps.h"

#include <cstdio>
#include <set>

namespace meshc::ptx {

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

static std::string describe(uint64_t address) {
  char text[24];
  std::snprintf(text, sizeof(text), "0x%llx",
                static_cast<unsigned long long>(address));
  return text;
}

void failOfAlignment(const Op *op, const Thread &thread, uint64_t address,
                     uint64_t bytes) {
  fail(op, thread,
       "accesses " + std::to_string(bytes) + " bytes at " + describe(address) +
           ", which is not aligned");
}

void failOfBounds(const Op *op, const Thread &thread, const char *space,
                  uint64_t address, uint64_t bytes, uint64_t size) {
  fail(op, thread,
       "accesses " + std::to_string(bytes) + " bytes at " + describe(address) +
           ", outside of " + std::to_string(size) + " bytes of " + space +
           " memory that begin at " + describe(firstAddress));
}

/// Who it was, as "thread 3 of block 0".
static std::string describe(Stamp stamp) {
  std::string threads = stamp.getThread() == Stamp::manyThreads
                            ? "threads"
                            : "thread " + std::to_string(stamp.getThread());
  return stamp.isOfManyBlocks()
             ? "threads of several blocks"
             : threads + " of block " + std::to_string(stamp.getBlock());
}

void failOfRace(const Op *op, const Thread &thread, const Cell &cell,
                bool isWriter, Access access) {
  const Op *other = isWriter ? cell.writer : cell.reader;
  bool isReadOnly = access == Access::ReadOnly ||
                    (!isWriter && (cell.read.bits & Stamp::readOnlyBit));
  std::string whom = describe(isWriter ? cell.write : cell.read) +
                     (isWriter ? " wrote" : " read") + " at line " +
                     std::to_string(other->source->line);
  if (isReadOnly)
    fail(op, thread,
         "accesses memory that is both read by ld.global.nc and written: " +
             whom);
  bool reads = access == Access::Read;
  fail(op, thread,
       std::string("has a race: it ") + (reads ? "reads" : "writes") +
           " what " + whom + ", and nothing orders the two");
}

//===----------------------------------------------------------------------===//
// Handlers
//===----------------------------------------------------------------------===//

namespace {

template <Space space, Access access, class T>
const Op *load(const Op *op, uint64_t *frame, Thread &thread) {
  uint64_t address = frame[op->s[0]] + static_cast<uint64_t>(op->immediate);
  T value;
  std::memcpy(&value, reach<space, access>(op, thread, address, sizeof(T)),
              sizeof(T));
  put<T>(frame[op->d], value);
  MESHC_PTX_NEXT(op, frame, thread);
}

/// Into the slots of a list; slot 0 stands for none.
template <Space space, Access access, class T>
const Op *loadVector(const Op *op, uint64_t *frame, Thread &thread) {
  uint64_t address = frame[op->s[0]] + static_cast<uint64_t>(op->immediate);
  unsigned lanes = op->count;
  const unsigned char *place = reach<space, access>(
      op, thread, address, lanes * static_cast<unsigned>(sizeof(T)));
  for (unsigned lane = 0; lane < lanes; ++lane, place += sizeof(T)) {
    T value;
    std::memcpy(&value, place, sizeof(T));
    if (op->list[lane])
      put<T>(frame[op->list[lane]], value);
  }
  MESHC_PTX_NEXT(op, frame, thread);
}

template <Space space, class T>
const Op *store(const Op *op, uint64_t *frame, Thread &thread) {
  uint64_t address = frame[op->s[0]] + static_cast<uint64_t>(op->immediate);
  T value = get<T>(frame[op->s[1]]);
  std::memcpy(reach<space, Access::Write>(op, thread, address, sizeof(T)),
              &value, sizeof(T));
  MESHC_PTX_NEXT(op, frame, thread);
}

template <Space space, class T>
const Op *storeVector(const Op *op, uint64_t *frame, Thread &thread) {
  uint64_t address = frame[op->s[0]] + static_cast<uint64_t>(op->immediate);
  unsigned lanes = op->count;
  unsigned char *place = reach<space, Access::Write>(
      op, thread, address, lanes * static_cast<unsigned>(sizeof(T)));
  for (unsigned lane = 0; lane < lanes; ++lane, place += sizeof(T)) {
    T value = get<T>(frame[op->list[lane]]);
    std::memcpy(place, &value, sizeof(T));
  }
  MESHC_PTX_NEXT(op, frame, thread);
}

/// Parameters, at fixed bytes of the frame.
template <class T>
const Op *loadFrame(const Op *op, uint64_t *frame, Thread &thread) {
  T value;
  std::memcpy(&value, reinterpret_cast<char *>(frame) + op->immediate,
              sizeof(T));
  put<T>(frame[op->d], value);
  MESHC_PTX_NEXT(op, frame, thread);
}

template <class T>
const Op *storeFrame(const Op *op, uint64_t *frame, Thread &thread) {
  T value = get<T>(frame[op->s[1]]);
  std::memcpy(reinterpret_cast<char *>(frame) + op->immediate, &value,
              sizeof(T));
  MESHC_PTX_NEXT(op, frame, thread);
}

//===----------------------------------------------------------------------===//
// Opcodes
//===----------------------------------------------------------------------===//

/// What the words of an opcode say, before its handler is chosen.
struct Words {
  std::string space = "generic", type;
  bool isReadOnly = false, isKnown = true;
  unsigned lanes = 1;
};

/// Hints about caches, and orders that this interpreter does not need, as it
/// executes one instruction at a time.
Words readWords(const std::vector<std::string> &words, bool isLoad) {
  static const std::set<std::string> spaces = {"param", "shared", "shared::cta",
                                               "local", "global", "const"};
  static const std::set<std::string> hints = {"ca", "cg", "cs", "weak",
                                              "volatile"};
  Words result;
  for (const std::string &word : words) {
    if (spaces.count(word))
      result.space = word == "shared::cta" ? "shared" : word;
    else if (word == "nc" && isLoad)
      result.isReadOnly = true;
    else if (word == "v2" || word == "v4" || word == "v8")
      result.lanes = static_cast<unsigned>(word[1] - '0');
    else if (getTypeBytes(word) && word != "pred")
      result.type = word;
    else if (!hints.count(word))
      result.isKnown = false;
  }
  // Only the read-only path of global memory has `.nc`.
  if (result.isReadOnly && result.space != "global")
    result.isKnown = false;
  return result;
}

template <Space space, Access access, class T>
Handler chooseLoad(unsigned lanes) {
  return lanes == 1 ? &load<space, access, T> : &loadVector<space, access, T>;
}

template <class T> Handler chooseLoad(const Words &words) {
  if (words.space == "param")
    return words.lanes == 1 ? &loadFrame<T> : nullptr;
  if (words.isReadOnly)
    return chooseLoad<Space::Global, Access::ReadOnly, T>(words.lanes);
  if (words.space == "global" || words.space == "const")
    return chooseLoad<Space::Global, Access::Read, T>(words.lanes);
  if (words.space == "shared")
    return chooseLoad<Space::Shared, Access::Read, T>(words.lanes);
  if (words.space == "local")
    return chooseLoad<Space::Local, Access::Read, T>(words.lanes);
  return chooseLoad<Space::Generic, Access::Read, T>(words.lanes);
}

template <Space space, class T> Handler chooseStore(unsigned lanes) {
  return lanes == 1 ? &store<space, T> : &storeVector<space, T>;
}

template <class T> Handler chooseStore(const Words &words) {
  if (words.space == "param")
    return words.lanes == 1 ? &storeFrame<T> : nullptr;
  if (words.space == "global")
    return chooseStore<Space::Global, T>(words.lanes);
  if (words.space == "shared")
    return chooseStore<Space::Shared, T>(words.lanes);
  if (words.space == "local")
    return chooseStore<Space::Local, T>(words.lanes);
  if (words.space == "const")
    return nullptr;
  return chooseStore<Space::Generic, T>(words.lanes);
}

Handler chooseLoadOfType(const Words &words) {
  switch (getTypeBytes(words.type)) {
  case 1:
    return words.type == "s8" ? chooseLoad<int8_t>(words)
                              : chooseLoad<uint8_t>(words);
  case 2:
    return words.type == "s16" ? chooseLoad<int16_t>(words)
                               : chooseLoad<uint16_t>(words);
  case 4:
    return words.type == "s32" ? chooseLoad<int32_t>(words)
                               : chooseLoad<uint32_t>(words);
  case 8:
    return chooseLoad<uint64_t>(words);
  default:
    return nullptr;
  }
}

Handler chooseStoreOfType(const Words &words) {
  switch (getTypeBytes(words.type)) {
  case 1:
    return chooseStore<uint8_t>(words);
  case 2:
    return chooseStore<uint16_t>(words);
  case 4:
    return chooseStore<uint32_t>(words);
  case 8:
    return chooseStore<uint64_t>(words);
  default:
    return nullptr;
  }
}

MemoryOpcode describe(const Words &words, Handler run) {
  MemoryOpcode result;
  unsigned bits = 8 * getTypeBytes(words.type);
  if (!words.isKnown || bits * words.lanes > 256)
    return result;
  result.run = run;
  result.registerBits = bits;
  result.lanes = words.lanes;
  result.isFrame = words.space == "param";
  return result;
}

} // namespace

MemoryOpcode findLoad(const std::vector<std::string> &words) {
  Words read = readWords(words, true);
  return describe(read, chooseLoadOfType(read));
}

MemoryOpcode findStore(const std::vector<std::string> &words) {
  Words read = readWords(words, false);
  return describe(read, chooseStoreOfType(read));
}

} // namespace meshc::ptx
