//===- TensorAttributes.h - what passes tell each other of a tensor -------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Accessors of the nd dialect's discardable attributes (NdDialect.td). Passes
/// read and write them here only. The dialect verifies them, so that an
/// accessor never meets an attribute of another type or an unknown word.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_ND_TENSORATTRIBUTES_H
#define MESHC_DIALECTS_ND_TENSORATTRIBUTES_H

#include "dialects/Nd/NdTypes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace meshc::nd {

/// What is known of a tensor beside its type: the attributes of an op (for its
/// results), or of an argument or result of a function.
class TensorAttributes {
public:
  /// Null is a dictionary without attributes.
  explicit TensorAttributes(mlir::DictionaryAttr attributes)
      : attributes(attributes) {}

  static TensorAttributes of(mlir::Operation *op);
  /// Of any value. The value may be an argument of a loop's body: a carried one
  /// has the attributes of the loop's result, another one those of its operand.
  static TensorAttributes of(mlir::Value value);
  static TensorAttributes ofArgument(mlir::FunctionOpInterface function,
                                     unsigned index);
  static TensorAttributes ofResult(mlir::FunctionOpInterface function,
                                   unsigned index);

  /// The name in the source; null if the tensor has none.
  mlir::StringAttr getName() const;
  /// Nothing for ops.
  std::optional<TensorRole> getRole() const;
  bool hasRole(TensorRole role) const { return getRole() == role; }
  /// Nothing if no class is given, which means an activation.
  std::optional<TensorClass> getClass() const;
  bool hasClass(TensorClass tensorClass) const {
    return getClass() == tensorClass;
  }
  /// The parameter that a gradient or an optimizer's value belongs to; null
  /// for other tensors.
  mlir::StringAttr getParameter() const;
  /// The dims as declared, an array of strings; null if absent.
  mlir::ArrayAttr getOrder() const;
  /// Of an argument or result of a function between the phases layout and
  /// partition: the type that it is to have; null if absent, and for ops.
  mlir::TypeAttr getSharding() const;

private:
  template <typename T> T get(llvm::StringRef name) const {
    return attributes ? attributes.getAs<T>(name) : T();
  }
  mlir::DictionaryAttr attributes;
};

/// Whether the role is part of the state that a step function updates.
inline bool isState(std::optional<TensorRole> role) {
  return role == TensorRole::Parameter || role == TensorRole::Optimizer ||
         role == TensorRole::Average;
}

/// Whether training steps alone compute the tensor: a scalar f32 for the
/// runtime to read.
inline bool isOfTraining(std::optional<TensorRole> role) {
  return role == TensorRole::TrainingMetric || role == TensorRole::Skipped;
}

/// Whether the tensor keeps its value from one call of a step function to the
/// next, which reads and replaces it.
inline bool isCarriedBetweenSteps(std::optional<TensorRole> role) {
  return isState(role) || role == TensorRole::Cache ||
         role == TensorRole::Statistic || role == TensorRole::Batches;
}

/// Whether a step function only writes the tensor, for the runtime to read.
inline bool isOutput(std::optional<TensorRole> role) {
  return role == TensorRole::Metric || role == TensorRole::Logits ||
         isOfTraining(role);
}
/// Whether all ranks have the whole tensor: what the runtime reads or writes as
/// one, whatever the layout.
inline bool isWholeOnRanks(std::optional<TensorRole> role) {
  return isOutput(role) || role == TensorRole::Token ||
         role == TensorRole::Position || role == TensorRole::Batches ||
         role == TensorRole::Rest;
}

/// Set one attribute in a list of them. The list is that of an op, or of an
/// argument or result of a function.
void setName(mlir::NamedAttrList &attributes, mlir::StringAttr name);
void setRole(mlir::NamedAttrList &attributes, mlir::MLIRContext *context,
             TensorRole role);
void setClass(mlir::NamedAttrList &attributes, mlir::MLIRContext *context,
              TensorClass tensorClass);
void setParameter(mlir::NamedAttrList &attributes, mlir::StringAttr parameter);
void setOrder(mlir::NamedAttrList &attributes, mlir::ArrayAttr order);
void setSharding(mlir::NamedAttrList &attributes, mlir::TypeAttr sharding);

/// Set one attribute of an op.
void setName(mlir::Operation *op, mlir::StringAttr name);
void setClass(mlir::Operation *op, TensorClass tensorClass);
void setParameter(mlir::Operation *op, mlir::StringAttr parameter);

/// Of an op between the phases layout and partition: the type that each result
/// is to have, an array of one TypeAttr per result; null if absent.
mlir::ArrayAttr getShardings(mlir::Operation *op);
void setShardings(mlir::Operation *op,
                  llvm::ArrayRef<mlir::Attribute> shardings);

/// Of an op between the phases layout and partition: for each result, the names
/// of its *open* dims, which no rule of the layout places: partitioning may cut
/// them. An array of arrays of strings; null if no result has open dims.
mlir::ArrayAttr getOpenDims(mlir::Operation *op);
void setOpenDims(mlir::Operation *op, llvm::ArrayRef<mlir::Attribute> dims);

/// The model's name, an attribute of its module; null if absent.
mlir::StringAttr getModelName(mlir::ModuleOp module);
void setModelName(mlir::ModuleOp module, mlir::StringAttr name);
/// How many positions a generated text has at most, an attribute of the module;
/// 0 if there is no `generate_step`.
int64_t getPositions(mlir::ModuleOp module);
void setPositions(mlir::ModuleOp module, int64_t count);
/// Why evaluations need complete batches, an attribute of the module: a clause
/// for messages, as "an operation combines entries of different examples
/// (gpt.mesh:14:13: 'slice')". Null if they do not need them.
mlir::StringAttr getWholeBatches(mlir::ModuleOp module);
void setWholeBatches(mlir::ModuleOp module, mlir::StringAttr text);
/// Whether the metrics of an evaluation depend on how the examples are divided
/// into batches, as where the model uses the mean of a batch.
bool dependsOnBatches(mlir::ModuleOp module);
void setDependsOnBatches(mlir::ModuleOp module);
/// The mesh of a module. MeshAttr::of finds it from any op within.
void setMesh(mlir::ModuleOp module, MeshAttr mesh);

/// Give `to` the name, class or parameter of `from`, if it has one.
void copyName(mlir::Operation *from, mlir::Operation *to);
void copyClass(mlir::Operation *from, mlir::Operation *to);
void copyParameter(mlir::Operation *from, mlir::Operation *to);

/// The value of an op's result in `eval_step`; null if it is the usual one.
mlir::FloatAttr getEvalValue(mlir::Operation *op);
inline constexpr llvm::StringLiteral evalValueAttrName = "nd.eval_value";

void removeName(mlir::NamedAttrList &attributes);
void removeSharding(mlir::NamedAttrList &attributes);
/// Removes the open dims, too.
void removeShardings(mlir::Operation *op);
void removeClass(mlir::Operation *op);
void removeParameter(mlir::Operation *op);

/// Whether the attribute tells who a tensor is and leaves its values alone:
/// name, class, parameter or sharding. Ops that differ in these alone compute
/// the same.
bool isIdentity(llvm::StringRef attributeName);
/// Removes all attributes of the op for which isIdentity holds.
void removeIdentity(mlir::Operation *op);

/// Fails with an error on `op` unless `attributes` may belong to a tensor.
/// `place` says in the message which one, such as "result 2".
llvm::LogicalResult verifyTensorAttributes(mlir::Operation *op,
                                           mlir::DictionaryAttr attributes,
                                           const llvm::Twine &place);

} // namespace meshc::nd

#endif // MESHC_DIALECTS_ND_TENSORATTRIBUTES_H
