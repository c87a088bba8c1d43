//===- ArenaAttributes.cpp - what passes tell each other of the arena -----===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/ArenaAttributes.h"
#include "dialects/Exec/Order.h"

using namespace mlir;

namespace meshc::exec {

static constexpr llvm::StringLiteral offsetAttrName = "exec.offset",
                                     offsetsAttrName = "exec.offsets",
                                     scratchAttrName = "exec.scratch",
                                     arenaBytesAttrName = "exec.arena_bytes",
                                     epiloguesAttrName = "exec.epilogues",
                                     libraryWorkspaceAttrName =
                                         "exec.library_workspace";

//===----------------------------------------------------------------------===//
// Accessors
//===----------------------------------------------------------------------===//

std::optional<ArrayRef<int64_t>> getOffsets(Operation *op) {
  auto offsets = op->getAttrOfType<DenseI64ArrayAttr>(offsetsAttrName);
  return offsets ? std::optional(offsets.asArrayRef()) : std::nullopt;
}

void setOffsets(Operation *op, ArrayRef<int64_t> offsets) {
  op->setDiscardableAttr(offsetsAttrName,
                         DenseI64ArrayAttr::get(op->getContext(), offsets));
}

std::optional<int64_t> getOffset(FunctionOpInterface function,
                                 unsigned argument) {
  auto offset =
      function.getArgAttrOfType<IntegerAttr>(argument, offsetAttrName);
  return offset ? std::optional(offset.getInt()) : std::nullopt;
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

bool supportsEpilogues(ModuleOp module) {
  return module->hasAttr(epiloguesAttrName);
}

void setSupportsEpilogues(ModuleOp module) {
  module->setAttr(epiloguesAttrName, UnitAttr::get(module.getContext()));
}

bool hasLibraryWorkspace(ModuleOp module) {
  return module->hasAttr(libraryWorkspaceAttrName);
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
  if (static_cast<unsigned>(offsets.size()) != op->getNumResults())
    return op->emitError() << "'exec.offsets' must have one offset for each of "
                           << op->getNumResults() << " results, got "
                           << offsets.size();
  for (int64_t offset : offsets.asArrayRef())
    if (!isOffset(offset))
      return op->emitError()
             << "'exec.offsets' must be multiples of 64, got " << offset;
  return success();
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
  bool wantsBytes = name == arenaBytesAttrName;
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
  if (name == scratchAttrName)
    return verifyScratch(op, attribute);
  if (name == ordersAttrName)
    return verifyOrders(op, attribute);
  if (name == arenaBytesAttrName || name == epiloguesAttrName ||
      name == libraryWorkspaceAttrName)
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
