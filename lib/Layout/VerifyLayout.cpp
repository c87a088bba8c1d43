//===- VerifyLayout.cpp - what the layout phase promises ------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/NdInterfaces.h"
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
        Attribute sharding = function.getArgAttr(index, "nd.sharding");
        check(function, type, sharding);
        checkState(function, function.getArgAttr(index, "nd.role"),
                   function.getArgAttr(index, "nd.name"), sharding);
      }
      for (auto [index, type] : llvm::enumerate(function.getResultTypes())) {
        Attribute sharding = function.getResultAttr(index, "nd.sharding");
        check(function, type, sharding);
        checkState(function, function.getResultAttr(index, "nd.role"),
                   function.getResultAttr(index, "nd.name"), sharding);
      }
      function.walk([&](Operation *op) { checkOp(op); });
    }
    if (!ok)
      signalPassFailure();
  }

private:
  void fail(Operation *op, const Twine &message) {
    op->emitError() << "layout: " << message;
    ok = false;
  }

  void checkOp(Operation *op) {
    if (isa<nd::CompositeOpInterface>(op))
      fail(op, "a composite op remains");
    if (op->getNumResults() == 0)
      return;
    auto shardings = op->getAttrOfType<ArrayAttr>("nd.sharding");
    if (!shardings || shardings.size() != op->getNumResults())
      return fail(op, "an op has not one sharding per result");
    for (auto [type, sharding] : llvm::zip(op->getResultTypes(), shardings))
      check(op, type, sharding);
  }

  void check(Operation *op, Type type, Attribute sharding) {
    auto wanted = dyn_cast_or_null<TypeAttr>(sharding);
    if (!wanted)
      return fail(op, "a tensor has no sharding");
    if (!nd::haveSameGlobalType(type, wanted.getValue()))
      return fail(op, "the sharding of a tensor is of another tensor");
    auto tensor = dyn_cast<nd::TensorType>(wanted.getValue());
    if (!tensor)
      return;
    if (tensor.isPartial())
      return fail(op, "a partial result is wanted");
    for (nd::DimAttr dim : tensor.getDims()) {
      if (dim.getSize() % mesh.getProduct(dim.getAxes()) != 0)
        return fail(op, "axes do not divide a dim");
      for (StringAttr axis : dim.getAxes())
        if (mesh.getAxisIndex(axis.getValue()) < 0)
          return fail(op, "a sharding names an axis that the mesh has not");
    }
  }

  /// A parameter or slot has the same sharding wherever it goes in or out.
  void checkState(Operation *op, Attribute role, Attribute name,
                  Attribute sharding) {
    auto text = dyn_cast_or_null<StringAttr>(role);
    if (!name || !text ||
        (text.getValue() != "parameter" && text.getValue() != "optimizer"))
      return;
    auto [it, isFirst] = states.try_emplace(name, sharding);
    if (!isFirst && it->second != sharding)
      fail(op, "a state tensor has two shardings");
  }

  nd::MeshAttr mesh;
  llvm::DenseMap<Attribute, Attribute> states;
  bool ok = true;
};

} // namespace

} // namespace meshc::layout
