//===- CallManifest.h - what the compiler says of calls ---------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The manifest's "launches", "products" and "received" (lib/Report/Report.h):
/// what the calls of a function read and write, and where in the model they
/// come from.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_MONITOR_CALLMANIFEST_H
#define MESHC_RUNTIME_MONITOR_CALLMANIFEST_H

#include "meshc/RuntimeAbi.h"
#include "runtime/Monitor/CallOrder.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace meshc::runtime {

/// A dim of a buffer.
struct BufferDim {
  int64_t size = 0;           ///< global
  std::vector<uint32_t> axes; ///< mesh axis numbers, the outermost first
};

/// The dims of a dense buffer in memory order, the innermost last; none if no
/// block of it has padding.
using PaddedDims = std::vector<BufferDim>;

struct CallResult {
  std::string name;     ///< in the model; may be empty
  std::string location; ///< "gpt.mesh:14:13"; may be empty
  MeshcType type = MESHC_F32;
  int64_t elements = 0; ///< padding included
  PaddedDims dims = {};
};

struct CallEntry {
  std::string kernel;           ///< of a launch
  std::string name, location;   ///< of a product's C
  PaddedDims dims;              ///< of a product's C
  std::vector<std::string> ops; ///< of a launch: "exp gpt.mesh:14:13"
  /// For a launch, and for a product with an epilogue: bytes of the kernel's
  /// inputs and of its results.
  std::vector<int64_t> inputBytes;
  std::vector<CallResult> results;
};

/// The calls of one function, those of loops once. All are empty if the
/// manifest does not have them.
struct CallManifest {
  /// `function`: its name (StepFunctions.def), "train_step"
  CallManifest(const MeshcProgram &program, const std::string &function);

  std::vector<CallEntry> launches, products;
  CallOrder launchOrder, productOrder;
  /// By the site of a collective, the dims of what it receives. Collectives
  /// without padding are absent.
  std::map<uint32_t, std::vector<PaddedDims>> received;
};

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_MONITOR_CALLMANIFEST_H
