//===- CollectiveAbi.cpp - meshc_collective -------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Core/Rank.h"

using namespace meshc::runtime;

/// A failure leaves generated code by a C++ exception (CommunicationError): it
/// holds nothing that would have to be released.
extern "C" void meshc_collective(MeshcContext *ctx,
                                 const MeshcCollective *collective,
                                 void *const *send, void *const *recv) {
  Rank &rank = Rank::of(ctx);
  rank.communicator->run(*collective, rank.mesh.group(collective->axes), send,
                         recv);
}

/// Collectives of the host are done when they were begun.
extern "C" void meshc_wait(MeshcContext *, const MeshcCollective *) {}
