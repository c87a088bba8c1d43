//===- Arena.cpp - the memory of a rank -----------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Device/Arena.h"

#include "runtime/Base/AvailableMemory.h"

#include <cstring>
#include <sys/mman.h>

using namespace meshc::runtime;

Arena::Arena(int64_t size) : base(nullptr), length(size) {
  if (size == 0)
    return;
  checkMemory({size, 1, 1});
  void *address =
      mmap(nullptr, static_cast<size_t>(size), PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED)
    throw tooLittleMemory("map an arena of " + describeBytes(size));
  madvise(address, static_cast<size_t>(size), MADV_HUGEPAGE);
  base = static_cast<char *>(address);
  std::memset(base, 0, static_cast<size_t>(size));
}

Arena::~Arena() {
  if (base)
    munmap(base, static_cast<size_t>(length));
}
