//===- RandomLayout.cpp - meshes and layouts by chance --------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RandomProgram.h"
#include "dialects/Nd/Ops/ModelOps.h"

using namespace mlir;
using namespace meshc::nd;

namespace meshc::reference {

using nd::TensorType;

namespace {

/// What rules may name of a tensor, and its type.
struct Tensor {
  StringRef name, tensorClass;
  TensorType type;
};

struct Rule {
  StringRef scope, dim;
  llvm::SmallVector<StringAttr> axes;
};

class RandomLayout {
public:
  RandomLayout(ModuleOp module, std::mt19937_64 &random, int64_t maxRanks)
      : module(module), random(random), maxRanks(maxRanks) {}

  void run();

private:
  void drawMesh();
  void collectTensors();
  Rule drawRule();
  bool isAllowed() const;
  ArrayRef<StringAttr> getAxes(const Tensor &tensor, StringRef dim) const;
  size_t draw(size_t below) { return random() % below; }

  ModuleOp module;
  std::mt19937_64 &random;
  int64_t maxRanks;
  MeshAttr mesh;
  std::vector<Tensor> tensors;
  std::vector<Rule> rules;
};

} // namespace

void RandomLayout::drawMesh() {
  MLIRContext *context = module.getContext();
  llvm::SmallVector<AxisAttr> axes;
  int64_t ranks = 1;
  for (size_t i = 0, count = 1 + draw(3); i < count; ++i) {
    int64_t size = 1 + draw(4);
    if (ranks * size > maxRanks)
      size = 1;
    ranks *= size;
    axes.push_back(AxisAttr::get(
        context, StringAttr::get(context, StringRef("pqr").substr(i, 1)),
        size));
  }
  mesh = MeshAttr::get(context, axes);
  module->setAttr("nd.mesh", mesh);
}

void RandomLayout::collectTensors() {
  auto getText = [](Attribute attribute) {
    auto text = dyn_cast_or_null<StringAttr>(attribute);
    return text ? text.getValue() : StringRef();
  };
  for (auto function : module.getOps<func::FuncOp>()) {
    for (auto [i, type] : llvm::enumerate(function.getArgumentTypes()))
      tensors.push_back({getText(function.getArgAttr(i, "nd.name")), "",
                         cast<TensorType>(type)});
    for (auto [i, type] : llvm::enumerate(function.getResultTypes()))
      tensors.push_back({getText(function.getResultAttr(i, "nd.name")), "",
                         cast<TensorType>(type)});
    for (Operation &op : function.getBody().front())
      for (Type type : op.getResultTypes())
        tensors.push_back({getText(op.getAttr("nd.name")),
                           getText(op.getAttr("nd.class")),
                           cast<TensorType>(type)});
  }
}

Rule RandomLayout::drawRule() {
  const Tensor &tensor = tensors[draw(tensors.size())];
  Rule rule;
  if (tensor.type.getRank() == 0)
    return rule;
  if (draw(3) == 0)
    rule.scope = draw(2) ? tensor.name : tensor.tensorClass;
  rule.dim =
      tensor.type.getDims()[draw(tensor.type.getRank())].getName().getValue();
  llvm::SmallVector<StringAttr> axes;
  for (AxisAttr axis : mesh.getAxes())
    axes.push_back(axis.getName());
  std::shuffle(axes.begin(), axes.end(), random);
  axes.resize(std::min<size_t>(axes.size(), 1 + (draw(4) == 0)));
  rule.axes = axes;
  return rule;
}

ArrayRef<StringAttr> RandomLayout::getAxes(const Tensor &tensor,
                                           StringRef dim) const {
  for (StringRef scope : {tensor.name, tensor.tensorClass, StringRef()})
    for (const Rule &rule : rules)
      if (rule.dim == dim && rule.scope == scope)
        return rule.axes;
  return {};
}

bool RandomLayout::isAllowed() const {
  for (const Tensor &tensor : tensors) {
    llvm::SmallVector<StringAttr> used;
    for (DimAttr dim : tensor.type.getDims()) {
      ArrayRef<StringAttr> axes = getAxes(tensor, dim.getName().getValue());
      if (dim.getSize() % mesh.getProduct(axes) != 0)
        return false;
      for (StringAttr axis : axes) {
        if (llvm::is_contained(used, axis))
          return false;
        used.push_back(axis);
      }
    }
  }
  return true;
}

void RandomLayout::run() {
  drawMesh();
  collectTensors();
  for (size_t i = 0, count = 4 + draw(12); i < count; ++i) {
    Rule rule = drawRule();
    bool isTwice = llvm::any_of(rules, [&](const Rule &other) {
      return other.scope == rule.scope && other.dim == rule.dim;
    });
    if (rule.dim.empty() || isTwice)
      continue;
    rules.push_back(rule);
    if (!isAllowed())
      rules.pop_back();
  }
  auto builder = OpBuilder::atBlockBegin(module.getBody());
  for (const Rule &rule : rules) {
    llvm::SmallVector<Attribute> axes(rule.axes.begin(), rule.axes.end());
    RuleOp::create(builder, module.getLoc(),
                   rule.scope.empty() ? StringAttr()
                                      : builder.getStringAttr(rule.scope),
                   builder.getStringAttr(rule.dim), builder.getArrayAttr(axes),
                   builder.getUnitAttr());
  }
}

void addRandomLayout(ModuleOp module, std::mt19937_64 &random,
                     int64_t maxRanks) {
  RandomLayout(module, random, maxRanks).run();
}

} // namespace meshc::reference
