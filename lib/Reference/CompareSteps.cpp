//===- CompareSteps.cpp - partitioned against one device ------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Reference/CompareSteps.h"
#include "dialects/Nd/TensorAttributes.h"
#include "lib/Reference/Blocks.h"
#include "lib/Reference/RandomInputs.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <cmath>

using namespace mlir;
using meshc::nd::HostTensor;
using meshc::nd::MeshAttr;

namespace meshc::reference {

static constexpr double relativeTolerance = 1e-9;
static constexpr double absoluteTolerance = 1e-12;

namespace {

/// One function of both modules.
class Comparison {
public:
  Comparison(func::FuncOp sequential, func::FuncOp partitioned,
             const CompareOptions &options)
      : sequential(sequential), partitioned(partitioned), options(options),
        oneDevice(
            MeshAttr::get(sequential.getContext(), ArrayRef<nd::AxisAttr>())),
        mesh(MeshAttr::of(partitioned)) {}

  LogicalResult run(std::vector<OutputDifference> &differences);

private:
  LogicalResult verifyTypes();
  void drawArguments();
  OutputDifference compare(unsigned index, const HostTensor &wanted,
                           const HostTensor &got);

  func::FuncOp sequential, partitioned;
  const CompareOptions &options;
  MeshAttr oneDevice, mesh;
  std::vector<RankTensors> wholeArguments, cutArguments;
};

} // namespace

LogicalResult Comparison::verifyTypes() {
  if (!nd::haveSameGlobalTypes(sequential.getArgumentTypes(),
                               partitioned.getArgumentTypes()) ||
      !nd::haveSameGlobalTypes(sequential.getResultTypes(),
                               partitioned.getResultTypes()))
    return partitioned.emitError()
           << "function '" << partitioned.getName()
           << "' has other types than on one device, sharding apart: "
           << sequential.getFunctionType() << " and "
           << partitioned.getFunctionType();
  return success();
}

void Comparison::drawArguments() {
  std::mt19937_64 random(options.seed);
  for (auto [argument, cut] :
       llvm::zip(sequential.getArguments(), partitioned.getArguments())) {
    HostTensor whole =
        drawArgument(sequential, argument.getArgNumber(), options, random);
    cutArguments.push_back(cutTensor(whole, nd::getTensorType(cut), mesh));
    wholeArguments.push_back({std::move(whole)});
  }
}

OutputDifference Comparison::compare(unsigned index, const HostTensor &wanted,
                                     const HostTensor &got) {
  OutputDifference difference;
  difference.function = sequential.getName().str();
  StringAttr name = nd::TensorAttributes::ofResult(sequential, index).getName();
  difference.name = name ? name.str() : "result " + std::to_string(index);
  for (auto [a, b] : llvm::zip(wanted.data, got.data)) {
    if (std::isfinite(a))
      difference.scale = std::max(difference.scale, std::abs(a));
    else
      ++difference.nonFinite;
    if (a == b || (std::isnan(a) && std::isnan(b)))
      continue;
    double distance = std::abs(a - b);
    // NaN and infinity on one side only stay in the result.
    if (!(distance <= difference.largest))
      difference.largest =
          std::isnan(difference.largest) ? difference.largest : distance;
  }
  difference.tolerance =
      relativeTolerance * difference.scale + absoluteTolerance;
  difference.agrees = difference.largest <= difference.tolerance;
  return difference;
}

LogicalResult Comparison::run(std::vector<OutputDifference> &differences) {
  if (failed(verifyTypes()))
    return failure();
  drawArguments();
  RunOptions runOptions;
  runOptions.seed = options.seed;
  runOptions.step = 1;
  runOptions.roundToType = false;
  auto wanted =
      interpret(sequential, oneDevice, std::move(wholeArguments), runOptions);
  auto got = interpret(partitioned, mesh, std::move(cutArguments), runOptions);
  if (failed(wanted) || failed(got))
    return failure();
  for (unsigned i = 0; i < wanted->size(); ++i) {
    auto type = cast<nd::TensorType>(partitioned.getResultTypes()[i]);
    auto emitError = [&] {
      return partitioned.emitError() << "result " << i << " of function '"
                                     << partitioned.getName() << "': ";
    };
    FailureOr<HostTensor> whole =
        assembleTensor((*got)[i], type, mesh, emitError);
    if (failed(whole))
      return failure();
    differences.push_back(compare(i, (*wanted)[i].front(), *whole));
  }
  return success();
}

FailureOr<std::vector<OutputDifference>>
compareSteps(ModuleOp sequential, ModuleOp partitioned,
             const CompareOptions &options) {
  std::vector<OutputDifference> differences;
  bool found = false;
  for (auto function : sequential.getOps<func::FuncOp>()) {
    auto other = partitioned.lookupSymbol<func::FuncOp>(function.getName());
    if (!other)
      continue;
    found = true;
    if (failed(Comparison(function, other, options).run(differences)))
      return failure();
  }
  if (!found)
    return partitioned.emitError()
           << "no function of the program on one device is left to compare";
  return differences;
}

} // namespace meshc::reference
