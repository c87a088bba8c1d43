//===- DescribeCalls.cpp - what kernels move and products compute ---------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/Exec.h"
#include "lib/Report/Place.h"
#include "lib/Report/Report.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace meshc::report {

/// Bytes of an argument that a kernel must read: all of it, unless the ops that
/// use it read a part (a gather, a slice).
static double getReadBytes(BlockArgument argument, nd::MeshAttr mesh) {
  double whole = nd::getTensorType(argument).getLocalBytes(mesh), read = 0;
  for (Operation *user : argument.getUsers()) {
    auto op = dyn_cast<nd::NamedOpInterface>(user);
    if (!op)
      return whole; // it is an output itself
    double bytes = op.getCost().bytes;
    for (Value result : user->getResults())
      bytes -= nd::getTensorType(result).getLocalBytes(mesh);
    read += std::max(bytes, 0.0);
  }
  return std::min(whole, read);
}

/// "12-14,20": the lines of the model that ops come from.
static std::string getLines(Block &block) {
  llvm::SetVector<unsigned> found;
  for (Operation &op : block)
    op.getLoc()->walk([&](Location part) {
      if (auto file = dyn_cast<FileLineColLoc>(part))
        found.insert(file.getLine());
      return WalkResult::advance();
    });
  SmallVector<unsigned> lines = found.takeVector();
  llvm::sort(lines);
  std::string text;
  for (size_t i = 0; i < lines.size();) {
    size_t end = i + 1;
    while (end < lines.size() && lines[end] == lines[end - 1] + 1)
      ++end;
    text += (text.empty() ? "" : ",") + std::to_string(lines[i]);
    if (end - i > 1)
      text += "-" + std::to_string(lines[end - 1]);
    i = end;
  }
  return text;
}

static Json describeKernel(exec::KernelOp kernel) {
  nd::MeshAttr mesh = nd::MeshAttr::of(kernel);
  Block &block = kernel.getBody().front();
  double read = 0, written = 0;
  for (BlockArgument argument : block.getArguments())
    read += getReadBytes(argument, mesh);
  std::string place;
  for (Value value : block.getTerminator()->getOperands()) {
    written += nd::getTensorType(value).getLocalBytes(mesh);
    if (place.empty())
      place = getPlace(value.getLoc());
  }
  if (place.empty())
    place = getPlace(kernel.getLoc());
  return {{"name", kernel.getSymName().str()},
          {"location", place},
          {"lines", getLines(block)},
          {"read", static_cast<int64_t>(read)},
          {"written", static_cast<int64_t>(written)}};
}

static double getBytes(Value buffer, nd::MeshAttr mesh) {
  return cast<exec::BufferType>(buffer.getType())
      .getTensor()
      .getLocalBytes(mesh);
}

namespace {
/// Bytes of different buffers.
class Buffers {
public:
  void add(Value buffer) {
    if (seen.insert(getOffset(buffer)).second)
      bytes += getBytes(buffer, nd::MeshAttr::of(buffer.getDefiningOp()));
  }
  static int64_t getOffset(Value buffer) {
    return buffer.getDefiningOp<exec::BufferOp>().getOffset();
  }
  int64_t getTotal() const { return static_cast<int64_t>(bytes); }

private:
  llvm::DenseSet<int64_t> seen;
  double bytes = 0;
};
} // namespace

/// What a product reads and writes if its epilogue is done in its call, in
/// which the product itself needs no memory, unless it is a result.
static void findBuffers(exec::GemmOp gemm, Buffers &read, Buffers &written) {
  using exec::Epilogue;
  std::optional<Epilogue> epilogue = gemm.getEpilogue();
  read.add(gemm.getA());
  read.add(gemm.getB());
  if (gemm.getAccumulate())
    read.add(gemm.getC());
  if (!epilogue || *epilogue == Epilogue::BiasGradientA ||
      *epilogue == Epilogue::BiasGradientB)
    written.add(gemm.getC());
  bool isReluGradient = epilogue && *epilogue == Epilogue::ReluGradient;
  if (Value mask = gemm.getMask())
    (isReluGradient ? read : written).add(mask);
  // The mask is read instead of relu's result.
  if (!isReluGradient || !gemm.getMask())
    for (Value input : gemm.getInputs())
      if (Buffers::getOffset(input) != Buffers::getOffset(gemm.getC()))
        read.add(input);
  for (Value output : gemm.getOutputs())
    written.add(output);
}

/// Of a buffer that a call writes: its name in the model, if it has one, its
/// place, and what it holds.
static Json describeResult(Value buffer) {
  auto name = dyn_cast<NameLoc>(buffer.getLoc());
  nd::TensorType type = cast<exec::BufferType>(buffer.getType()).getTensor();
  nd::MeshAttr mesh = nd::MeshAttr::of(buffer.getDefiningOp());
  return {{"name", name ? name.getName().str() : ""},
          {"location", getPlace(buffer.getLoc())},
          {"type", getTypeName(type.getElementType())},
          {"elements", type.getLocalElementCount(mesh)}};
}

/// What a kernel is launched on: bytes of its inputs, and its results.
static void addBuffers(Json &call, ValueRange inputs, ValueRange outputs) {
  call["inputs"] = Json::array();
  call["results"] = Json::array();
  for (Value input : inputs)
    call["inputs"].push_back(static_cast<int64_t>(
        getBytes(input, nd::MeshAttr::of(input.getDefiningOp()))));
  for (Value output : outputs)
    call["results"].push_back(describeResult(output));
}

static Json describeLaunch(exec::LaunchOp launch) {
  Json call = {{"kernel", launch.getKernel().str()}, {"ops", Json::array()}};
  if (auto fused = dyn_cast<FusedLoc>(launch.getLoc()))
    for (Location part : fused.getLocations())
      if (auto op = dyn_cast<NameLoc>(part)) {
        std::string place = getPlace(op);
        call["ops"].push_back(
            (op.getName().getValue() + " " + llvm::sys::path::filename(place))
                .str());
      }
  addBuffers(call, launch.getInputs(), launch.getOutputs());
  return call;
}

static Json describeProduct(exec::GemmOp gemm) {
  ArrayRef<int64_t> sizes = gemm.getSizes();
  Buffers read, written;
  findBuffers(gemm, read, written);
  auto getType = [](Value buffer) {
    return getTypeName(
        cast<exec::BufferType>(buffer.getType()).getTensor().getElementType());
  };
  double flops = 2.0 * static_cast<double>(sizes[0]) *
                 static_cast<double>(sizes[1]) * static_cast<double>(sizes[2]) *
                 static_cast<double>(sizes[6]);
  auto name = dyn_cast<NameLoc>(gemm.getC().getLoc());
  Json product = {{"location", getPlace(gemm.getLoc())},
                  {"name", name ? name.getName().str() : ""},
                  {"m", sizes[0]},
                  {"n", sizes[1]},
                  {"k", sizes[2]},
                  {"batch", sizes[6]},
                  {"type", getType(gemm.getA())},
                  {"flops", flops},
                  {"read", read.getTotal()},
                  {"written", written.getTotal()}};
  if (gemm.getEpilogue()) {
    addBuffers(product, gemm.getInputs(), gemm.getOutputs());
    product["epilogue"] = exec::stringifyEpilogue(*gemm.getEpilogue()).str();
  }
  return product;
}

/// By the symbol of each kernel, the tensor of the program that it writes: the
/// kernels of an optimizer come from one line. A parameter before others.
static llvm::StringMap<StringRef> findWrittenTensors(ModuleOp module) {
  llvm::DenseMap<int64_t, exec::TensorOp> tensors; // by offset
  for (auto tensor : module.getOps<exec::TensorOp>())
    tensors[tensor.getOffset()] = tensor;
  llvm::StringMap<StringRef> names;
  module.walk([&](exec::LaunchOp launch) {
    exec::TensorOp best;
    for (Value output : launch.getOutputs()) {
      auto buffer = output.getDefiningOp<exec::BufferOp>();
      exec::TensorOp tensor =
          buffer ? tensors.lookup(buffer.getOffset()) : exec::TensorOp();
      // Room of an input or a metric may be used for other things, too.
      bool counts = tensor && (tensor.getRole() == "parameter" ||
                               tensor.getRole() == "optimizer");
      if (counts && (!best || (tensor.getRole() == "parameter" &&
                               best.getRole() != "parameter")))
        best = tensor;
    }
    if (best)
      names.try_emplace(launch.getKernel(), best.getTensorName());
  });
  return names;
}

void addCalls(Json &report, ModuleOp module) {
  report["kernels"] = Json::array();
  llvm::StringMap<StringRef> written = findWrittenTensors(module);
  for (auto kernel : module.getOps<exec::KernelOp>()) {
    Json described = describeKernel(kernel);
    auto tensor = written.find(kernel.getSymName());
    if (tensor != written.end())
      described["tensor"] = tensor->second.str();
    report["kernels"].push_back(std::move(described));
  }
  for (auto function : module.getOps<exec::FuncOp>())
    for (Json &known : report["functions"]) {
      if (known["name"] != function.getSymName().str())
        continue;
      known["launches"] = known["products"] = Json::array();
      for (Operation &op : function.getBody().front())
        if (auto launch = dyn_cast<exec::LaunchOp>(op))
          known["launches"].push_back(describeLaunch(launch));
        else if (auto gemm = dyn_cast<exec::GemmOp>(op))
          known["products"].push_back(describeProduct(gemm));
    }
}

} // namespace meshc::report
