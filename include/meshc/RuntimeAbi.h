//===- RuntimeAbi.h - interface of compiled programs and the runtime ------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The binary interface between a compiled program and the runtime. The
/// compiler (lib/Codegen) emits an object that defines one symbol,
/// `meshc_program`, and calls functions named `meshc_*`; the runtime (runtime/)
/// implements them and supplies `main`. C99 and C++17.
///
/// Include this file, which is the whole interface. Each part has one subject.
/// TensorAbi.h says what tensors are. KernelAbi.h, ProductAbi.h, AttentionAbi.h
/// and CollectiveAbi.h declare what the runtime provides to generated code.
/// ProgramAbi.h declares what generated code provides to the runtime.
///
/// Sizes are in elements unless a name ends in `Bytes`. A *dim* belongs to a
/// tensor and an *axis* to the mesh; a *rank* is one process (or thread) of the
/// mesh. Ranks are numbered row-major over the mesh axes, the last axis
/// fastest.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIMEABI_H
#define MESHC_RUNTIMEABI_H

#include "meshc/AttentionAbi.h"
#include "meshc/CollectiveAbi.h"
#include "meshc/KernelAbi.h"
#include "meshc/ProductAbi.h"
#include "meshc/ProgramAbi.h"
#include "meshc/TensorAbi.h"

#endif // MESHC_RUNTIMEABI_H
