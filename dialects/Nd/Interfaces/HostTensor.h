//===- HostTensor.h - tensor values of the reference semantics ------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The values on which reference semantics work: one rank's block of a tensor.
/// Every element is a double, which represents f32, bf16, f16, i32 and i1
/// exactly. Blocks are row-major with dims sorted by name.
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
  /// Stride of the dim; 0 if the tensor does not have it. Reading with these
  /// strides along another tensor's dims broadcasts by name.
  int64_t getStrideOf(llvm::StringRef dim) const;
  /// `getStrideOf` each dim of `other`.
  llvm::SmallVector<int64_t> getStridesAlong(TensorType other) const;
};

/// What a test expects to show where it leaks: NaN, the largest i32, true.
double getSpoiledValue(mlir::Type elementType);

/// The context in which reference semantics run.
struct EvaluationContext {
  MeshAttr mesh;                          ///< may be the empty mesh
  llvm::SmallVector<int64_t> coordinates; ///< of this rank, one per mesh axis
  uint64_t seed = 0;
  int64_t step = 0;
  /// Round every result to its element type. Otherwise floats stay doubles (for
  /// finite differences).
  bool roundToType = true;

  /// Global index of this rank's first entry along the dim of a (possibly
  /// sharded) type. A block that is all padding may begin behind the dim's end.
  int64_t getOffset(TensorType type, llvm::StringRef dim) const;
  /// How many entries of this rank's block exist along the dim; those behind
  /// them are padding.
  int64_t getCount(TensorType type, llvm::StringRef dim) const;
  /// `getCount` of each dim of the type, in its order.
  llvm::SmallVector<int64_t> getCounts(TensorType type) const;
  /// Overwrites the padding of a block with getSpoiledValue.
  void spoilPadding(HostTensor &block) const;
  /// A block of zeros of the (possibly sharded) type.
  HostTensor makeTensor(mlir::Type type) const;
  /// The value as stored in a tensor of the element type: rounded, unless it is
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
