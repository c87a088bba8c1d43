//===- OneDnn.h - opening oneDNN --------------------------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// OneDnn.cpp defines the functions of <dnnl.h> that this folder calls; each
/// calls the function of that name in the library, which it opens first. To
/// call another one, add it there.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_BLAS_ONEDNN_H
#define MESHC_RUNTIME_BLAS_ONEDNN_H

#include <dnnl.h>

namespace meshc::runtime {

/// Opens oneDNN if it is not open yet. Throws Failure(Device) if it cannot be
/// opened; so do the functions of <dnnl.h>.
void openOneDnn();

/// Whether oneDNN uses an instruction set on this processor. The environment
/// variable ONEDNN_MAX_CPU_ISA can forbid it.
bool oneDnnUses(dnnl_cpu_isa_t instructions);

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_BLAS_ONEDNN_H
