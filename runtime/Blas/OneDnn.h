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

namespace meshc::runtime {

/// Opens oneDNN if it is not open yet. Throws Failure(Device) if it cannot be
/// opened; so do the functions of <dnnl.h>.
void openOneDnn();

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_BLAS_ONEDNN_H
