//===- Shapes.cpp - the values of a model ---------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Report/Shapes.h"
#include "dialects/Nd/NdInterfaces.h"
#include "dialects/Nd/Ops/LoopOps.h"
#include "dialects/Nd/Ops/ModelOps.h"
#include "dialects/Nd/Ops/SourceOps.h"
#include "dialects/Nd/TensorAttributes.h"
#include "lib/Report/Format.h"
#include "lib/Report/Place.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace meshc::report {

//===----------------------------------------------------------------------===//
// The list
//===----------------------------------------------------------------------===//

/// The type's dims, as they are declared if they are.
static Json describeWholeDims(nd::TensorType type, ArrayAttr order) {
  SmallVector<nd::DimAttr> dims(type.getDims());
  if (order) {
    dims.clear();
    for (auto name : order.getAsRange<StringAttr>())
      if (nd::DimAttr dim = type.getDim(name.getValue()))
        dims.push_back(dim);
  }
  Json described = Json::array();
  for (nd::DimAttr dim : dims)
    described.push_back(
        {{"dim", dim.getName().getValue().str()}, {"size", dim.getSize()}});
  return described;
}

/// The dims of the loops around an op, outermost first.
static Json listLoops(Operation *op) {
  SmallVector<std::string> dims;
  for (auto loop = op->getParentOfType<nd::ScanOp>(); loop;
       loop = loop->getParentOfType<nd::ScanOp>())
    dims.push_back(loop.getDim().str());
  return Json(std::vector<std::string>(dims.rbegin(), dims.rend()));
}

static Json describeValue(Value value, StringRef kind, Operation *op) {
  nd::TensorType type = nd::getTensorType(value);
  nd::TensorAttributes attributes = nd::TensorAttributes::of(value);
  auto parameter = dyn_cast_or_null<nd::ParameterOp>(op);
  StringAttr name = parameter ? parameter.getNameAttr() : attributes.getName();
  unsigned bits = type.getElementType().getIntOrFloatBitWidth();
  int64_t elements = type.getElementCount();
  bool isComputed = op && !parameter;
  return {{"name", name ? name.getValue().str() : ""},
          {"kind", kind.str()},
          {"op", isComputed ? op->getName().stripDialect().str() : ""},
          {"type", getTypeName(type.getElementType())},
          {"dims", describeWholeDims(type, parameter ? parameter.getOrderAttr()
                                                     : attributes.getOrder())},
          {"elements", elements},
          {"bytes", elements * std::max(bits / 8, 1u)},
          {"location", getPlace(value.getLoc())},
          {"loops", op ? listLoops(op) : Json::array()}};
}

Json listShapes(ModuleOp module) {
  Json values = Json::array();
  for (auto model : module.getOps<func::FuncOp>()) {
    for (Value input : model.getArguments())
      values.push_back(describeValue(input, "input", nullptr));
    model.walk<WalkOrder::PreOrder>([&](Operation *op) {
      bool isParameter = isa<nd::ParameterOp>(op);
      if (!isa<nd::ConstantOp>(op))
        for (OpResult result : op->getResults())
          if (nd::getTensorType(result))
            values.push_back(
                describeValue(result, isParameter ? "parameter" : "value", op));
      // Its region has the initial value.
      return isParameter ? WalkResult::skip() : WalkResult::advance();
    });
  }
  return {{"values", std::move(values)}};
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

/// "f32[batch = 8, model = 16]"
static std::string showType(const Json &value) {
  std::string text = value["type"].get<std::string>() + "[";
  for (const Json &dim : value["dims"])
    text += (text.back() == '[' ? "" : ", ") + dim["dim"].get<std::string>() +
            " = " + std::to_string(dim["size"].get<int64_t>());
  return text + "]";
}

/// "h", "input images", "the result of 'add'"
static std::string showName(const Json &value) {
  auto name = value["name"].get<std::string>();
  auto kind = value["kind"].get<std::string>();
  std::string text = kind == "value" ? name : kind + " " + name;
  if (name.empty())
    text = "result of '" + value["op"].get<std::string>() + "'";
  return std::string(2 * value["loops"].size(), ' ') + text;
}

void printShapes(const Json &shapes, llvm::raw_ostream &out) {
  struct Row {
    std::string place, name, type, bytes;
  };
  SmallVector<Row> rows = {{"place", "value", "type and dims", "bytes"}};
  for (const Json &value : shapes["values"])
    rows.push_back({value["location"].get<std::string>(), showName(value),
                    showType(value),
                    formatBytes(value["bytes"].get<double>())});
  size_t place = 0, name = 0, type = 0;
  for (const Row &row : rows) {
    place = std::max(place, row.place.size());
    name = std::max(name, row.name.size());
    type = std::max(type, row.type.size());
  }
  for (const Row &row : rows)
    out << llvm::format("%-*s  %-*s  %-*s  %10s\n", int(place),
                        row.place.c_str(), int(name), row.name.c_str(),
                        int(type), row.type.c_str(), row.bytes.c_str());
}

} // namespace meshc::report
