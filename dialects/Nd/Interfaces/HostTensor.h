//===- HostTensor.h - a tensor's values, for the reference - ---===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The values that ops' reference semantics work on: one rank's block of a
/// tensor, every element held as a double (which holds f32, bf16, f16, i32 and
/// i1 exactly), dims sorted by name and row-major.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_ND_INTERFACES_HOSTTENSOR_H
#define MESHC_DIALECTS_ND_INTERFACES_HOSTTENSOR_H

#include "dialects/Nd/NdTypes.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <vector>

namespace meshc::nd {

/// One rank's block. `sizes` are local, in the order of `type.getDims()`.
struct HostTensor {
  TensorType type;
  llvm::SmallVector<int64_t> sizes;
  std::vector<double> data;

  HostTensor() = default;
  /// A block of zeros with the local sizes that `mesh` gives.
  HostTensor(TensorType type, MeshAttr mesh);

  int64_t getElementCount() const { return data.size(); }
  /// Row-major strides of `sizes`, in elements.
  llvm::SmallVector<int64_t> getStrides() const;
  /// Stride of the dim, 0 where the tensor has not got it: reading with these
  /// along another tensor's dims broadcasts by name.
  int64_t getStrideOf(llvm::StringRef dim) const;
  /// One stride per dim of `other`: `getStrideOf` its name.
  llvm::SmallVector<int64_t> getStridesAlong(TensorType other) const;
};

/// What an op's reference semantics may ask of its surroundings.
struct EvaluationContext {
  MeshAttr mesh;                          ///< may be the empty mesh
  llvm::SmallVector<int64_t> coordinates; ///< of this rank, one per mesh axis
  uint64_t seed = 0;
  int64_t step = 0;
  /// Round every result to its element type. Off, floats stay doubles (for
  /// finite differences).
  bool roundToType = true;

  /// Global index of this rank's first entry along the dim of a (possibly
  /// sharded) type.
  int64_t getOffset(TensorType type, llvm::StringRef dim) const;
  /// A block of zeros of the (possibly sharded) type.
  HostTensor makeTensor(mlir::Type type) const;
  /// The value as a tensor of the element type holds it: rounded, unless it is
  /// a float and `roundToType` is off.
  double round(double value, mlir::Type elementType) const;
};

/// Calls `body` for every index of the box, row-major, with the index and one
/// running element offset per stride list (`strides[t][d]`).
void forEachIndex(llvm::ArrayRef<int64_t> sizes,
                  llvm::ArrayRef<llvm::SmallVector<int64_t>> strides,
                  llvm::function_ref<void(llvm::ArrayRef<int64_t> index,
                                          llvm::ArrayRef<int64_t> offsets)>
                      body);

/// The nearest value of the element type (round to nearest even; integers
/// wrap).
double roundToElementType(double value, mlir::Type elementType);

} // namespace meshc::nd

#endif // MESHC_DIALECTS_ND_INTERFACES_HOSTTENSOR_H
