//===- ProgramTable.cpp - the descriptor of a compiled program ------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Codegen/ProgramTable.h"
#include "dialects/Exec/ArenaAttributes.h"
#include "dialects/Nd/NdInterfaces.h"
#include "dialects/Nd/Ops/ModelOps.h"
#include "lib/Codegen/StepFunctions.h"
#include <cmath>
#include <limits>

using namespace mlir;

namespace meshc::codegen {

static MeshcRole getAbiRole(nd::TensorRole role) {
  switch (role) {
  case nd::TensorRole::Parameter:
    return MESHC_PARAMETER;
  case nd::TensorRole::Optimizer:
    return MESHC_OPTIMIZER;
  case nd::TensorRole::Input:
    return MESHC_INPUT;
  case nd::TensorRole::Metric:
    return MESHC_METRIC;
  case nd::TensorRole::Cache:
    return MESHC_CACHE;
  case nd::TensorRole::Token:
    return MESHC_TOKEN;
  case nd::TensorRole::Position:
    return MESHC_POSITION;
  case nd::TensorRole::Logits:
    return MESHC_LOGITS;
  case nd::TensorRole::TrainingMetric:
    return MESHC_TRAINING_METRIC;
  case nd::TensorRole::Skipped:
    return MESHC_SKIPPED;
  case nd::TensorRole::Average:
    return MESHC_AVERAGE;
  case nd::TensorRole::Statistic:
    return MESHC_STATISTIC;
  case nd::TensorRole::Batches:
    return MESHC_BATCHES;
  case nd::TensorRole::Rest:
    return MESHC_REST;
  }
  llvm_unreachable("all roles are above");
}

static llvm::Constant *makeTensor(exec::TensorOp op, nd::MeshAttr mesh,
                                  const AbiTypes &types,
                                  ConstantTable &constants) {
  auto buffer = cast<exec::BufferType>(op.getType());
  SmallVector<llvm::Constant *> dims;
  for (StringAttr name : op.getOrder().getAsRange<StringAttr>()) {
    if (!buffer.getTensor().hasDim(name.getValue())) {
      op.emitOpError() << "declares dim '" << name.getValue()
                       << "', which its type does not have";
      return nullptr;
    }
    dims.push_back(constants.makeDim(buffer, name.getValue(), mesh));
  }
  MeshcType type = exec::getAbiType(buffer.getTensor().getElementType());
  return constants.makeStruct(
      types.tensor,
      {constants.getString(op.getTensorName()),
       constants.getInteger(types.i8, getAbiRole(op.getRole())),
       constants.getInteger(types.i8, type), constants.getInteger(types.i16, 0),
       constants.getInteger(types.i32, int64_t(dims.size())),
       constants.makeArray(dims),
       constants.getInteger(types.i64, op.getOffset())});
}

static llvm::Constant *makeSetting(nd::RunSettingOp op, const AbiTypes &types,
                                   ConstantTable &constants) {
  std::optional<APFloat> value = op.getValue(), limit = op.getLimit();
  MeshcSettingKind kind = !value          ? MESHC_COMPUTED
                          : op.getFixed() ? MESHC_FIXED
                                          : MESHC_ADJUSTABLE;
  auto makeNumber = [&](double number) {
    return llvm::ConstantFP::get(types.setting->getElementType(2), number);
  };
  constexpr double infinity = std::numeric_limits<double>::infinity();
  return constants.makeStruct(
      types.setting,
      {constants.getString(op.getName()),
       constants.getString(getSourceText(op.getLoc())),
       makeNumber(value ? value->convertToDouble() : std::nan("")),
       makeNumber(limit ? limit->convertToDouble() : infinity),
       constants.getInteger(types.i32, kind),
       constants.getInteger(types.i32, op.getPositive())});
}

/// The address of the step; null if the program does not have it.
static llvm::Constant *getAddress(const ProgramParts &parts, nd::Step step,
                                  const AbiTypes &types) {
  if (llvm::Function *function = parts.steps[unsigned(step)])
    return function;
  return llvm::ConstantPointerNull::get(types.pointer);
}

LogicalResult defineProgram(ModuleOp module, const ProgramParts &parts,
                            llvm::Module &target, const AbiTypes &types,
                            ConstantTable &constants) {
  nd::MeshAttr mesh = nd::MeshAttr::of(module);
  std::optional<int64_t> arenaBytes = exec::getArenaBytes(module);
  if (!arenaBytes)
    return module.emitError(
        "the module has no 'exec.arena_bytes'; run the schedule phase first");
  for (nd::Step step : {nd::Step::Initialize, nd::Step::Eval})
    if (!parts.steps[unsigned(step)])
      return module.emitError("the module has no function '")
             << nd::getStepName(step) << "'";
  SmallVector<llvm::Constant *> axes, tensors;
  for (nd::AxisAttr axis : mesh.getAxes())
    axes.push_back(constants.makeStruct(
        types.axis, {constants.getString(axis.getName().getValue()),
                     constants.getInteger(types.i64, axis.getSize())}));
  for (exec::TensorOp op : module.getOps<exec::TensorOp>()) {
    tensors.push_back(makeTensor(op, mesh, types, constants));
    if (!tensors.back())
      return failure();
  }
  SmallVector<llvm::Constant *> settings;
  for (nd::RunSettingOp op : module.getOps<nd::RunSettingOp>())
    settings.push_back(makeSetting(op, types, constants));
  auto count = [&](size_t number) {
    return constants.getInteger(types.i32, int64_t(number));
  };
  llvm::Constant *program = constants.makeStruct(
      types.program, {count(MESHC_ABI_VERSION),
                      count(axes.size()),
                      constants.makeArray(axes),
                      constants.getString(parts.name),
                      count(tensors.size()),
                      count(parts.sites.size()),
                      constants.makeArray(tensors),
                      constants.makeArray(parts.sites),
                      count(parts.target),
                      count(parts.kernelCount),
                      parts.kernels,
                      count(parts.images.size()),
                      count(0),
                      constants.makeArray(parts.images),
                      constants.getInteger(types.i64, *arenaBytes),
                      getAddress(parts, nd::Step::Initialize, types),
                      getAddress(parts, nd::Step::Train, types),
                      getAddress(parts, nd::Step::Eval, types),
                      constants.getString(parts.manifest),
                      constants.getString(parts.features),
                      getAddress(parts, nd::Step::Generate, types),
                      constants.getInteger(types.i64, parts.positions),
                      getAddress(parts, nd::Step::EvalAverages, types),
                      getAddress(parts, nd::Step::Prefill, types),
                      constants.getString(parts.wholeBatches),
                      constants.makeArray(settings),
                      count(settings.size()),
                      count(0)});
  new llvm::GlobalVariable(target, types.program, /*isConstant=*/true,
                           llvm::GlobalValue::ExternalLinkage, program,
                           "meshc_program");
  return success();
}

} // namespace meshc::codegen
