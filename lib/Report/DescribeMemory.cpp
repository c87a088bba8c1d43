//===- DescribeMemory.cpp - shardings and places of tensors ---------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/Exec.h"
#include "lib/Report/Place.h"
#include "lib/Report/Report.h"
#include "llvm/ADT/DenseMap.h"

using namespace mlir;

namespace meshc::report {

/// The dims of a tensor with their sizes and the axes that cut them, outermost
/// first, in the order in which they lie in memory.
static Json describeDims(nd::TensorType type, ArrayRef<StringAttr> order) {
  Json dims = Json::array();
  for (StringAttr name : order)
    for (nd::DimAttr dim : type.getDims()) {
      if (dim.getName() != name)
        continue;
      Json axes = Json::array();
      for (StringAttr axis : dim.getAxes())
        axes.push_back(axis.getValue().str());
      dims.push_back({{"dim", name.getValue().str()},
                      {"size", dim.getSize()},
                      {"axes", std::move(axes)}});
    }
  return dims;
}

static int64_t getBytes(exec::BufferType type, nd::MeshAttr mesh) {
  return static_cast<int64_t>(type.getTensor().getLocalBytes(mesh));
}

static Json describeCall(exec::StepOpInterface step) {
  exec::CallDescription description = step.describe();
  Json call = {{"location", ""}, {"kind", description.kind.str()}};
  if (!description.name.empty())
    call["name"] = description.name;
  for (Location location : description.locations)
    if (std::string place = getPlace(location); !place.empty()) {
      call["location"] = place;
      break;
    }
  return call;
}

/// The class of the program's tensor that a buffer is, or "temporary". Inputs
/// and metrics may share their room with temporaries of other types.
static StringRef
getClass(exec::BufferOp buffer,
         const llvm::DenseMap<int64_t, exec::TensorOp> &tensors) {
  exec::TensorOp tensor = tensors.lookup(buffer.getOffset());
  return tensor && tensor.getType() == buffer.getType() ? tensor.getRole()
                                                        : "temporary";
}

/// The calls of a function in order, and its buffers with the first and the
/// last call that uses each. Scratch memory is a buffer without dims that
/// only its call uses.
static void
describeFunction(Json &report, exec::FuncOp function,
                 const llvm::DenseMap<int64_t, exec::TensorOp> &tensors) {
  nd::MeshAttr mesh = nd::MeshAttr::of(function);
  report["calls"] = Json::array();
  report["buffers"] = Json::array();
  llvm::DenseMap<Operation *, size_t> numbers;
  SmallVector<exec::StepOpInterface> steps = function.getSteps();
  for (exec::StepOpInterface step : steps) {
    numbers[step] = report["calls"].size();
    report["calls"].push_back(describeCall(step));
  }
  for (auto buffer : function.getBody().front().getOps<exec::BufferOp>()) {
    auto type = cast<exec::BufferType>(buffer.getType());
    size_t first = report["calls"].size(), last = 0;
    for (Operation *user : buffer->getUsers()) {
      first = std::min(first, numbers.lookup(user));
      last = std::max(last, numbers.lookup(user));
      // A collective uses its buffers until it is waited for.
      for (Operation *wait : user->getUsers())
        last = std::max(last, numbers.lookup(wait));
    }
    if (first > last)
      continue;
    report["buffers"].push_back(
        {{"offset", buffer.getOffset()},
         {"bytes", getBytes(type, mesh)},
         {"first", first},
         {"last", last},
         {"class", getClass(buffer, tensors).str()},
         {"dims", describeDims(type.getTensor(), type.getOrder())},
         {"location", getPlace(buffer.getLoc())}});
  }
  for (auto [call, step] : llvm::enumerate(steps))
    for (Value scratch : step.getAccesses().scratch) {
      auto piece = exec::ArenaPiece::of(scratch, mesh);
      report["buffers"].push_back({{"offset", piece.begin},
                                   {"bytes", piece.end - piece.begin},
                                   {"first", call},
                                   {"last", call},
                                   {"class", "scratch"},
                                   {"dims", Json::array()},
                                   {"location", getPlace(step->getLoc())}});
    }
}

void addMemory(Json &report, ModuleOp module) {
  nd::MeshAttr mesh = nd::MeshAttr::of(module);
  report["tensors"] = Json::array();
  llvm::DenseMap<int64_t, exec::TensorOp> tensors; // by offset
  for (auto tensor : module.getOps<exec::TensorOp>()) {
    auto type = cast<exec::BufferType>(tensor.getType());
    tensors[tensor.getOffset()] = tensor;
    report["tensors"].push_back(
        {{"name", tensor.getTensorName().str()},
         {"class", tensor.getRole().str()},
         {"type", getTypeName(type.getTensor().getElementType())},
         {"dims",
          describeDims(
              type.getTensor(),
              llvm::to_vector(tensor.getOrder().getAsRange<StringAttr>()))},
         {"offset", tensor.getOffset()},
         {"bytes", getBytes(type, mesh)}});
  }
  for (auto function : module.getOps<exec::FuncOp>())
    for (Json &known : report["functions"])
      if (known["name"] == function.getSymName().str())
        describeFunction(known, function, tensors);
}

} // namespace meshc::report
