//===- LayersTest.cpp - library/nn.mesh beside PyTorch --------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Each model of models/ calls layers on known values. Outputs and gradients,
/// in doubles, are those that layers.py printed with PyTorch. Under several
/// layouts the partitioned model computes what one device does.
///
//===----------------------------------------------------------------------===//

#include "dialects/Nd/NdInterfaces.h"
#include "dialects/Nd/TensorAttributes.h"
#include "dialects/Spmd/SpmdOps.h"
#include "lib/Collectives/Passes.h"
#include "lib/Frontend/Frontend.h"
#include "lib/Layout/Passes.h"
#include "lib/Partition/Passes.h"
#include "lib/Reference/CompareSteps.h"
#include "lib/Steps/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SourceMgr.h"
#include <cmath>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <sstream>

using namespace mlir;
using namespace meshc;

namespace {

using Tensors = std::vector<reference::RankTensors>;
/// Values by parameter, row-major in the order of the declaration.
using Values = std::map<std::string, std::vector<double>>;

class LayerTest : public testing::Test {
protected:
  LayerTest() {
    context.loadDialect<nd::NdDialect, spmd::SpmdDialect, func::FuncDialect>();
  }

  /// The model's step functions.
  OwningOpRef<ModuleOp> build(const std::string &name,
                              const ModelOverrides &overrides = {}) {
    std::string path = MESHC_LAYERS "/" + name + ".mesh";
    auto text = llvm::MemoryBuffer::getFile(path);
    if (!text)
      return {};
    llvm::SourceMgr sources;
    sources.AddNewSourceBuffer(std::move(*text), llvm::SMLoc());
    SourceMgrDiagnosticHandler handler(sources, &context);
    auto module =
        parseModel(sources, context, overrides, {std::string(MESHC_LIBRARY)});
    PassManager passes(&context);
    steps::addStepsPasses(passes);
    if (!module || failed(passes.run(*module)))
      return {};
    return module;
  }

  MLIRContext context;
};

/// What layers.py's fill() and fill_whole() give: element i of a tensor.
double fill(StringRef name, bool isWhole, int64_t i) {
  if (isWhole)
    return double((7 * i + 3) % 5 % 3);
  double start = 0;
  for (unsigned char byte : name)
    start += 0.1 * byte;
  return std::sin(1.3 * double(i) + start);
}

/// Calls `visit` with the place in `tensor` of each element, in the order of
/// the declaration.
void visitDeclared(const nd::HostTensor &tensor, ArrayAttr order,
                   llvm::function_ref<void(int64_t place)> visit) {
  SmallVector<int64_t> sizes, strides;
  for (StringRef dim : order.getAsValueRange<StringAttr>()) {
    sizes.push_back(tensor.type.getSize(dim));
    strides.push_back(tensor.getStrideOf(dim));
  }
  nd::forEachIndex(
      sizes, {strides},
      [&](ArrayRef<int64_t>, ArrayRef<int64_t> offsets) { visit(offsets[0]); });
}

/// The gradient of each parameter: SGD of rate 1 subtracts it.
Values getGradients(ModuleOp module) {
  auto step = module.lookupSymbol<func::FuncOp>("train_step");
  nd::MeshAttr mesh = nd::MeshAttr::of(module);
  Tensors arguments;
  for (unsigned i = 0; i < step.getNumArguments(); ++i) {
    auto attributes = nd::TensorAttributes::ofArgument(step, i);
    auto type = cast<nd::TensorType>(step.getArgumentTypes()[i]);
    nd::HostTensor tensor(type, mesh);
    int64_t count = 0;
    visitDeclared(tensor, attributes.getOrder(), [&](int64_t place) {
      tensor.data[place] =
          fill(attributes.getName().getValue(), !type.isFloat(), count++);
    });
    arguments.push_back({tensor});
  }
  reference::RunOptions options;
  options.roundToType = false;
  auto after = reference::interpret(step, mesh, arguments, options);
  Values gradients;
  if (failed(after))
    return gradients;
  for (unsigned i = 0; i < step.getNumArguments(); ++i) {
    auto attributes = nd::TensorAttributes::ofArgument(step, i);
    if (attributes.hasRole(nd::TensorRole::Input))
      continue;
    const nd::HostTensor &before = arguments[i][0], &now = (*after)[i][0];
    visitDeclared(before, attributes.getOrder(), [&](int64_t place) {
      gradients[attributes.getName().str()].push_back(before.data[place] -
                                                      now.data[place]);
    });
  }
  return gradients;
}

Values readExpected(const std::string &name) {
  std::ifstream file(MESHC_LAYERS "/" + name + ".expected");
  Values values;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string parameter;
    words >> parameter;
    std::vector<double> &list = values[parameter];
    for (double value; words >> value;)
      list.push_back(value);
  }
  return values;
}

class Layers : public LayerTest,
               public testing::WithParamInterface<std::string> {};

TEST_P(Layers, ComputeWhatPyTorchDoes) {
  auto module = build(GetParam());
  ASSERT_TRUE(module);
  Values got = getGradients(*module), wanted = readExpected(GetParam());
  ASSERT_EQ(got.size(), wanted.size());
  ASSERT_FALSE(got.empty());
  for (const auto &[name, values] : wanted) {
    ASSERT_EQ(got[name].size(), values.size()) << name;
    // Constants of the language's functions are f32.
    double largest = 1;
    for (double value : values)
      largest = std::max(largest, std::abs(value));
    for (size_t i = 0; i < values.size(); ++i)
      EXPECT_NEAR(got[name][i], values[i], 2e-6 * largest)
          << name << ", element " << i;
  }
}

std::vector<std::string> listModels() {
  std::vector<std::string> names;
  std::error_code error;
  for (llvm::sys::fs::directory_iterator file(MESHC_LAYERS, error), end;
       file != end && !error; file.increment(error))
    if (llvm::sys::path::extension(file->path()) == ".mesh")
      names.push_back(llvm::sys::path::stem(file->path()).str());
  llvm::sort(names);
  return names;
}

INSTANTIATE_TEST_SUITE_P(All, Layers, testing::ValuesIn(listModels()),
                         [](const auto &info) { return info.param; });

/// Zeros for all arguments of an evaluation step, and one complete batch.
Tensors makeArguments(func::FuncOp step) {
  Tensors arguments;
  nd::MeshAttr mesh = nd::MeshAttr::of(step);
  for (BlockArgument argument : step.getArguments()) {
    arguments.push_back({nd::HostTensor(nd::getTensorType(argument), mesh)});
    if (nd::TensorAttributes::of(argument).hasRole(nd::TensorRole::Batches))
      arguments.back()[0].data[0] = 1;
  }
  return arguments;
}

// Inputs/schedules.expected has the factors of PyTorch's schedulers, step by
// step.
TEST_F(LayerTest, SchedulesAreThoseOfPyTorch) {
  auto module = build("../Inputs/schedules");
  ASSERT_TRUE(module);
  auto step = module->lookupSymbol<func::FuncOp>("eval_step");
  nd::MeshAttr mesh = nd::MeshAttr::of(*module);
  Tensors arguments = makeArguments(step);
  Values got, wanted = readExpected("../Inputs/schedules");
  size_t count = wanted["warmup"].size();
  ASSERT_GT(count, 0u);
  for (size_t t = 0; t < count; ++t) {
    reference::RunOptions options;
    options.step = int64_t(t);
    auto metrics = reference::interpret(step, mesh, arguments, options);
    ASSERT_TRUE(succeeded(metrics));
    for (unsigned i = 0; i < step.getNumResults(); ++i)
      if (auto result = nd::TensorAttributes::ofResult(step, i);
          result.hasRole(nd::TensorRole::Metric))
        got[result.getName().str()].push_back((*metrics)[i][0].data[0]);
  }
  ASSERT_EQ(got.size(), wanted.size());
  for (const auto &[name, values] : wanted)
    for (size_t t = 0; t < count; ++t)
      EXPECT_NEAR(got[name][t], values[t], 2e-6) << name << ", step " << t;
}

// Within four standard deviations of 65,536 draws; two calls are independent.
TEST_F(LayerTest, CategoricalDrawsBySoftmax) {
  auto module = build("../Inputs/categorical");
  ASSERT_TRUE(module);
  auto step = module->lookupSymbol<func::FuncOp>("eval_step");
  nd::MeshAttr mesh = nd::MeshAttr::of(*module);
  Tensors arguments = makeArguments(step);
  auto metrics = reference::interpret(step, mesh, arguments, {});
  ASSERT_TRUE(succeeded(metrics));
  for (unsigned i : {0, 1})
    EXPECT_LT((*metrics)[i][0].data[0], 0.008);
}

struct Cut {
  const char *model, *mesh, *layout;
};

class CutLayers : public LayerTest, public testing::WithParamInterface<Cut> {};

TEST_P(CutLayers, ComputeWhatOneDeviceDoes) {
  const Cut &cut = GetParam();
  auto whole = build(cut.model);
  auto module = build(cut.model, {cut.mesh, cut.layout, {}});
  ASSERT_TRUE(whole && module);
  PassManager decompose(&context), passes(&context);
  decompose.addPass(layout::createDecomposeComposites());
  layout::addLayoutPasses(passes);
  partition::addPartitionPasses(passes);
  collectives::addCollectivesPasses(passes);
  ASSERT_TRUE(succeeded(decompose.run(*whole)) &&
              succeeded(passes.run(*module)));
  auto differences = reference::compareSteps(*whole, *module, {});
  ASSERT_TRUE(succeeded(differences));
  EXPECT_FALSE(differences->empty());
  for (const reference::OutputDifference &difference : *differences)
    EXPECT_TRUE(difference.agrees && difference.nonFinite == 0)
        << difference.function << ": '" << difference.name << "' differs by "
        << difference.largest << " of " << difference.scale;
}

INSTANTIATE_TEST_SUITE_P(
    All, CutLayers,
    testing::Values(Cut{"normalization", "a=2,b=2", "batch:a,model:b"},
                    Cut{"embedding", "a=5,b=2", "vocab:a,batch:b"},
                    Cut{"embedding", "a=2,b=2", "model:a,batch:b"},
                    Cut{"positions", "a=2", "heads:a,batch:a"},
                    Cut{"slopes", "a=5,b=2", "twelve:a,many:b"},
                    Cut{"attention", "a=2,b=2", "batch:a,heads:b"},
                    Cut{"attention", "a=2,b=3", "seq:a,model:b"},
                    Cut{"attention", "a=4", "memory:a"},
                    Cut{"biased_attention", "a=2,b=2", "batch:a,heads:b"},
                    Cut{"grouped_attention", "a=3,b=2", "groups:a,heads:b"},
                    Cut{"multi_query_attention", "a=2,b=2", "heads:a,seq:b"},
                    Cut{"feed_forward", "a=3,b=2,c=2", "ffn:a,batch:b,model:c"},
                    Cut{"switch_experts", "a=4", "batch:a,experts:a"},
                    Cut{"switch_experts", "a=2,b=2", "seq:a,experts:b"},
                    Cut{"switch_experts", "a=2,b=2", "batch:a,choice:b"},
                    Cut{"top_k_experts", "a=2,b=5", "batch:a,experts:a,ffn:b"},
                    Cut{"top_k_experts", "a=2,b=3", "slot:a,model:b"},
                    Cut{"top_k_experts", "a=2,b=2", "batch:a+b,experts:a+b"},
                    Cut{"lstm", "a=2,b=2", "batch:a,cell:b"},
                    Cut{"losses", "a=5,b=2", "vocab:a,batch:b"},
                    Cut{"custom_gradients", "a=2,b=5", "batch:a,class:b"},
                    Cut{"custom_gradients", "a=2,b=2", "model:a+b"}),
    [](const auto &info) {
      return std::string(info.param.model) + "_" + std::to_string(info.index);
    });

} // namespace
