//===- MemoryOps.h - loads, stores and atomic operations --------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_TEST_GPU_PTX_MEMORYOPS_H
#define MESHC_TEST_GPU_PTX_MEMORYOPS_H

#include "test/gpu/ptx/Thread.h"

namespace meshc::ptx {

enum class Space { Global, Generic, Shared, Local, Frame };

/// What an opcode of ld, st, atom or red says.
struct MemoryOpcode {
  Handler run = nullptr;     ///< null: no such opcode
  unsigned registerBits = 0; ///< of the type
  unsigned lanes = 1;        ///< of a vector
  bool isFrame = false;      ///< it accesses parameters
  unsigned operands = 1;     ///< of atom and red, after the address
  uint32_t order = 0;        ///< of atom and red, Op::count
};

/// ld and st, by their words without the first one.
MemoryOpcode findLoad(const std::vector<std::string> &words);
MemoryOpcode findStore(const std::vector<std::string> &words);
/// atom and red, whose accesses of the whole GPU alone are known.
MemoryOpcode findAtomic(const std::vector<std::string> &words, bool isRed);
/// The handler of a fence for the whole GPU.
const Op *runFence(const Op *op, uint64_t *frame, Thread &thread);

//===----------------------------------------------------------------------===//
// Where the bytes of an access are
//===----------------------------------------------------------------------===//

[[noreturn]] void failOfRace(const Op *op, const Thread &thread,
                             const Cell &cell, bool isWriter, Access access);
[[noreturn]] void failOfAlignment(const Op *op, const Thread &thread,
                                  uint64_t address, uint64_t bytes);
[[noreturn]] void failOfBounds(const Op *op, const Thread &thread,
                               const char *space, uint64_t address,
                               uint64_t bytes, uint64_t size);

inline bool happensBefore(Stamp before, const Thread &thread) {
  Stamp now = thread.stamp;
  if (before.isSameBlock(now))
    return before.getThread() == now.getThread() ||
           before.getEpoch() < now.getEpoch();
  return thread.block->order.isBefore(before, thread.getMoment());
}

/// Adds a reader to the one that is known.
inline Stamp addReader(Stamp known, Stamp reader) {
  uint64_t isReadOnly = known.bits & Stamp::readOnlyBit;
  Stamp plain{known.bits & ~isReadOnly};
  if (!plain.isSet() || plain.bits == reader.bits)
    return {reader.bits | isReadOnly};
  if (!plain.isSameBlock(reader))
    return {plain.bits | Stamp::blockMask << 32 | isReadOnly};
  if (plain.getEpoch() == reader.getEpoch())
    return {plain.bits | Stamp::manyThreads | isReadOnly};
  return {reader.bits | isReadOnly};
}

/// Records an access of a cell; fails if it races.
template <Access access>
inline void visit(Cell &cell, Thread &thread, const Op *op) {
  if constexpr (access == Access::Read || access == Access::ReadOnly) {
    if (cell.write.isSet() &&
        (access == Access::ReadOnly || !happensBefore(cell.write, thread)))
      failOfRace(op, thread, cell, true, access);
    if (cell.read.bits != thread.stamp.bits) {
      cell.read = addReader(cell.read, thread.stamp);
      cell.reader = op;
    }
    if constexpr (access == Access::ReadOnly)
      cell.read.bits |= Stamp::readOnlyBit;
  } else {
    constexpr uint64_t atomic = access == Access::Atomic ? Stamp::atomicBit : 0;
    if (cell.write.isSet() && !(cell.write.bits & atomic) &&
        !happensBefore(cell.write, thread))
      failOfRace(op, thread, cell, true, access);
    if (cell.read.isSet() && ((cell.read.bits & Stamp::readOnlyBit) ||
                              !happensBefore(cell.read, thread)))
      failOfRace(op, thread, cell, false, access);
    cell.write.bits = thread.stamp.bits | atomic;
    cell.writer = op;
  }
}

/// Visits the cells of an access that lies within a page.
template <Access access>
inline void visitAll(CellPage &page, uint64_t offset, unsigned bytes,
                     Thread &thread, const Op *op) {
  if (bytes < (1u << page.shift))
    page.divide();
  Cell *cell = page.cells.data() + (offset >> page.shift);
  for (unsigned count = bytes >> page.shift; count; --count)
    visit<access>(*cell++, thread, op);
}

template <Access access>
inline unsigned char *reachGlobal(const Op *op, Thread &thread,
                                  uint64_t address, unsigned bytes) {
  auto &views = thread.block->launch->machine.views;
  View *view = &views[address / CellPage::bytes % views.size()];
  if (address - view->begin >= view->bytes ||
      view->bytes - (address - view->begin) < bytes)
    view = &thread.block->launch->findView(thread, op, address, bytes);
  if (!view->isConstant)
    visitAll<access>(*view->page, address % CellPage::bytes, bytes, thread, op);
  else if constexpr (access == Access::Write || access == Access::Atomic)
    fail(op, thread, "writes to constant memory");
  return view->host + (address - view->begin);
}

template <Access access>
inline unsigned char *reachShared(const Op *op, Thread &thread,
                                  uint64_t address, unsigned bytes) {
  std::vector<unsigned char> &shared = thread.block->shared;
  uint64_t offset = address - firstAddress;
  if (offset >= shared.size() || shared.size() - offset < bytes)
    failOfBounds(op, thread, "shared", address, bytes, shared.size());
  CellPage &cells = thread.block->sharedCells;
  visitAll<access>(cells, offset, bytes, thread, op);
  return shared.data() + offset;
}

inline unsigned char *reachLocal(const Op *op, Thread &thread, uint64_t address,
                                 unsigned bytes) {
  uint64_t size = thread.block->launch->entry.localBytes;
  uint64_t offset = address - firstAddress;
  if (offset >= size || size - offset < bytes)
    failOfBounds(op, thread, "local", address, bytes, size);
  return thread.block->local.data() + thread.number * size + offset;
}

/// Where the bytes at an address of that space are on the host. Fails unless
/// they may be accessed so.
template <Space space, Access access>
inline unsigned char *reach(const Op *op, Thread &thread, uint64_t address,
                            unsigned bytes) {
  if (address & (bytes - 1))
    failOfAlignment(op, thread, address, bytes);
  if constexpr (space == Space::Global) {
    return reachGlobal<access>(op, thread, address, bytes);
  } else if constexpr (space == Space::Shared) {
    return reachShared<access>(op, thread, address, bytes);
  } else if constexpr (space == Space::Local) {
    return reachLocal(op, thread, address, bytes);
  } else {
    uint64_t window = address >> 60;
    if (window == sharedWindow >> 60)
      return reachShared<access>(op, thread, address - sharedWindow, bytes);
    if (window == localWindow >> 60)
      return reachLocal(op, thread, address - localWindow, bytes);
    return reachGlobal<access>(op, thread, address, bytes);
  }
}

} // namespace meshc::ptx

#endif // MESHC_TEST_GPU_PTX_MEMORYOPS_H
