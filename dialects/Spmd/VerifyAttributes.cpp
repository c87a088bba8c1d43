//===- VerifyAttributes.cpp - discardable attributes of the dialect -------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/Ops/LoopOps.h"
#include "dialects/Spmd/SpmdOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;

namespace meshc::spmd {

namespace {
/// An attribute that an op may have: on which ops, and with which values.
struct KnownAttribute {
  llvm::StringLiteral name;
  llvm::StringLiteral place; ///< for messages: "a loop"
  bool (*isPlace)(Operation *);
  llvm::StringLiteral value; ///< for messages: "an i64 above 0"
  bool (*isValue)(Attribute);
};
} // namespace

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

template <typename... Ops> static bool isOneOf(Operation *op) {
  return isa<Ops...>(op);
}

/// A window, what becomes of it, and what moves values between ranks.
static bool movesValues(Operation *op) {
  return isa<CollectiveOpInterface, ReshardOp>(op) ||
         op->getDialect() == op->getContext()->getLoadedDialect<SpmdDialect>();
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

static bool isPositive(Attribute attribute) {
  auto number = dyn_cast<FloatAttr>(attribute);
  return number && number.getValue().isFiniteNonZero() &&
         !number.getValue().isNegative();
}

static bool isNotNegative(Attribute attribute) {
  auto number = dyn_cast<FloatAttr>(attribute);
  return number && number.getValue().isFinite() &&
         number.getValueAsDouble() >= 0;
}

/// Whether the attribute has a value of this kind for each name.
template <bool (*isValue)(Attribute)>
static bool isDictionaryOf(Attribute attribute) {
  auto entries = dyn_cast<DictionaryAttr>(attribute);
  return entries && llvm::all_of(entries, [](NamedAttribute entry) {
           return isValue(entry.getValue());
         });
}

static bool isShare(Attribute attribute) {
  auto number = dyn_cast<FloatAttr>(attribute);
  return number && number.getValueAsDouble() >= 0 &&
         number.getValueAsDouble() <= 1;
}

/// Whether the attribute is an i64 of at least this.
template <int64_t least> static bool isAtLeast(Attribute attribute) {
  auto number = dyn_cast<IntegerAttr>(attribute);
  return number && number.getType().isInteger(64) && number.getInt() >= least;
}

template <typename Element> static bool isListOf(Attribute attribute) {
  auto list = dyn_cast<ArrayAttr>(attribute);
  return list && llvm::all_of(list, llvm::IsaPred<Element>);
}

template <typename Kind> static bool isA(Attribute attribute) {
  return isa<Kind>(attribute);
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

static constexpr llvm::StringLiteral
    numbersAboveZero = "a dictionary of f64 numbers above 0",
    numbersFromZero = "a dictionary of f64 numbers from 0 on";

static constexpr KnownAttribute knownAttributes[] = {
    {"spmd.causes", "a window or collective", movesValues,
     "an array of locations", isListOf<LocationAttr>},
    {useAttrName, "a window or collective", movesValues, "an i64 above 1",
     isAtLeast<2>},
    {"spmd.plan", "a function", isOneOf<FunctionOpInterface>, "a #spmd.plan<…>",
     isA<PlanAttr>},
    {"spmd.price", "a function", isOneOf<FunctionOpInterface>, numbersFromZero,
     isDictionaryOf<isNotNegative>},
    {"spmd.shared_axes", "a loop", isOneOf<nd::ScanOp>,
     "an array of names of axes", isListOf<StringAttr>},
    {"spmd.gather_once", "a module", isOneOf<ModuleOp>, "without a value",
     isA<UnitAttr>},
    {"spmd.refused_share", "a module", isOneOf<ModuleOp>, "an f64 from 0 on",
     isNotNegative},
    {"spmd.memory_bound", "a module", isOneOf<ModuleOp>, "an i64 above 0",
     isAtLeast<1>},
    {"spmd.byte_costs", "a module", isOneOf<ModuleOp>, numbersAboveZero,
     isDictionaryOf<isPositive>},
    {"spmd.latency_bytes", "a module", isOneOf<ModuleOp>, numbersFromZero,
     isDictionaryOf<isNotNegative>},
    {"spmd.flops_per_byte", "a module", isOneOf<ModuleOp>, numbersFromZero,
     isDictionaryOf<isNotNegative>},
    {"spmd.overlap", "a module", isOneOf<ModuleOp>, "an f64 from 0 to 1",
     isShare},
};

LogicalResult SpmdDialect::verifyOperationAttribute(Operation *op,
                                                    NamedAttribute attribute) {
  StringRef name = attribute.getName();
  const auto *known =
      llvm::find_if(knownAttributes, [&](const KnownAttribute &each) {
        return each.name == name;
      });
  if (known == std::end(knownAttributes))
    return op->emitError() << "'" << name << "' is no attribute that the "
                           << "dialect 'spmd' knows";
  if (!known->isPlace(op))
    return op->emitError() << "'" << name << "' must be on " << known->place;
  if (!known->isValue(attribute.getValue()))
    return op->emitError() << "'" << name << "' must be " << known->value
                           << ", got " << attribute.getValue();
  return success();
}

} // namespace meshc::spmd
