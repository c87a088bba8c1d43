//===- VerifyLayout.cpp - the guarantees of the layout phase --------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/LayoutRules.h"
#include "dialects/Nd/NdInterfaces.h"
#include "dialects/Nd/Ops/LoopOps.h"
#include "dialects/Nd/TensorAttributes.h"
#include "lib/Layout/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace meshc::layout {

#define GEN_PASS_DEF_VERIFYLAYOUT
#include "lib/Layout/Passes.h.inc"

namespace {

struct VerifyLayout : impl::VerifyLayoutBase<VerifyLayout> {
  void runOnOperation() override {
    ok = true;
    states.clear();
    mesh = nd::MeshAttr::of(getOperation());
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      for (auto [index, type] : llvm::enumerate(function.getArgumentTypes())) {
        auto tensor = nd::TensorAttributes::ofArgument(function, index);
        check(function, {"argument", index}, type, tensor.getSharding());
        checkState(function, tensor);
      }
      for (auto [index, type] : llvm::enumerate(function.getResultTypes())) {
        auto tensor = nd::TensorAttributes::ofResult(function, index);
        check(function, {"result", index}, type, tensor.getSharding());
        checkState(function, tensor);
      }
      function.walk([&](Operation *op) { checkOp(op); });
    }
    if (!ok)
      signalPassFailure();
  }

private:
  using Place = std::pair<StringRef, size_t>; ///< as in "argument", 2

  InFlightDiagnostic fail(Operation *op) {
    ok = false;
    return op->emitOpError();
  }

  void checkOp(Operation *op) {
    if (isa<nd::CompositeOpInterface>(op))
      fail(op) << "remains after the layout phase, which leaves primitive ops "
                  "only";
    if (op->getNumResults() == 0)
      return;
    ArrayAttr shardings = nd::getShardings(op);
    if (!shardings) {
      fail(op) << "needs one sharding for each result in nd.sharding";
      return;
    }
    for (auto [index, type, sharding] :
         llvm::enumerate(op->getResultTypes(), shardings))
      check(op, {"result", index}, type, sharding);
    if (auto loop = dyn_cast<nd::ScanOp>(op)) {
      for (auto [index, value] : llvm::enumerate(loop.getStacked()))
        checkStacked(loop, {"stacked operand", index}, value);
      for (auto [index, value] : llvm::enumerate(loop.getStackedResults()))
        checkStacked(loop, {"stacked result", index}, value);
    }
  }

  /// The sharding of any value; null if the layout left none.
  static Attribute getSharding(Value value) {
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      // An entry has that of its tensor, which cuts the entry's dims alike.
      if (auto loop =
              dyn_cast<nd::ScanOp>(argument.getOwner()->getParentOp())) {
        nd::Tie tie = loop.getTie(argument);
        return getSharding(tie.result ? Value(tie.result) : tie.operand);
      }
      return nd::TensorAttributes::of(value).getSharding();
    }
    ArrayAttr shardings = nd::getShardings(value.getDefiningOp());
    return shardings ? shardings[cast<OpResult>(value).getResultNumber()]
                     : Attribute();
  }

  /// What a loop takes apart or puts together is not cut along its dim, unless
  /// it is gathered before.
  void checkStacked(nd::ScanOp loop, Place place, Value value) {
    if (nd::isGatheredForLoops(value))
      return;
    auto sharding = dyn_cast_or_null<TypeAttr>(getSharding(value));
    auto type = sharding ? dyn_cast<nd::TensorType>(sharding.getValue())
                         : nd::TensorType();
    nd::DimAttr dim = type ? type.getDim(loop.getDim()) : nd::DimAttr();
    if (dim && !dim.getAxes().empty())
      fail(loop) << "runs over dim '" << loop.getDim() << "', but "
                 << place.first << " " << place.second
                 << " is cut along it: " << type;
  }

  void check(Operation *op, Place place, Type type, Attribute sharding) {
    auto wanted = dyn_cast_or_null<TypeAttr>(sharding);
    auto refuse = [&]() -> InFlightDiagnostic {
      return fail(op) << place.first << " " << place.second << " ";
    };
    if (!wanted) {
      refuse() << "has no nd.sharding";
      return;
    }
    if (!nd::haveSameGlobalType(type, wanted.getValue())) {
      refuse() << "is " << type
               << ", but its sharding is of another tensor: " << wanted;
      return;
    }
    auto tensor = dyn_cast<nd::TensorType>(wanted.getValue());
    if (!tensor)
      return;
    if (tensor.isPartial())
      refuse() << "has a partial result as its sharding: " << wanted;
    for (nd::DimAttr dim : tensor.getDims())
      for (StringAttr axis : dim.getAxes())
        if (mesh.getAxisIndex(axis) < 0)
          refuse() << "is sharded over mesh axis '" << axis.getValue()
                   << "', which the mesh does not have";
  }

  /// A parameter or slot has the same sharding wherever it goes in or out.
  void checkState(Operation *op, const nd::TensorAttributes &tensor) {
    StringAttr name = tensor.getName();
    TypeAttr sharding = tensor.getSharding();
    std::optional<nd::TensorRole> role = tensor.getRole();
    if (!name || !nd::isState(role))
      return;
    auto [it, isFirst] = states.try_emplace(name, sharding, op->getLoc());
    if (isFirst || it->second.first == sharding)
      return;
    fail(op).append("has another sharding of ", nd::stringifyTensorRole(*role),
                    " ", Attribute(name),
                    " than an earlier function: ", Attribute(sharding))
            .attachNote(it->second.second)
        << "here it is " << it->second.first;
  }

  nd::MeshAttr mesh;
  /// By name: the first sharding of a state tensor, and its function's place.
  llvm::DenseMap<Attribute, std::pair<TypeAttr, Location>> states;
  bool ok = true;
};

} // namespace

} // namespace meshc::layout
