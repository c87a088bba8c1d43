//===- ArenaAttributes.cpp - what passes tell each other of the arena -----===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/ArenaAttributes.h"
#include "dialects/Exec/Order.h"
#include "dialects/Nd/Ops/LoopOps.h"

using namespace mlir;

namespace meshc::exec {

static constexpr llvm::StringLiteral offsetAttrName = "exec.offset",
                                     offsetsAttrName = "exec.offsets",
                                     stridesAttrName = "exec.strides",
                                     alternatesAttrName = "exec.alternates",
                                     scratchAttrName = "exec.scratch",
                                     arenaBytesAttrName = "exec.arena_bytes",
                                     gpuAttrName = "exec.gpu",
                                     budgetAttrName = "exec.memory_budget",
                                     policyAttrName = "exec.recompute_policy",
                                     recomputeAttrName = "exec.recompute",
                                     recomputeGainAttrName =
                                         "exec.recompute_gain",
                                     libraryWorkspaceAttrName =
                                         "exec.library_workspace";

//===----------------------------------------------------------------------===//
// Accessors
//===----------------------------------------------------------------------===//

/// Values whose places an op has: its results, and the arguments of a loop's
/// body.
static unsigned getPlaceCount(Operation *op) {
  auto scan = dyn_cast<nd::ScanOp>(op);
  return op->getNumResults() + (scan ? scan.getBlock().getNumArguments() : 0);
}

static std::optional<ArenaPlace> getPlace(Operation *op, unsigned number) {
  auto offsets = op->getAttrOfType<DenseI64ArrayAttr>(offsetsAttrName);
  if (!offsets)
    return std::nullopt;
  ArenaPlace place;
  place.offset = offsets[number];
  auto read = [&](StringRef name, SmallVector<int64_t, 2> &bytes) {
    if (auto lists = op->getAttrOfType<ArrayAttr>(name))
      llvm::append_range(bytes,
                         cast<DenseI64ArrayAttr>(lists[number]).asArrayRef());
  };
  read(stridesAttrName, place.strides);
  read(alternatesAttrName, place.alternates);
  return place;
}

std::optional<ArenaPlace> getPlace(Value value) {
  if (auto result = dyn_cast<OpResult>(value))
    return getPlace(result.getOwner(), result.getResultNumber());
  auto argument = cast<BlockArgument>(value);
  unsigned number = argument.getArgNumber();
  Operation *parent = argument.getOwner()->getParentOp();
  if (isa<nd::ScanOp>(parent))
    return getPlace(parent, parent->getNumResults() + number);
  auto offset = cast<FunctionOpInterface>(parent).getArgAttrOfType<IntegerAttr>(
      number, offsetAttrName);
  return offset ? std::optional(ArenaPlace{offset.getInt(), {}}) : std::nullopt;
}

bool hasPlaces(Operation *op) {
  return op->getAttrOfType<DenseI64ArrayAttr>(offsetsAttrName) != nullptr;
}

/// One list for each value; no attribute if all bytes are 0.
static void setMoves(Operation *op, StringRef name,
                     ArrayRef<ArrayRef<int64_t>> lists) {
  SmallVector<Attribute> attributes;
  bool moves = false;
  for (ArrayRef<int64_t> bytes : lists) {
    attributes.push_back(DenseI64ArrayAttr::get(op->getContext(), bytes));
    moves |= llvm::any_of(bytes, [](int64_t each) { return each != 0; });
  }
  if (moves)
    op->setDiscardableAttr(name, ArrayAttr::get(op->getContext(), attributes));
  else
    op->removeDiscardableAttr(name);
}

void setPlaces(Operation *op, ArrayRef<ArenaPlace> places) {
  SmallVector<int64_t> offsets;
  SmallVector<ArrayRef<int64_t>> strides, alternates;
  for (const ArenaPlace &place : places) {
    offsets.push_back(place.offset);
    strides.push_back(place.strides);
    alternates.push_back(place.alternates);
  }
  op->setDiscardableAttr(offsetsAttrName,
                         DenseI64ArrayAttr::get(op->getContext(), offsets));
  setMoves(op, stridesAttrName, strides);
  setMoves(op, alternatesAttrName, alternates);
}

void setOffset(NamedAttrList &attributes, MLIRContext *context,
               int64_t offset) {
  attributes.set(offsetAttrName, Builder(context).getI64IntegerAttr(offset));
}

std::optional<ScratchPlace> getScratchPlace(Operation *product) {
  auto place = product->getAttrOfType<DenseI64ArrayAttr>(scratchAttrName);
  return place ? std::optional(ScratchPlace{place[0], place[1]}) : std::nullopt;
}

void setScratchPlace(Operation *product, ScratchPlace place) {
  product->setDiscardableAttr(
      scratchAttrName, DenseI64ArrayAttr::get(product->getContext(),
                                              {place.offset, place.bytes}));
}

std::optional<int64_t> getArenaBytes(ModuleOp module) {
  auto bytes = module->getAttrOfType<IntegerAttr>(arenaBytesAttrName);
  return bytes ? std::optional(bytes.getInt()) : std::nullopt;
}

void setArenaBytes(ModuleOp module, int64_t bytes) {
  module->setAttr(arenaBytesAttrName,
                  Builder(module.getContext()).getI64IntegerAttr(bytes));
}

void setMemoryAims(ModuleOp module, const MemoryAims &aims) {
  Builder builder(module.getContext());
  if (aims.budget)
    module->setAttr(budgetAttrName, builder.getI64IntegerAttr(*aims.budget));
  if (aims.recomputesAll || aims.recomputesNothing)
    module->setAttr(policyAttrName, builder.getStringAttr(
                                        aims.recomputesAll ? "full" : "none"));
}

MemoryAims takeMemoryAims(ModuleOp module) {
  MemoryAims aims;
  if (auto budget =
          dyn_cast_or_null<IntegerAttr>(module->removeAttr(budgetAttrName)))
    aims.budget = budget.getInt();
  if (auto policy =
          dyn_cast_or_null<StringAttr>(module->removeAttr(policyAttrName))) {
    aims.recomputesAll = policy.getValue() == "full";
    aims.recomputesNothing = policy.getValue() == "none";
  }
  return aims;
}

void setRecompute(ModuleOp module) {
  module->setAttr(recomputeAttrName, UnitAttr::get(module.getContext()));
}

bool takeRecompute(ModuleOp module) {
  return bool(module->removeAttr(recomputeAttrName));
}

void setRecomputeGain(ModuleOp module, int64_t bytes) {
  module->setAttr(recomputeGainAttrName,
                  Builder(module.getContext()).getI64IntegerAttr(bytes));
}

int64_t takeRecomputeGain(ModuleOp module) {
  auto bytes =
      dyn_cast_or_null<IntegerAttr>(module->removeAttr(recomputeGainAttrName));
  return bytes ? bytes.getInt() : 0;
}

bool isForGpus(ModuleOp module) { return module->hasAttr(gpuAttrName); }

void setForGpus(ModuleOp module) {
  module->setAttr(gpuAttrName, UnitAttr::get(module.getContext()));
}

Library getLibrary(ModuleOp module) {
  return module->hasAttr(libraryWorkspaceAttrName) ? Library::Cuda
                                                   : Library::Host;
}

void setLibraryWorkspace(ModuleOp module) {
  module->setAttr(libraryWorkspaceAttrName, UnitAttr::get(module.getContext()));
}

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

static bool isOffset(int64_t offset) { return offset >= 0 && offset % 64 == 0; }

static LogicalResult verifyOffsets(Operation *op, NamedAttribute attribute) {
  auto offsets = dyn_cast<DenseI64ArrayAttr>(attribute.getValue());
  if (!offsets)
    return op->emitError() << "'exec.offsets' must be an array<i64>, got "
                           << attribute.getValue();
  if (static_cast<unsigned>(offsets.size()) != getPlaceCount(op))
    return op->emitError() << "'exec.offsets' must have one offset for each of "
                           << getPlaceCount(op) << " values, got "
                           << offsets.size();
  for (int64_t offset : offsets.asArrayRef())
    if (!isOffset(offset))
      return op->emitError()
             << "'exec.offsets' must be multiples of 64, got " << offset;
  return success();
}

/// Strides or alternates.
static LogicalResult verifyMoves(Operation *op, NamedAttribute attribute) {
  auto lists = dyn_cast<ArrayAttr>(attribute.getValue());
  bool isList = lists && lists.size() == getPlaceCount(op) &&
                llvm::all_of(lists, [](Attribute each) {
                  auto list = dyn_cast<DenseI64ArrayAttr>(each);
                  return list && llvm::all_of(list.asArrayRef(),
                                              [](int64_t s) { return s >= 0; });
                });
  if (isList)
    return success();
  return op->emitError() << "'" << attribute.getName().getValue()
                         << "' must be an array with an array<i64> "
                            "that is not negative for each of "
                         << getPlaceCount(op) << " values, got "
                         << attribute.getValue();
}

static LogicalResult verifyScratch(Operation *op, NamedAttribute attribute) {
  auto place = dyn_cast<DenseI64ArrayAttr>(attribute.getValue());
  if (place && place.size() == 2 && isOffset(place[0]) && place[1] > 0)
    return success();
  return op->emitError() << "'exec.scratch' must be array<i64: offset, bytes> "
                            "with an offset that is a multiple of 64 and at "
                            "least one byte, got "
                         << attribute.getValue();
}

static LogicalResult verifyOrders(Operation *op, NamedAttribute attribute) {
  auto orders = dyn_cast<ArrayAttr>(attribute.getValue());
  if (orders && orders.size() != op->getNumResults())
    return op->emitError() << "'" << ordersAttrName
                           << "' must have one order for each of "
                           << op->getNumResults() << " results, got "
                           << orders.size();
  if (orders && llvm::all_of(orders, [](Attribute order) {
        auto names = dyn_cast<ArrayAttr>(order);
        return names && llvm::all_of(names, llvm::IsaPred<StringAttr>);
      }))
    return success();
  return op->emitError() << "'" << ordersAttrName
                         << "' must be an array with the dim names of each "
                            "result, got "
                         << attribute.getValue();
}

/// Of a module.
static LogicalResult verifyProperty(Operation *op, NamedAttribute attribute) {
  StringRef name = attribute.getName();
  if (!isa<ModuleOp>(op))
    return op->emitError() << "'" << name << "' belongs on the module";
  auto bytes = dyn_cast<IntegerAttr>(attribute.getValue());
  bool isBytes = bytes && bytes.getType().isInteger(64) && bytes.getInt() >= 0;
  if (name == policyAttrName) {
    auto policy = dyn_cast<StringAttr>(attribute.getValue());
    if (policy && (policy.getValue() == "full" || policy.getValue() == "none"))
      return success();
    return op->emitError() << "'" << name
                           << "' must be \"full\" or \"none\", got "
                           << attribute.getValue();
  }
  bool wantsBytes = name == arenaBytesAttrName || name == budgetAttrName ||
                    name == recomputeGainAttrName;
  if (wantsBytes ? isBytes : isa<UnitAttr>(attribute.getValue()))
    return success();
  return op->emitError() << "'" << name << "' must be "
                         << (wantsBytes ? "an i64 that is not negative"
                                        : "without a value")
                         << ", got " << attribute.getValue();
}

LogicalResult ExecDialect::verifyOperationAttribute(Operation *op,
                                                    NamedAttribute attribute) {
  StringRef name = attribute.getName();
  if (name == offsetsAttrName)
    return verifyOffsets(op, attribute);
  if (name == stridesAttrName || name == alternatesAttrName)
    return verifyMoves(op, attribute);
  if (name == scratchAttrName)
    return verifyScratch(op, attribute);
  if (name == ordersAttrName)
    return verifyOrders(op, attribute);
  constexpr llvm::StringLiteral ofModules[] = {
      arenaBytesAttrName,   gpuAttrName,    libraryWorkspaceAttrName,
      budgetAttrName,       policyAttrName, recomputeAttrName,
      recomputeGainAttrName};
  if (llvm::is_contained(ofModules, name))
    return verifyProperty(op, attribute);
  return op->emitError() << "'" << name << "' is no attribute of the exec "
                         << "dialect for ops";
}

LogicalResult ExecDialect::verifyRegionArgAttribute(Operation *op, unsigned,
                                                    unsigned index,
                                                    NamedAttribute attribute) {
  auto refuse = [&] {
    return op->emitError() << "argument " << index << ": '"
                           << attribute.getName().getValue() << "' ";
  };
  if (attribute.getName() != offsetAttrName)
    return refuse() << "is no attribute of the exec dialect for arguments";
  auto offset = dyn_cast<IntegerAttr>(attribute.getValue());
  if (offset && offset.getType().isInteger(64) && isOffset(offset.getInt()))
    return success();
  return refuse() << "must be an i64 that is a multiple of 64, got "
                  << attribute.getValue();
}

} // namespace meshc::exec
