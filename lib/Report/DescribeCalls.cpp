//===- DescribeCalls.cpp - what kernels move and products compute ---------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/Exec.h"
#include "dialects/Nd/ModelPlaces.h"
#include "dialects/Nd/TensorAttributes.h"
#include "lib/Cost/KernelCost.h"
#include "lib/Report/Dims.h"
#include "lib/Report/Place.h"
#include "lib/Report/Report.h"
#include "lib/Report/Sites.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace meshc::report {

/// "12-14,20": the lines of the model that ops come from.
static std::string getLines(Block &block) {
  llvm::SetVector<unsigned> found;
  for (Operation &op : block)
    for (FileLineColLoc place : nd::getModelPlaces(op.getLoc()))
      found.insert(place.getLine());
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

/// What a kernel of a single op computes, in words: "attention". Empty for a
/// kernel of several ops.
static std::string describeSoleOp(Block &block) {
  Operation *sole = nullptr;
  for (Operation &op : block.without_terminator()) {
    if (sole)
      return "";
    sole = &op;
  }
  if (!sole)
    return "";
  std::string words = sole->getName().stripDialect().str();
  std::replace(words.begin(), words.end(), '_', ' ');
  return words;
}

static Json describeKernel(exec::KernelOp kernel) {
  cost::KernelCost cost = cost::KernelCost::of(kernel);
  Block &block = kernel.getBody().front();
  std::string place;
  for (Value value : block.getTerminator()->getOperands())
    if (place.empty())
      place = getPlace(value.getLoc());
  if (place.empty())
    place = getPlace(kernel.getLoc());
  Json described = {{"name", kernel.getSymName().str()},
                    {"location", place},
                    {"lines", getLines(block)},
                    {"read", static_cast<int64_t>(cost.getReadBytes())},
                    {"written", static_cast<int64_t>(cost.getWrittenBytes())}};
  if (std::string op = describeSoleOp(block); !op.empty())
    described["op"] = op;
  return described;
}

static double getBytes(Value buffer, nd::MeshAttr mesh) {
  return cast<exec::BufferType>(buffer.getType())
      .getTensor()
      .getLocalBytes(mesh);
}

/// Bytes of all different buffers among these.
static int64_t getTotalBytes(ArrayRef<Value> buffers, nd::MeshAttr mesh) {
  llvm::DenseSet<int64_t> seen;
  double bytes = 0;
  for (Value buffer : buffers)
    if (seen.insert(exec::ArenaPiece::of(buffer, mesh).begin).second)
      bytes += getBytes(buffer, mesh);
  return static_cast<int64_t>(bytes);
}

/// The dims of a buffer in memory order if its blocks have padding; otherwise
/// none.
static Json describePadding(Value buffer) {
  auto type = cast<exec::BufferType>(buffer.getType());
  if (!type.getTensor().hasPadding(nd::MeshAttr::of(buffer.getDefiningOp())))
    return Json::array();
  return describeDims(type.getTensor(), type.getOrder());
}

/// Adds the dims of a buffer that a call writes if its blocks have padding.
static void addPadding(Json &described, Value buffer) {
  if (Json dims = describePadding(buffer); !dims.empty())
    described["dims"] = std::move(dims);
}

/// Of a buffer that a call writes: its name in the model, if it has one, its
/// place, and what it holds.
static Json describeResult(Value buffer) {
  auto name = dyn_cast<NameLoc>(buffer.getLoc());
  nd::TensorType type = cast<exec::BufferType>(buffer.getType()).getTensor();
  nd::MeshAttr mesh = nd::MeshAttr::of(buffer.getDefiningOp());
  Json result = {{"name", name ? name.getName().str() : ""},
                 {"location", getPlace(buffer.getLoc())},
                 {"type", getTypeName(type.getElementType())},
                 {"elements", type.getLocalElementCount(mesh)}};
  addPadding(result, buffer);
  return result;
}

/// What a kernel is launched on: bytes of its inputs, and its results.
static void addBuffers(Json &call, const exec::KernelUse &use) {
  call["inputs"] = Json::array();
  call["results"] = Json::array();
  for (Value input : use.inputs)
    call["inputs"].push_back(static_cast<int64_t>(
        getBytes(input, nd::MeshAttr::of(input.getDefiningOp()))));
  for (Value output : use.outputs)
    call["results"].push_back(describeResult(output));
}

static Json describeLaunch(exec::StepOpInterface step, int64_t calls) {
  exec::KernelUse use = step.getKernelUse();
  Json call = {{"kernel", use.kernel.getValue().str()},
               {"calls", calls},
               {"ops", Json::array()}};
  if (auto fused = dyn_cast<FusedLoc>(step->getLoc()))
    for (Location part : fused.getLocations())
      if (auto op = dyn_cast<NameLoc>(part)) {
        std::string place = getPlace(op);
        call["ops"].push_back(
            (op.getName().getValue() + " " + llvm::sys::path::filename(place))
                .str());
      }
  addBuffers(call, use);
  return call;
}

static Json describeProduct(exec::StepOpInterface step,
                            const exec::ProductDescription &product,
                            int64_t calls) {
  nd::MeshAttr mesh = nd::MeshAttr::of(step);
  double flops =
      2.0 * static_cast<double>(product.m) * static_cast<double>(product.n) *
      static_cast<double>(product.k) * static_cast<double>(product.batch);
  auto name = dyn_cast<NameLoc>(product.c.getLoc());
  Type type =
      cast<exec::BufferType>(product.a.getType()).getTensor().getElementType();
  Json call = {{"location", getPlace(step->getLoc())},
               {"name", name ? name.getName().str() : ""},
               {"calls", calls},
               {"m", product.m},
               {"n", product.n},
               {"k", product.k},
               {"batch", product.batch},
               {"type", getTypeName(type)},
               {"flops", flops},
               {"read", getTotalBytes(product.reads, mesh)},
               {"written", getTotalBytes(product.writes, mesh)}};
  addPadding(call, product.c);
  if (!product.epilogue.empty()) {
    addBuffers(call, step.getKernelUse());
    call["epilogue"] = product.epilogue.str();
  }
  return call;
}

/// By the symbol of each kernel, the tensor of the program that it writes: the
/// kernels of an optimizer come from one line. A parameter before others.
static llvm::StringMap<StringRef> findWrittenTensors(ModuleOp module) {
  llvm::DenseMap<int64_t, exec::TensorOp> tensors; // by offset
  for (auto tensor : module.getOps<exec::TensorOp>())
    tensors[tensor.getOffset()] = tensor;
  llvm::StringMap<StringRef> names;
  nd::MeshAttr mesh = nd::MeshAttr::of(module);
  module.walk([&](exec::StepOpInterface step) {
    exec::KernelUse use = step.getKernelUse();
    // In the call of a product, what is written is the product's.
    if (!use.kernel || step.describe().product)
      return;
    exec::TensorOp best;
    for (Value output : use.outputs) {
      exec::TensorOp tensor =
          tensors.lookup(exec::ArenaPiece::of(output, mesh).begin);
      // Room of an input or a metric may be used for other things, too.
      bool counts = tensor && nd::isState(tensor.getRole());
      if (counts && (!best || (tensor.getRole() == nd::TensorRole::Parameter &&
                               best.getRole() != nd::TensorRole::Parameter)))
        best = tensor;
    }
    if (best)
      names.try_emplace(use.kernel.getValue(), best.getTensorName());
  });
  return names;
}

/// The launches and products among the steps, which run `calls` times, and the
/// loops with theirs.
static void addSteps(Json &function, ArrayRef<exec::StepOpInterface> steps,
                     int64_t calls) {
  for (exec::StepOpInterface step : steps) {
    if (auto product = step.describe().product)
      function["products"].push_back(describeProduct(step, *product, calls));
    else if (step.getKernelUse().kernel)
      function["launches"].push_back(describeLaunch(step, calls));
    auto loop = dyn_cast<exec::LoopOp>(step.getOperation());
    if (!loop)
      continue;
    auto size = static_cast<int64_t>(loop.getSize());
    size_t number = function["loops"].size();
    size_t launches = function["launches"].size();
    size_t products = function["products"].size();
    function["loops"].push_back({{"dim", loop.getDim().str()},
                                 {"size", size},
                                 {"backwards", loop.getBackwards()}});
    if (loop.getWhile())
      function["loops"].back()["while"] = true;
    addSteps(function, loop.getSteps(), calls * size);
    Json &described = function["loops"][number];
    described["launches"] = {launches, function["launches"].size()};
    described["products"] = {products, function["products"].size()};
  }
}

/// The collectives of some steps in the order in which their code first names
/// them: those that a loop begins ahead come before the others of its body, and
/// a wait may stand before its collective.
static void listCollectives(ArrayRef<exec::StepOpInterface> steps,
                            llvm::SetVector<Operation *> &list) {
  for (exec::StepOpInterface step : steps) {
    if (isa<exec::CollectiveOp>(step.getOperation()))
      list.insert(step);
    if (auto wait = dyn_cast<exec::WaitOp>(step.getOperation()))
      list.insert(wait.getToken().getDefiningOp());
    auto loop = dyn_cast<exec::LoopOp>(step.getOperation());
    if (!loop)
      continue;
    for (exec::CollectiveOp ahead : loop.getBegunAhead())
      list.insert(ahead);
    listCollectives(loop.getSteps(), list);
  }
}

llvm::SetVector<Operation *> listSites(ModuleOp module) {
  llvm::SetVector<Operation *> sites;
  for (auto function : module.getOps<exec::FuncOp>())
    listCollectives(function.getSteps(), sites);
  return sites;
}

/// The padding of what collectives receive, by the numbers of their sites.
static Json describeReceived(ModuleOp module) {
  Json received = Json::array();
  for (auto [site, op] : llvm::enumerate(listSites(module))) {
    Json results = Json::array();
    bool hasPadding = false;
    for (Value buffer : cast<exec::CollectiveOp>(op).getRecv()) {
      results.push_back(describePadding(buffer));
      hasPadding |= !results.back().empty();
    }
    if (hasPadding)
      received.push_back({{"site", site}, {"results", std::move(results)}});
  }
  return received;
}

void addCalls(Json &report, ModuleOp module) {
  if (Json received = describeReceived(module); !received.empty())
    report["received"] = std::move(received);
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
      for (const char *kind : {"launches", "products", "loops"})
        known[kind] = Json::array();
      addSteps(known, function.getSteps(), 1);
    }
}

} // namespace meshc::report
