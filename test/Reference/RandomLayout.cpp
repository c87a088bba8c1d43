//===- RandomLayout.cpp - random meshes and layouts -----------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RandomProgram.h"
#include "dialects/Nd/Ops/LoopOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace meshc::nd;

namespace meshc::reference {

using nd::TensorType;

namespace {

/// The parts of a tensor that rules may name, and its type.
struct Tensor {
  StringRef name, tensorClass;
  TensorType type;
};

struct Rule {
  StringRef scope, dim;
  llvm::SmallVector<StringAttr> axes;
  bool isWeak = false;
};

class LayoutDraw {
public:
  LayoutDraw(ModuleOp module, std::mt19937_64 &random, int64_t mostRanks)
      : module(module), random(random), mostRanks(mostRanks) {}

  RandomLayout run();

private:
  void drawMesh();
  void collectTensors();
  void collect(Attribute name, Attribute tensorClass, Type type);
  bool isScanned(StringRef dim) const;
  Rule drawRule();
  llvm::SmallVector<StringAttr> drawAxes();
  void add(const Rule &rule);
  bool isAllowed() const;
  ArrayRef<StringAttr> getAxes(const Tensor &tensor, StringRef dim) const;
  size_t draw(size_t below) { return random() % below; }

  ModuleOp module;
  std::mt19937_64 &random;
  int64_t mostRanks;
  MeshAttr mesh;
  std::vector<Tensor> tensors;
  std::vector<Rule> rules;
};

} // namespace

void LayoutDraw::drawMesh() {
  MLIRContext *context = module.getContext();
  llvm::SmallVector<AxisAttr> axes;
  int64_t ranks = 1;
  for (size_t i = 0, count = 1 + draw(4); i < count; ++i) {
    int64_t size = 1 + draw(6);
    if (ranks * size > mostRanks)
      size = 1;
    ranks *= size;
    axes.push_back(AxisAttr::get(
        context, StringAttr::get(context, StringRef("pqrs").substr(i, 1)),
        size));
  }
  mesh = MeshAttr::get(context, axes);
}

void LayoutDraw::collect(Attribute name, Attribute tensorClass, Type type) {
  auto getText = [](Attribute attribute) {
    auto text = dyn_cast_or_null<StringAttr>(attribute);
    return text ? text.getValue() : StringRef();
  };
  StringRef text = getText(name);
  // "gradient of w" and "w.m" are no names of the text.
  if (!llvm::all_of(text, llvm::isAlnum))
    text = "";
  tensors.push_back({text, getText(tensorClass), cast<TensorType>(type)});
}

/// Whether a loop runs over the dim: it cannot be cut.
bool LayoutDraw::isScanned(StringRef dim) const {
  auto result = module->walk([&](ScanOp scan) {
    return scan.getDim() == dim ? WalkResult::interrupt()
                                : WalkResult::advance();
  });
  return result.wasInterrupted();
}

void LayoutDraw::collectTensors() {
  for (auto function : module.getOps<func::FuncOp>()) {
    for (auto [i, type] : llvm::enumerate(function.getArgumentTypes()))
      collect(function.getArgAttr(i, "nd.name"),
              function.getArgAttr(i, "nd.class"), type);
    for (auto [i, type] : llvm::enumerate(function.getResultTypes()))
      collect(nullptr, function.getResultAttr(i, "nd.class"), type);
    function.getBody().walk([&](Operation *op) {
      auto scan = dyn_cast<ScanOp>(op);
      for (OpResult result : op->getResults()) {
        DictionaryAttr attributes =
            scan ? scan.getResultAttributes(result.getResultNumber())
                 : op->getAttrDictionary();
        collect(attributes ? attributes.get("nd.name") : Attribute(),
                attributes ? attributes.get("nd.class") : Attribute(),
                result.getType());
      }
    });
  }
}

/// One axis; now and then several, in any order.
llvm::SmallVector<StringAttr> LayoutDraw::drawAxes() {
  llvm::SmallVector<StringAttr> axes;
  for (AxisAttr axis : mesh.getAxes())
    axes.push_back(axis.getName());
  std::shuffle(axes.begin(), axes.end(), random);
  axes.resize(std::min<size_t>(axes.size(), draw(3) ? 1 : 2 + draw(2)));
  return axes;
}

Rule LayoutDraw::drawRule() {
  const Tensor &tensor = tensors[draw(tensors.size())];
  Rule rule;
  if (tensor.type.getRank() == 0)
    return rule;
  if (draw(3) == 0)
    rule.scope = draw(2) ? tensor.name : tensor.tensorClass;
  rule.dim =
      tensor.type.getDims()[draw(tensor.type.getRank())].getName().getValue();
  if (isScanned(rule.dim))
    return {};
  if (draw(6)) // else the dim stays whole
    rule.axes = drawAxes();
  rule.isWeak = draw(4) == 0;
  return rule;
}

/// The axes that the dim takes whatever other dims do.
ArrayRef<StringAttr> LayoutDraw::getAxes(const Tensor &tensor,
                                         StringRef dim) const {
  for (StringRef scope : {tensor.name, tensor.tensorClass, StringRef()})
    for (const Rule &rule : rules)
      if (rule.dim == dim && rule.scope == scope)
        return rule.isWeak ? ArrayRef<StringAttr>() : rule.axes;
  return {};
}

bool LayoutDraw::isAllowed() const {
  for (const Tensor &tensor : tensors) {
    llvm::SmallVector<StringAttr> used;
    for (DimAttr dim : tensor.type.getDims()) {
      ArrayRef<StringAttr> axes = getAxes(tensor, dim.getName().getValue());
      for (StringAttr axis : axes) {
        if (llvm::is_contained(used, axis))
          return false;
        used.push_back(axis);
      }
    }
  }
  return true;
}

/// Adds a rule if it is new and all tensors allow it.
void LayoutDraw::add(const Rule &rule) {
  bool isTwice = llvm::any_of(rules, [&](const Rule &other) {
    return other.scope == rule.scope && other.dim == rule.dim;
  });
  if (rule.dim.empty() || isTwice)
    return;
  rules.push_back(rule);
  if (!isAllowed())
    rules.pop_back();
}

RandomLayout LayoutDraw::run() {
  drawMesh();
  collectTensors();
  for (size_t i = 0, count = 4 + draw(12); i < count; ++i)
    add(drawRule());
  // ZeRO: the optimizer's state, gradients, and parameters themselves.
  if (draw(3) == 0) {
    Rule rule = drawRule();
    for (StringRef scope : {"optimizer", "gradient", "parameter"}) {
      rule.scope = scope;
      add(rule);
      if (draw(3) == 0)
        break;
    }
  }
  RandomLayout layout;
  for (AxisAttr axis : mesh.getAxes())
    layout.mesh += (layout.mesh.empty() ? "" : ",") +
                   axis.getName().getValue().str() + "=" +
                   std::to_string(axis.getSize());
  for (const Rule &rule : rules) {
    layout.layout += (layout.layout.empty() ? "" : ",") + rule.scope.str() +
                     (rule.scope.empty() ? "" : ".") + rule.dim.str() +
                     (rule.isWeak ? ":~?" : ":?") +
                     (rule.axes.empty() ? "()" : "");
    layout.layout += llvm::join(
        llvm::map_range(rule.axes, [](StringAttr a) { return a.getValue(); }),
        "+");
  }
  return layout;
}

RandomLayout drawLayout(ModuleOp steps, std::mt19937_64 &random,
                        int64_t mostRanks) {
  return LayoutDraw(steps, random, mostRanks).run();
}

} // namespace meshc::reference
