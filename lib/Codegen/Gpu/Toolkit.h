//===- Toolkit.h - the CUDA toolkit's parts for compiling -----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_CODEGEN_GPU_TOOLKIT_H
#define MESHC_LIB_CODEGEN_GPU_TOOLKIT_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>

namespace meshc::codegen {

/// The parts of the CUDA toolkit that meshc uses at run time. Building meshc
/// does not need the toolkit.
struct CudaToolkit {
  std::string ptxas;     ///< path of the assembler
  std::string libdevice; ///< path of libdevice.10.bc; empty: it is not there
};

/// Looks in `folder`; where that is empty, in $CUDA_HOME, then in
/// /usr/local/cuda, then where PATH has a ptxas. The error says where it looked
/// and how to get a toolkit.
llvm::Expected<CudaToolkit> findCudaToolkit(llvm::StringRef folder);

} // namespace meshc::codegen

#endif // MESHC_LIB_CODEGEN_GPU_TOOLKIT_H
