//===- Optimizer.cpp - updates of parameters ------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An update is computed in f32 whatever the parameter's type is, and the slots
// stay in it: a second moment is the square of a gradient, which 16 bits lose.
// What is the same for all elements (bias corrections, decay factors) is
// computed once, on scalars.
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/Ops/OptimizerOps.h"
#include "dialects/Nd/Ops/PointwiseOps.h"
#include "dialects/Nd/Ops/ValueBuilder.h"
#include <cmath>

#define GET_OP_CLASSES
#include "dialects/Nd/Ops/Optimizer.cpp.inc"

using namespace mlir;

namespace meshc::nd {

void NdDialect::registerOptimizer() {
  addOperations<
#define GET_OP_LIST
#include "dialects/Nd/Ops/Optimizer.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// What all share
//===----------------------------------------------------------------------===//

/// Checks the operands and results that OptimizerOpInterface describes.
static LogicalResult verifyUpdate(Operation *op) {
  TensorType parameter = getTensorType(op->getOperand(0));
  if (!parameter.isFloat())
    return op->emitOpError("updates floats, got a parameter of type ")
           << parameter;
  for (Value value : {op->getOperand(1), Value(op->getResult(0))})
    if (!haveSameGlobalType(value.getType(), parameter))
      return op->emitOpError(
                 "expects the gradient and the new parameter of the "
                 "parameter's type ")
             << parameter << ", got " << value.getType();
  TensorType slot =
      parameter.withElementType(Float32Type::get(op->getContext()));
  SmallVector<Value> slots(op->getOperands().drop_front(4));
  llvm::append_range(slots, op->getResults().drop_front(1));
  for (Value value : slots)
    if (!haveSameGlobalType(value.getType(), slot))
      return op->emitOpError("expects slots of type ")
             << slot << ", got " << value.getType();
  auto isScalarOf = [](Value value, Type elementType) {
    TensorType type = getTensorType(value);
    return type.getRank() == 0 && type.getElementType() == elementType;
  };
  Builder builder(op->getContext());
  if (!isScalarOf(op->getOperand(2), builder.getF32Type()))
    return op->emitOpError("expects a scalar f32 as the learning rate, got ")
           << op->getOperand(2).getType();
  if (!isScalarOf(op->getOperand(3), builder.getI32Type()))
    return op->emitOpError("expects a scalar i32 as the step, got ")
           << op->getOperand(3).getType();
  return success();
}

/// The shortest text of the number: "0.9", "1".
static std::string formatNumber(double value) {
  llvm::SmallString<16> text;
  llvm::APFloat(value).toString(text);
  return text.str().str();
}

/// Checks that a hyper-parameter is in [low, high).
static LogicalResult verifyRange(Operation *op, StringRef name, double value,
                                 double low, double high) {
  if (value >= low && value < high)
    return success();
  return op->emitOpError("expects '")
         << name << "' in [" << formatNumber(low) << ", " << formatNumber(high)
         << "), got " << formatNumber(value);
}

static constexpr double unbounded = HUGE_VAL;

/// Blocks of the results' types, in the order of the results.
static SmallVector<HostTensor> makeResults(Operation *op,
                                           const EvaluationContext &context) {
  SmallVector<HostTensor> results;
  for (Type type : op->getResultTypes())
    results.push_back(context.makeTensor(type));
  return results;
}

static LogicalResult refuseGradient(Operation *op,
                                    ArrayRef<Value> resultGrads) {
  if (llvm::none_of(resultGrads, [](Value g) { return g != nullptr; }))
    return success();
  return op->emitOpError("cannot be differentiated: the update of a parameter "
                         "is the end of a step");
}

namespace {
/// Scalar and tensor expressions in f32.
class Update {
public:
  Update(OpBuilder &builder, Operation *op)
      : build(builder, op->getLoc()), f32(builder.getF32Type()) {}

  Value load(Value value) { return build.castTo(value, f32); }
  Value store(Value value, Value like) {
    return build.castTo(value, getTensorType(like).getElementType());
  }
  Value number(double value) { return build.scalar(f32, value); }
  Value add(Value a, Value b) { return build.make<AddOp>(a, b); }
  Value sub(Value a, Value b) { return build.make<SubOp>(a, b); }
  Value mul(Value a, Value b) { return build.make<MulOp>(a, b); }
  Value div(Value a, Value b) { return build.make<DivOp>(a, b); }
  Value scale(Value a, double factor) {
    return factor == 1 ? a : mul(a, number(factor));
  }
  /// a + factor·b.
  Value addScaled(Value a, Value b, double factor) {
    return factor == 0 ? a : add(a, scale(b, factor));
  }
  /// 1 - beta^t as a scalar. With z = -t·log(beta) it is 1 - exp(-z) =
  /// tanh(z/2)·(1 + exp(-z)), which keeps all digits where beta^t is near 1.
  Value correction(double beta, Value t) {
    if (beta == 0)
      return number(1.0);
    Value z = scale(t, -std::log(beta));
    Value half = build.make<TanhOp>(scale(z, 0.5));
    Value power = build.make<ExpOp>(build.make<NegOp>(z));
    return mul(half, add(power, number(1.0)));
  }

  ValueBuilder build;

private:
  Type f32;
};
} // namespace

//===----------------------------------------------------------------------===//
// SgdUpdateOp
//===----------------------------------------------------------------------===//

LogicalResult SgdUpdateOp::verify() {
  if (failed(verifyUpdate(*this)))
    return failure();
  return verifyRange(*this, "weight_decay", getWeightDecay().convertToDouble(),
                     0, unbounded);
}

SmallVector<StringRef> SgdUpdateOp::getSlotNames() { return {}; }

SmallVector<std::pair<StringRef, double>> SgdUpdateOp::getHyperParameters() {
  return {{"weight_decay", 0.0}};
}

SmallVector<HostTensor>
SgdUpdateOp::evaluate(ArrayRef<const HostTensor *> operands,
                      const EvaluationContext &context) {
  double decay = getWeightDecay().convertToDouble();
  double rate = operands[2]->data[0];
  SmallVector<HostTensor> results = makeResults(*this, context);
  Type elementType = results[0].type.getElementType();
  for (size_t i = 0; i < results[0].data.size(); ++i) {
    double p = operands[0]->data[i], g = operands[1]->data[i] + decay * p;
    results[0].data[i] = context.round(p - rate * g, elementType);
  }
  return results;
}

LogicalResult SgdUpdateOp::buildGradient(OpBuilder &,
                                         ArrayRef<Value> resultGrads,
                                         SmallVectorImpl<Value> &) {
  return refuseGradient(*this, resultGrads);
}

PartitionRule SgdUpdateOp::getPartitionRule() { return getRuleByNames(*this); }

OpCost SgdUpdateOp::getCost() { return getElementwiseCost(*this, 4); }

SmallVector<Value> SgdUpdateOp::decompose(OpBuilder &builder) {
  Update u(builder, *this);
  Value p = u.load(getParameter()), g = u.load(getGrad());
  g = u.addScaled(g, p, getWeightDecay().convertToDouble());
  return {u.store(u.sub(p, u.mul(g, getRate())), getParameter())};
}

//===----------------------------------------------------------------------===//
// MomentumUpdateOp
//===----------------------------------------------------------------------===//

LogicalResult MomentumUpdateOp::verify() {
  if (failed(verifyUpdate(*this)) ||
      failed(verifyRange(*this, "weight_decay",
                         getWeightDecay().convertToDouble(), 0, unbounded)) ||
      failed(verifyRange(*this, "momentum", getMomentum().convertToDouble(), 0,
                         1)))
    return failure();
  double nesterov = getNesterov().convertToDouble();
  if (nesterov != 0 && nesterov != 1)
    return emitOpError("expects 'nesterov' to be 0 or 1, got ")
           << formatNumber(nesterov);
  return success();
}

SmallVector<StringRef> MomentumUpdateOp::getSlotNames() { return {"velocity"}; }

SmallVector<std::pair<StringRef, double>>
MomentumUpdateOp::getHyperParameters() {
  return {{"momentum", 0.9}, {"nesterov", 0.0}, {"weight_decay", 0.0}};
}

SmallVector<HostTensor>
MomentumUpdateOp::evaluate(ArrayRef<const HostTensor *> operands,
                           const EvaluationContext &context) {
  double decay = getWeightDecay().convertToDouble();
  double momentum = getMomentum().convertToDouble();
  bool looksAhead = getNesterov().convertToDouble() == 1;
  double rate = operands[2]->data[0];
  SmallVector<HostTensor> results = makeResults(*this, context);
  Type elementType = results[0].type.getElementType();
  for (size_t i = 0; i < results[0].data.size(); ++i) {
    double p = operands[0]->data[i], g = operands[1]->data[i] + decay * p;
    double v = momentum * operands[4]->data[i] + g;
    double direction = looksAhead ? g + momentum * v : v;
    results[0].data[i] = context.round(p - rate * direction, elementType);
    results[1].data[i] = context.round(v, results[1].type.getElementType());
  }
  return results;
}

LogicalResult MomentumUpdateOp::buildGradient(OpBuilder &,
                                              ArrayRef<Value> resultGrads,
                                              SmallVectorImpl<Value> &) {
  return refuseGradient(*this, resultGrads);
}

PartitionRule MomentumUpdateOp::getPartitionRule() {
  return getRuleByNames(*this);
}

OpCost MomentumUpdateOp::getCost() { return getElementwiseCost(*this, 8); }

SmallVector<Value> MomentumUpdateOp::decompose(OpBuilder &builder) {
  Update u(builder, *this);
  double momentum = getMomentum().convertToDouble();
  Value p = u.load(getParameter()), g = u.load(getGrad());
  g = u.addScaled(g, p, getWeightDecay().convertToDouble());
  Value v = u.addScaled(g, u.load(getVelocity()), momentum);
  Value direction =
      getNesterov().convertToDouble() == 1 ? u.addScaled(g, v, momentum) : v;
  Value updated = u.sub(p, u.mul(direction, getRate()));
  return {u.store(updated, getParameter()), u.store(v, getVelocity())};
}

//===----------------------------------------------------------------------===//
// AdamwUpdateOp
//===----------------------------------------------------------------------===//

LogicalResult AdamwUpdateOp::verify() {
  if (failed(verifyUpdate(*this)) ||
      failed(verifyRange(*this, "beta1", getBeta1().convertToDouble(), 0, 1)) ||
      failed(verifyRange(*this, "beta2", getBeta2().convertToDouble(), 0, 1)) ||
      failed(verifyRange(*this, "epsilon", getEpsilon().convertToDouble(), 0,
                         unbounded)))
    return failure();
  return verifyRange(*this, "weight_decay", getWeightDecay().convertToDouble(),
                     0, unbounded);
}

SmallVector<StringRef> AdamwUpdateOp::getSlotNames() { return {"m", "v"}; }

SmallVector<std::pair<StringRef, double>> AdamwUpdateOp::getHyperParameters() {
  return {{"beta1", 0.9},
          {"beta2", 0.999},
          {"epsilon", 1e-8},
          {"weight_decay", 0.01}};
}

SmallVector<HostTensor>
AdamwUpdateOp::evaluate(ArrayRef<const HostTensor *> operands,
                        const EvaluationContext &context) {
  double beta1 = getBeta1().convertToDouble();
  double beta2 = getBeta2().convertToDouble();
  double epsilon = getEpsilon().convertToDouble();
  double decay = getWeightDecay().convertToDouble();
  double rate = operands[2]->data[0], t = operands[3]->data[0] + 1;
  double correction1 = 1 - std::pow(beta1, t);
  double correction2 = 1 - std::pow(beta2, t);
  SmallVector<HostTensor> results = makeResults(*this, context);
  Type elementType = results[0].type.getElementType();
  for (size_t i = 0; i < results[0].data.size(); ++i) {
    double p = operands[0]->data[i], g = operands[1]->data[i];
    double m = beta1 * operands[4]->data[i] + (1 - beta1) * g;
    double v = beta2 * operands[5]->data[i] + (1 - beta2) * g * g;
    double direction = m / correction1 / (std::sqrt(v / correction2) + epsilon);
    double updated = p - rate * decay * p - rate * direction;
    results[0].data[i] = context.round(updated, elementType);
    results[1].data[i] = context.round(m, results[1].type.getElementType());
    results[2].data[i] = context.round(v, results[2].type.getElementType());
  }
  return results;
}

LogicalResult AdamwUpdateOp::buildGradient(OpBuilder &,
                                           ArrayRef<Value> resultGrads,
                                           SmallVectorImpl<Value> &) {
  return refuseGradient(*this, resultGrads);
}

PartitionRule AdamwUpdateOp::getPartitionRule() {
  return getRuleByNames(*this);
}

OpCost AdamwUpdateOp::getCost() { return getElementwiseCost(*this, 12, 2); }

// p·(1 - rate·decay) - (rate/c1·m) / (√v·(1/√c2) + epsilon): one square root
// and one division per element, the corrections c1 and c2 on scalars.
SmallVector<Value> AdamwUpdateOp::decompose(OpBuilder &builder) {
  Update u(builder, *this);
  double beta1 = getBeta1().convertToDouble();
  double beta2 = getBeta2().convertToDouble();
  auto scalarF32 = TensorType::get(builder.getF32Type(), ArrayRef<DimAttr>());
  Value t = u.add(u.build.make<CastOp>(scalarF32, getStep()), u.number(1.0));
  Value stepSize = u.div(getRate(), u.correction(beta1, t));
  Value rootScale = u.build.make<RsqrtOp>(u.correction(beta2, t));
  double decay = getWeightDecay().convertToDouble();

  Value p = u.load(getParameter()), g = u.load(getGrad());
  Value m = u.addScaled(u.scale(g, 1 - beta1), u.load(getM()), beta1);
  Value square = u.build.make<SquareOp>(g);
  Value v = u.addScaled(u.scale(square, 1 - beta2), u.load(getV()), beta2);
  Value root = u.mul(u.build.make<SqrtOp>(v), rootScale);
  Value size = u.add(root, u.number(getEpsilon().convertToDouble()));
  Value direction = u.div(u.mul(m, stepSize), size);
  if (decay != 0)
    p = u.mul(p, u.sub(u.number(1.0), u.scale(getRate(), decay)));
  Value updated = u.sub(p, direction);
  return {u.store(updated, getParameter()), u.store(m, getM()),
          u.store(v, getV())};
}

} // namespace meshc::nd
