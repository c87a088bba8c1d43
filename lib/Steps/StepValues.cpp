//===- StepValues.cpp - what a training step computes ---------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Steps/StepValues.h"
#include "dialects/Nd/Ops/LoopOps.h"

using namespace mlir;

namespace meshc::steps {

void markGradient(Value gradient, const StepTensor &parameter) {
  auto result = dyn_cast<OpResult>(gradient);
  if (!result)
    return;
  auto known = nd::TensorAttributes::of(gradient);
  if (known.getName() || known.getClass())
    return;
  MLIRContext *context = gradient.getContext();
  NamedAttrList attributes;
  nd::setClass(attributes, context, nd::TensorClass::Gradient);
  nd::setParameter(attributes, parameter.name);
  nd::setName(
      attributes,
      StringAttr::get(context, "gradient of " + parameter.name.getValue()));
  if (auto scan = dyn_cast<nd::ScanOp>(result.getOwner()))
    return scan.setResultAttributes(result.getResultNumber(),
                                    attributes.getDictionary(context));
  for (NamedAttribute attribute : attributes)
    result.getOwner()->setDiscardableAttr(attribute.getName(),
                                          attribute.getValue());
}

void markOptimizerValue(Value value, StringAttr name, StringAttr parameter) {
  if (nd::getTensorType(value).getRank() == 0)
    return;
  Operation *op = value.getDefiningOp();
  nd::setClass(op, nd::TensorClass::Optimizer);
  nd::setName(op, name);
  nd::setParameter(op, parameter);
}

} // namespace meshc::steps
