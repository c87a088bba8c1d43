//===- GuardedArena.h - buffers that end where memory does ------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_TEST_CODEGEN_GUARDEDARENA_H
#define MESHC_TEST_CODEGEN_GUARDEDARENA_H

#include <cstdint>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

namespace meshc::codegen {

/// Memory for buffers. Behind each of them, and before the first one, lies a
/// page that the process must not touch.
class GuardedArena {
public:
  GuardedArena() : page(sysconf(_SC_PAGESIZE)), end(page) {}
  GuardedArena(const GuardedArena &) = delete;
  ~GuardedArena() {
    if (memory)
      munmap(memory, end);
  }

  /// Adds a buffer and returns its offset, a multiple of 64. It ends less than
  /// 64 bytes before its page.
  int64_t add(int64_t bytes) {
    int64_t rounded = (bytes + 63) / 64 * 64;
    int64_t pages = (rounded + page - 1) / page * page;
    int64_t offset = end + pages - rounded;
    buffers.push_back({offset, rounded});
    end += pages + page;
    return offset;
  }

  int64_t size() const { return end; }

  /// The memory, after all buffers are added; null if there is none.
  char *data() {
    if (!memory)
      allocate();
    return memory;
  }

  /// Fills all buffers with zeros.
  void clear() {
    for (auto [offset, bytes] : buffers)
      std::memset(data() + offset, 0, bytes);
  }

private:
  struct Buffer {
    int64_t offset, bytes;
  };

  void allocate() {
    void *place = mmap(nullptr, end, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
                       /*fd=*/-1, /*offset=*/0);
    if (place == MAP_FAILED)
      return;
    memory = static_cast<char *>(place);
    for (auto [offset, bytes] : buffers) {
      int64_t first = offset / page * page;
      mprotect(memory + first, offset + bytes - first, PROT_READ | PROT_WRITE);
    }
  }

  int64_t page;
  int64_t end;
  char *memory = nullptr;
  std::vector<Buffer> buffers;
};

} // namespace meshc::codegen

#endif // MESHC_TEST_CODEGEN_GUARDEDARENA_H
