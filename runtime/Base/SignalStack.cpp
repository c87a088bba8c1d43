//===- SignalStack.cpp - where threads handle signals ---------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Base/SignalStack.h"

#include <csignal>
#include <sys/auxv.h>
#include <sys/mman.h>

using namespace meshc::runtime;

namespace {

class SignalStack {
public:
  SignalStack();
  ~SignalStack();
  SignalStack(const SignalStack &) = delete;
  SignalStack &operator=(const SignalStack &) = delete;

private:
  stack_t own = {};
};

} // namespace

/// Without memory for it, the thread stays without.
SignalStack::SignalStack() {
  stack_t before = {};
  // A sanitizer, for example, gives each thread one.
  if (sigaltstack(nullptr, &before) != 0 || !(before.ss_flags & SS_DISABLE))
    return;
  // What the kernel stores: more than 11 kB on processors with AMX.
  const size_t bytes = getauxval(AT_MINSIGSTKSZ) + (size_t(32) << 10);
  void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return;
  own.ss_sp = memory;
  own.ss_size = bytes;
  sigaltstack(&own, nullptr);
}

SignalStack::~SignalStack() {
  if (!own.ss_sp)
    return;
  stack_t none = {};
  none.ss_flags = SS_DISABLE;
  sigaltstack(&none, nullptr);
  munmap(own.ss_sp, own.ss_size);
}

void meshc::runtime::useSignalStack() {
  static thread_local const SignalStack stack;
}
