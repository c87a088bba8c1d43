//===- UpdateGuard.cpp - updates that are dropped -------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Commands/UpdateGuard.h"

#include "runtime/Base/AvailableMemory.h"
#include "runtime/Base/Finiteness.h"
#include "runtime/Base/TensorBlock.h"
#include "runtime/Monitor/FaultSearch.h"

#include <cstring>
#include <new>

using namespace meshc::runtime;

static size_t blockBytes(const MeshcTensor &tensor) {
  return static_cast<size_t>(blockSpan(tensor) * sizeOf(typeOf(tensor)));
}

int64_t UpdateGuard::bytes(const MeshcProgram &program) {
  int64_t bytes = 0;
  for (uint32_t i = 0; i < program.tensorCount; ++i)
    if (isState(program.tensors[i]))
      bytes += static_cast<int64_t>(blockBytes(program.tensors[i]));
  return bytes;
}

UpdateGuard::UpdateGuard(Session &session) : session(session) {
  // The copies of all ranks fit together: checkMemory() before the run began.
  int64_t size = bytes(session.program());
  kept.reset(new (std::nothrow) char[static_cast<size_t>(size)]);
  if (!kept) {
    AvailableMemory available = availableMemory();
    throw Failure(ExitCode::Internal,
                  "'--on-nonfinite skip' keeps a copy of the parameters and "
                  "optimizer state, " +
                      describeBytes(size) + " per rank, and " +
                      describeBytes(available.bytes) + " are left within " +
                      available.limit +
                      "; train without it, or compile for a larger mesh");
  }
  keep();
}

void UpdateGuard::keep() {
  char *to = kept.get();
  for (uint32_t i = 0; i < session.program().tensorCount; ++i) {
    const MeshcTensor &tensor = session.program().tensors[i];
    if (!isState(tensor))
      continue;
    std::memcpy(to, session.device().read(tensor), blockBytes(tensor));
    to += blockBytes(tensor);
  }
}

void UpdateGuard::restore() {
  const char *from = kept.get();
  for (uint32_t i = 0; i < session.program().tensorCount; ++i) {
    const MeshcTensor &tensor = session.program().tensors[i];
    if (!isState(tensor))
      continue;
    session.device().write(tensor, [&](char *block) {
      std::memcpy(block, from, blockBytes(tensor));
    });
    from += blockBytes(tensor);
  }
}

bool UpdateGuard::accept(bool isLossGood) {
  bool isFinite = isLossGood;
  for (uint32_t i = 0; i < session.program().tensorCount && isFinite; ++i) {
    const MeshcTensor &tensor = session.program().tensors[i];
    if (isState(tensor))
      isFinite = classify(session.program(), tensor, session.coords(),
                          session.device().read(tensor)) == 0;
  }
  if (largestOfRanks(session.communicator(), !isFinite)) {
    restore();
    return false;
  }
  keep();
  return true;
}
