//===- ElementEmitter.h - code for one element of a tensor ----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Fused kernels are emitted by pull: the code for one element of a result
/// requests the elements of its operands, down to the loads. An op defines only
/// how to compute its element (`emitElement`), in arith and math ops that work
/// on scalars and vectors alike. The emitter is responsible for loops, loads,
/// stores, vector width and target. After XLA's elemental IR emitter.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_ND_INTERFACES_ELEMENTEMITTER_H
#define MESHC_DIALECTS_ND_INTERFACES_ELEMENTEMITTER_H

#include "dialects/Nd/NdTypes.h"
#include "mlir/IR/Builders.h"
#include "llvm/Support/ErrorHandling.h"
#include <map>

namespace meshc::nd {

/// A position along one dim: `base`, or with `lanes`, base, base + 1, … (one
/// per lane). `base` is an `index` value, local to this rank's block.
struct DimIndex {
  mlir::Value base;
  bool lanes = false;
};

/// One entry per dim of the requested tensor (further entries are ignored). At
/// most one dim has lanes.
struct ElementIndex {
  std::map<std::string, DimIndex, std::less<>> dims;
  /// The entry of a dim. A missing one is a defect of the op that asks, and
  /// ends the process.
  const DimIndex &at(llvm::StringRef dim) const {
    auto entry = dims.find(std::string_view(dim.data(), dim.size()));
    if (entry == dims.end())
      llvm::report_fatal_error("an element is requested without an index "
                               "along dim '" +
                                   dim + "' of its tensor",
                               /*gen_crash_diag=*/false);
    return entry->second;
  }
};

/// How the operand index that an op requests depends on the index along one dim
/// of its result.
struct OperandDim {
  enum Relation {
    None, ///< independent of the index
    Same, ///< along `dim` of the operand, at the same `DimIndex`
    Other ///< anything else: a shift, or a dependence on further dims
  };
  Relation relation = None;
  /// The operand's dim whose consecutive entries (perhaps shifted) give
  /// consecutive entries of the result. May be null for Other.
  mlir::StringAttr dim;

  static OperandDim none() { return {}; }
  static OperandDim same(mlir::StringAttr dim) { return {Same, dim}; }
  static OperandDim other(mlir::StringAttr dim = {}) { return {Other, dim}; }
};

/// The relation of an op that requests the operand at its own indices: Same for
/// a dim that the operand has, None for any other.
OperandDim getSameDim(mlir::Value operand, llvm::StringRef dim);

/// An entry of a dim that axes may cut, as this rank's code finds it.
struct LocalEntry {
  mlir::Value isHere; ///< i1: whether the rank's block has it
  mlir::Value index;  ///< in the block (`index` type); 0 if it is not there
};

/// Elements are vectors of `getLanes()` if the tensor has the dim with lanes,
/// otherwise scalars. bf16 and f16 elements are computed as f32; i1 as i1; i32
/// as i32.
class ElementEmitter {
public:
  virtual ~ElementEmitter() = default;

  mlir::OpBuilder &builder;
  mlir::Location loc;

  /// The element(s) of `tensor` at `index`: loaded, or computed in place.
  virtual mlir::Value getElement(mlir::Value tensor,
                                 const ElementIndex &index) = 0;
  /// Lanes of a vector in this piece of code; 1 in scalar code.
  virtual int64_t getLanes() const = 0;
  /// Global index (`index` type) of this rank's first entry along the dim.
  virtual mlir::Value getGlobalOffset(TensorType type, llvm::StringRef dim) = 0;
  /// How many entries (`index` type) of this rank's block exist along the dim,
  /// which the type must have; those behind them are padding. A constant where
  /// all blocks are full.
  virtual mlir::Value getEntryCount(TensorType type, llvm::StringRef dim) = 0;
  /// The run's seed (i64) and the step's number (i64).
  virtual mlir::Value getSeed() = 0;
  virtual mlir::Value getStep() = 0;
  /// The run's value (f32) of an nd.run_setting of the module, in a form; null
  /// if there is none of that name.
  virtual mlir::Value getSetting(mlir::StringAttr name, SettingForm form) = 0;
  /// The number (i32) of a stream of random numbers: hashStream of its name
  /// (Philox.h), as a constant or as an argument of the code.
  virtual mlir::Value getStream(mlir::StringAttr name) = 0;
  /// The mesh, for local sizes.
  virtual MeshAttr getMesh() const = 0;

  /// Splats the scalar if only one of the two is a vector.
  void unify(mlir::Value &a, mlir::Value &b);
  /// A constant of the type in which elements of `elementType` are computed,
  /// with the shape of `like` (scalar or vector; null: scalar).
  mlir::Value constant(mlir::Type elementType, double value,
                       mlir::Value like = {});
  /// The type in which elements are computed (f32 for bf16 and f16), with the
  /// shape of `like`.
  mlir::Type getComputeType(mlir::Type elementType, mlir::Value like = {});
  /// Where entry `global` (`index` type) of the type's dim is on this rank. The
  /// entry may be negative or beyond the dim: then it is nowhere.
  LocalEntry findLocalEntry(TensorType type, llvm::StringRef dim,
                            mlir::Value global);
  /// The element if the rank has the entry, otherwise 0.
  mlir::Value selectIfHere(const LocalEntry &entry, mlir::Value element,
                           mlir::Type elementType);
  /// base (+ lane numbers) of a dim as i32 element(s).
  mlir::Value getIndexAsI32(const DimIndex &index);

protected:
  ElementEmitter(mlir::OpBuilder &builder, mlir::Location loc)
      : builder(builder), loc(loc) {}
};

} // namespace meshc::nd

#endif // MESHC_DIALECTS_ND_INTERFACES_ELEMENTEMITTER_H
