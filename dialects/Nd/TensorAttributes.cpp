//===- TensorAttributes.cpp - what passes tell each other of a tensor -----===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/TensorAttributes.h"
#include "dialects/Nd/Ops/LoopOps.h"
#include "dialects/Nd/RecomputeBlock.h"
#include "dialects/Nd/RoundedParts.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace meshc::nd {

static constexpr llvm::StringLiteral nameAttrName = "nd.name",
                                     roleAttrName = "nd.role",
                                     classAttrName = "nd.class",
                                     parameterAttrName = "nd.of",
                                     orderAttrName = "nd.order",
                                     shardingAttrName = "nd.sharding",
                                     openDimsAttrName = "nd.open_dims",
                                     meshAttrName = "nd.mesh",
                                     modelAttrName = "nd.model",
                                     positionsAttrName = "nd.positions",
                                     wholeBatchesAttrName = "nd.whole_batches",
                                     dependsOnBatchesAttrName =
                                         "nd.depends_on_batches";

/// Of a module that was dumped; lib/Pipeline/Dump.cpp checks and removes them.
static constexpr llvm::StringLiteral dumpAttrNames[] = {
    "nd.phase", "nd.targets", "nd.indices", "nd.ignored", "nd.manifest"};

//===----------------------------------------------------------------------===//
// Accessors
//===----------------------------------------------------------------------===//

TensorAttributes TensorAttributes::of(Operation *op) {
  // Ops without properties keep their inherent attributes there, too.
  return TensorAttributes(op->getRawDictionaryAttrs());
}

TensorAttributes TensorAttributes::ofArgument(FunctionOpInterface function,
                                              unsigned index) {
  return TensorAttributes(function.getArgAttrDict(index));
}

TensorAttributes TensorAttributes::ofResult(FunctionOpInterface function,
                                            unsigned index) {
  return TensorAttributes(function.getResultAttrDict(index));
}

TensorAttributes TensorAttributes::of(Value value) {
  if (auto result = dyn_cast<OpResult>(value)) {
    auto scan = dyn_cast<ScanOp>(result.getOwner());
    return scan ? TensorAttributes(
                      scan.getResultAttributes(result.getResultNumber()))
                : of(result.getOwner());
  }
  auto argument = cast<BlockArgument>(value);
  Operation *parent = argument.getOwner()->getParentOp();
  if (auto scan = dyn_cast<ScanOp>(parent)) {
    Tie tie = scan.getTie(argument);
    return of(tie.result ? Value(tie.result) : tie.operand);
  }
  auto function = dyn_cast<FunctionOpInterface>(parent);
  return function ? ofArgument(function, argument.getArgNumber())
                  : TensorAttributes(DictionaryAttr());
}

StringAttr TensorAttributes::getName() const {
  return get<StringAttr>(nameAttrName);
}

std::optional<TensorRole> TensorAttributes::getRole() const {
  auto word = get<StringAttr>(roleAttrName);
  return word ? symbolizeTensorRole(word.getValue()) : std::nullopt;
}

std::optional<TensorClass> TensorAttributes::getClass() const {
  auto word = get<StringAttr>(classAttrName);
  return word ? symbolizeTensorClass(word.getValue()) : std::nullopt;
}

StringAttr TensorAttributes::getParameter() const {
  return get<StringAttr>(parameterAttrName);
}

ArrayAttr TensorAttributes::getOrder() const {
  return get<ArrayAttr>(orderAttrName);
}

TypeAttr TensorAttributes::getSharding() const {
  return get<TypeAttr>(shardingAttrName);
}

void setName(NamedAttrList &attributes, StringAttr name) {
  attributes.set(nameAttrName, name);
}

void setRole(NamedAttrList &attributes, MLIRContext *context, TensorRole role) {
  attributes.set(roleAttrName,
                 StringAttr::get(context, stringifyTensorRole(role)));
}

void setClass(NamedAttrList &attributes, MLIRContext *context,
              TensorClass tensorClass) {
  attributes.set(classAttrName,
                 StringAttr::get(context, stringifyTensorClass(tensorClass)));
}

void setParameter(NamedAttrList &attributes, StringAttr parameter) {
  attributes.set(parameterAttrName, parameter);
}

void setOrder(NamedAttrList &attributes, ArrayAttr order) {
  attributes.set(orderAttrName, order);
}

void setSharding(NamedAttrList &attributes, TypeAttr sharding) {
  attributes.set(shardingAttrName, sharding);
}

ArrayAttr getShardings(Operation *op) {
  return dyn_cast_or_null<ArrayAttr>(op->getDiscardableAttr(shardingAttrName));
}

void setShardings(Operation *op, ArrayRef<Attribute> shardings) {
  op->setDiscardableAttr(shardingAttrName,
                         ArrayAttr::get(op->getContext(), shardings));
}

ArrayAttr getOpenDims(Operation *op) {
  return dyn_cast_or_null<ArrayAttr>(op->getDiscardableAttr(openDimsAttrName));
}

void setOpenDims(Operation *op, ArrayRef<Attribute> dims) {
  op->setDiscardableAttr(openDimsAttrName,
                         ArrayAttr::get(op->getContext(), dims));
}

StringAttr getModelName(ModuleOp module) {
  return module->getAttrOfType<StringAttr>(modelAttrName);
}

void setModelName(ModuleOp module, StringAttr name) {
  module->setAttr(modelAttrName, name);
}

int64_t getPositions(ModuleOp module) {
  auto count = module->getAttrOfType<IntegerAttr>(positionsAttrName);
  return count ? count.getInt() : 0;
}

void setPositions(ModuleOp module, int64_t count) {
  module->setAttr(positionsAttrName,
                  Builder(module.getContext()).getI64IntegerAttr(count));
}

StringAttr getWholeBatches(ModuleOp module) {
  return module->getAttrOfType<StringAttr>(wholeBatchesAttrName);
}

void setWholeBatches(ModuleOp module, StringAttr text) {
  module->setAttr(wholeBatchesAttrName, text);
}

bool dependsOnBatches(ModuleOp module) {
  return module->hasAttr(dependsOnBatchesAttrName);
}

void setDependsOnBatches(ModuleOp module) {
  module->setAttr(dependsOnBatchesAttrName, UnitAttr::get(module.getContext()));
}

void setMesh(ModuleOp module, MeshAttr mesh) {
  module->setAttr(meshAttrName, mesh);
}

MeshAttr MeshAttr::of(Operation *op) {
  for (Operation *parent = op; parent; parent = parent->getParentOp())
    if (auto mesh = parent->getAttrOfType<MeshAttr>(meshAttrName))
      return mesh;
  return MeshAttr::get(op->getContext(), ArrayRef<AxisAttr>());
}

void setName(Operation *op, StringAttr name) {
  op->setDiscardableAttr(nameAttrName, name);
}

void setClass(Operation *op, TensorClass tensorClass) {
  op->setDiscardableAttr(
      classAttrName,
      StringAttr::get(op->getContext(), stringifyTensorClass(tensorClass)));
}

void setParameter(Operation *op, StringAttr parameter) {
  op->setDiscardableAttr(parameterAttrName, parameter);
}

static void copy(Operation *from, Operation *to, StringRef name) {
  if (Attribute value = from->getDiscardableAttr(name))
    to->setDiscardableAttr(name, value);
}

void copyName(Operation *from, Operation *to) { copy(from, to, nameAttrName); }

void copyClass(Operation *from, Operation *to) {
  copy(from, to, classAttrName);
}

void copyParameter(Operation *from, Operation *to) {
  copy(from, to, parameterAttrName);
}

FloatAttr getEvalValue(Operation *op) {
  return dyn_cast_or_null<FloatAttr>(op->getDiscardableAttr(evalValueAttrName));
}

void removeName(NamedAttrList &attributes) { attributes.erase(nameAttrName); }

void removeSharding(NamedAttrList &attributes) {
  attributes.erase(shardingAttrName);
}

void removeShardings(Operation *op) {
  op->removeDiscardableAttr(shardingAttrName);
  op->removeDiscardableAttr(openDimsAttrName);
}

void removeClass(Operation *op) { op->removeDiscardableAttr(classAttrName); }

void removeParameter(Operation *op) {
  op->removeDiscardableAttr(parameterAttrName);
}

bool isIdentity(StringRef attributeName) {
  return attributeName == nameAttrName || attributeName == classAttrName ||
         attributeName == parameterAttrName ||
         attributeName == shardingAttrName || attributeName == openDimsAttrName;
}

void removeIdentity(Operation *op) {
  for (StringRef name : {nameAttrName, classAttrName, parameterAttrName,
                         shardingAttrName, openDimsAttrName})
    op->removeDiscardableAttr(name);
}

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

namespace {
/// One attribute, where it stands, and its neighbours.
struct Placed {
  Operation *op;
  NamedAttribute attribute;
  TensorAttributes neighbours;
  std::string place; ///< "argument 2 of 'step': ", empty for an op

  bool isOnOp() const { return place.empty(); }
  InFlightDiagnostic refuse() const {
    return op->emitError() << place << "'" << attribute.getName().getValue()
                           << "' ";
  }
};
} // namespace

static LogicalResult verifyText(const Placed &placed) {
  auto text = dyn_cast<StringAttr>(placed.attribute.getValue());
  if (text && !text.empty())
    return success();
  return placed.refuse() << "must be a string that is not empty, got "
                         << placed.attribute.getValue();
}

/// `isKnown` accepts a word; `words` lists the accepted ones for the message.
static LogicalResult verifyWord(const Placed &placed, StringRef words,
                                llvm::function_ref<bool(StringRef)> isKnown) {
  auto text = dyn_cast<StringAttr>(placed.attribute.getValue());
  if (text && isKnown(text.getValue()))
    return success();
  return placed.refuse() << "must be one of " << words << ", got "
                         << placed.attribute.getValue();
}

static LogicalResult verifyRole(const Placed &placed) {
  if (placed.isOnOp())
    return placed.refuse()
           << "belongs on the arguments and results of functions, not on ops";
  return verifyWord(
      placed,
      R"("parameter", "optimizer", "input", "metric", "cache", "token", "position", "logits", "training_metric", "skipped", "average", "statistic", "batches", "rest")",
      [](StringRef word) { return symbolizeTensorRole(word).has_value(); });
}

static LogicalResult verifyClass(const Placed &placed) {
  return verifyWord(placed, R"("parameter", "gradient", "optimizer")",
                    [](StringRef word) {
                      auto known = symbolizeTensorClass(word);
                      return known && *known != TensorClass::Activation;
                    });
}

static LogicalResult verifyParameter(const Placed &placed) {
  if (failed(verifyText(placed)))
    return failure();
  const TensorAttributes &tensor = placed.neighbours;
  if (tensor.hasClass(TensorClass::Gradient) ||
      tensor.hasClass(TensorClass::Optimizer) ||
      tensor.hasRole(TensorRole::Optimizer) ||
      tensor.hasRole(TensorRole::Average))
    return success();
  return placed.refuse() << "names the parameter of a gradient or of an "
                            "optimizer's value, so 'nd.class' must be "
                            "\"gradient\" or \"optimizer\"";
}

static LogicalResult verifyOrder(const Placed &placed) {
  auto names = dyn_cast<ArrayAttr>(placed.attribute.getValue());
  if (names && llvm::all_of(names, llvm::IsaPred<StringAttr>))
    return success();
  return placed.refuse() << "must be an array of dim names, got "
                         << placed.attribute.getValue();
}

/// VerifyLayout compares the types with the mesh and the layout.
static LogicalResult verifySharding(const Placed &placed) {
  Attribute value = placed.attribute.getValue();
  if (!placed.isOnOp()) {
    if (isa<TypeAttr>(value))
      return success();
    return placed.refuse() << "must be the type of a tensor, got " << value;
  }
  auto types = dyn_cast<ArrayAttr>(value);
  size_t results = placed.op->getNumResults();
  if (types && types.size() == results &&
      llvm::all_of(types, llvm::IsaPred<TypeAttr>))
    return success();
  return placed.refuse() << "must be an array of " << results
                         << (results == 1 ? " type" : " types")
                         << ", one for each result; got " << value;
}

static LogicalResult verifyOpenDims(const Placed &placed) {
  auto lists = dyn_cast<ArrayAttr>(placed.attribute.getValue());
  auto areOf = [](Attribute names, Type type) {
    auto list = dyn_cast<ArrayAttr>(names);
    auto tensor = dyn_cast<TensorType>(type);
    return list && llvm::all_of(list, [&](Attribute name) {
             auto text = dyn_cast<StringAttr>(name);
             return text && tensor && tensor.hasDim(text.getValue());
           });
  };
  if (placed.isOnOp() && lists && lists.size() == placed.op->getNumResults() &&
      llvm::all_of(llvm::zip(lists, placed.op->getResultTypes()),
                   [&](auto pair) {
                     return areOf(std::get<0>(pair), std::get<1>(pair));
                   }))
    return success();
  return placed.refuse() << "must be on an op: for each result an array of "
                            "names of its dims; got "
                         << placed.attribute.getValue();
}

/// An attribute that the step functions are built from.
static LogicalResult verifyEvalValue(const Placed &placed) {
  Operation *op = placed.op;
  auto tensor = op->getNumResults() == 1
                    ? dyn_cast<TensorType>(op->getResult(0).getType())
                    : TensorType();
  if (isa<FloatAttr>(placed.attribute.getValue()) && tensor && tensor.isFloat())
    return success();
  return placed.refuse() << "must be a float, on an op whose result is a "
                            "tensor of floats; got "
                         << placed.attribute.getValue();
}

static LogicalResult verifyRecompute(const Placed &placed) {
  auto number = dyn_cast<IntegerAttr>(placed.attribute.getValue());
  if (number && number.getType().isInteger(64) && number.getInt() >= 0)
    return success();
  return placed.refuse() << "must be the number of a block, an i64 of at least "
                            "0, got "
                         << placed.attribute.getValue();
}

static LogicalResult verifyRoundedParts(const Placed &placed) {
  auto isShort = [](Type type) {
    auto tensor = dyn_cast<TensorType>(type);
    return tensor && tensor.isShortFloat();
  };
  if (isa<UnitAttr>(placed.attribute.getValue()) &&
      llvm::any_of(placed.op->getResultTypes(), isShort))
    return success();
  return placed.refuse()
         << "must have no value, on an op with a result of bf16 "
            "or f16; got "
         << placed.attribute.getValue();
}

/// Of an op, and of arguments and results.
static LogicalResult verifyOfTensor(const Placed &placed) {
  StringRef name = placed.attribute.getName();
  if (name == nameAttrName)
    return verifyText(placed);
  if (name == roleAttrName)
    return verifyRole(placed);
  if (name == classAttrName)
    return verifyClass(placed);
  if (name == parameterAttrName)
    return verifyParameter(placed);
  if (name == orderAttrName)
    return verifyOrder(placed);
  if (name == shardingAttrName)
    return verifySharding(placed);
  if (name == openDimsAttrName)
    return verifyOpenDims(placed);
  return placed.refuse() << "is no attribute of the nd dialect"
                         << (placed.isOnOp() ? "" : " for tensors");
}

LogicalResult NdDialect::verifyOperationAttribute(Operation *op,
                                                  NamedAttribute attribute) {
  Placed placed{op, attribute, TensorAttributes::of(op), ""};
  StringRef name = attribute.getName();
  if (name == meshAttrName) {
    if (isa<MeshAttr>(attribute.getValue()))
      return success();
    return placed.refuse() << "must be a #nd.mesh<…>, got "
                           << attribute.getValue();
  }
  if (name == modelAttrName || name == wholeBatchesAttrName)
    return verifyText(placed);
  if (name == dependsOnBatchesAttrName) {
    if (isa<UnitAttr>(attribute.getValue()))
      return success();
    return placed.refuse() << "has no value, got " << attribute.getValue();
  }
  if (name == positionsAttrName) {
    auto count = dyn_cast<IntegerAttr>(attribute.getValue());
    if (count && count.getType().isInteger(64) && count.getInt() > 0)
      return success();
    return placed.refuse() << "must be an i64 above 0, got "
                           << attribute.getValue();
  }
  if (name == evalValueAttrName)
    return verifyEvalValue(placed);
  if (name == recomputeAttrName)
    return verifyRecompute(placed);
  if (name == roundedPartsAttrName)
    return verifyRoundedParts(placed);
  if (llvm::is_contained(dumpAttrNames, name))
    return success();
  return verifyOfTensor(placed);
}

LogicalResult NdDialect::verifyRegionArgAttribute(Operation *op, unsigned,
                                                  unsigned index,
                                                  NamedAttribute attribute) {
  auto function = cast<FunctionOpInterface>(op);
  return verifyOfTensor(
      {op, attribute, TensorAttributes::ofArgument(function, index),
       ("argument " + Twine(index) + " of '" + function.getName() + "': ")
           .str()});
}

LogicalResult NdDialect::verifyRegionResultAttribute(Operation *op, unsigned,
                                                     unsigned index,
                                                     NamedAttribute attribute) {
  auto function = cast<FunctionOpInterface>(op);
  return verifyOfTensor(
      {op, attribute, TensorAttributes::ofResult(function, index),
       ("result " + Twine(index) + " of '" + function.getName() + "': ")
           .str()});
}

LogicalResult verifyTensorAttributes(Operation *op, DictionaryAttr attributes,
                                     const Twine &place) {
  for (NamedAttribute attribute : attributes)
    if (failed(verifyOfTensor({op, attribute, TensorAttributes(attributes),
                               (place + ": ").str()})))
      return failure();
  return success();
}

} // namespace meshc::nd
