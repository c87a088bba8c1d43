//===- Info.cpp - the command info ----------------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Commands/Info.h"

#include "meshc/EscapeControls.h"
#include "runtime/Base/AvailableMemory.h"
#include "runtime/Base/Counted.h"
#include "runtime/Base/TensorBlock.h"
#include "runtime/Checkpoint/Saver.h"
#include "runtime/Commands/BestCheckpoint.h"
#include "runtime/Commands/RunSettings.h"
#include "runtime/Data/InputLimits.h"
#include "runtime/Device/CudaLibrary.h"
#include "runtime/Device/Device.h"

#include <algorithm>
#include <iomanip>
#include <sstream>

using namespace meshc::runtime;

/// "[batch = 64 {data}, model = 32]", and "batch = 10 {data: blocks of 4}"
/// where the axes do not divide a dim.
static std::string describeSharding(const MeshcProgram &program,
                                    const MeshcTensor &tensor) {
  std::string text = "[";
  for (uint32_t i = 0; i < tensor.rank; ++i) {
    const MeshcDim &dim = tensor.dims[i];
    text += std::string(i ? ", " : "") + dim.name + " = " +
            std::to_string(dim.size);
    int64_t blocks = 1;
    for (uint32_t j = 0; j < dim.axisCount; ++j) {
      text += std::string(j ? ", " : " {") + program.axes[dim.axes[j]].name;
      blocks *= program.axes[dim.axes[j]].size;
    }
    if (blocks * dim.localSize != dim.size)
      text += ": blocks of " + std::to_string(dim.localSize);
    text += dim.axisCount ? "}" : "";
  }
  return text + "]";
}

static void printTensors(const MeshcProgram &program, MeshcRole role,
                         const char *title, std::ostream &out) {
  bool first = true;
  std::map<std::string, InputLimits> limits;
  if (role == MESHC_INPUT)
    limits = readLimits(program);
  for (uint32_t i = 0; i < program.tensorCount; ++i) {
    const MeshcTensor &tensor = program.tensors[i];
    if (tensor.role != role)
      continue;
    if (first)
      out << title << '\n';
    first = false;
    out << "  " << std::left << std::setw(20) << tensor.name << ' '
        << std::setw(5) << nameOf(typeOf(tensor))
        << describeSharding(program, tensor) << ", "
        << describeBytes(localElements(tensor) * sizeOf(typeOf(tensor)))
        << " per rank";
    if (int64_t limit = limits[tensor.name].vocabulary())
      out << ", numbers below " << limit;
    out << '\n';
  }
}

/// How many numbers the training learns: "1234 parameters in 5 tensors".
static void printParameterCount(const MeshcProgram &program,
                                std::ostream &out) {
  int64_t tensors = 0, elements = 0;
  for (uint32_t i = 0; i < program.tensorCount; ++i) {
    const MeshcTensor &tensor = program.tensors[i];
    if (tensor.role != MESHC_PARAMETER)
      continue;
    ++tensors;
    int64_t count = 1;
    for (uint32_t j = 0; j < tensor.rank; ++j)
      count *= tensor.dims[j].size;
    elements += count;
  }
  out << counted(elements, "parameter") << " in " << counted(tensors, "tensor")
      << '\n';
}

/// The settings that `train --set-setting` changes.
static void printSettings(const MeshcProgram &program, std::ostream &out) {
  const auto settings = findAdjustable(program);
  if (settings.empty())
    return;
  out << "settings that 'train --set-setting' changes\n";
  for (const MeshcSetting *setting : settings)
    out << "  " << setting->name << " = " << describeNumber(setting->value)
        << (*setting->place ? std::string(", ") + setting->place : "") << '\n';
}

/// For GPU programs: the code, and the memory beside the arena.
static void printDevice(const MeshcProgram &program, std::ostream &out) {
  if (program.target != MESHC_CUDA)
    return;
  out << "GPU code for " << describeImages(program)
      << "\nGPU memory per rank\n";
  for (const MemoryUse &use : plannedMemory(program))
    out << "  " << use.name << ' ' << describeBytes(use.bytes) << '\n';
  out << "  and code, handles and NCCL's buffers, which '--memory' prints\n";
}

/// How 'generate' computes prompts.
static void printPrompts(const MeshcProgram &program, std::ostream &out) {
  if (!program.generateStep)
    return;
  out << "prompts of generate, up to " << program.positions
      << " tokens: computed ";
  for (uint32_t i = 0; program.prefillStep && i < program.tensorCount; ++i)
    if (program.tensors[i].role == MESHC_TOKEN && program.tensors[i].rank == 2)
      out << program.tensors[i].dims[1].size << " positions at once\n";
  if (!program.prefillStep)
    out << "one position after the other\n";
}

void meshc::runtime::printRun(const std::string &path, std::ostream &out) {
  const RunState state = readRunState(SafetensorsFile(path));
  out << "checkpoint " << meshc::escapeControls(path) << "\n  after step "
      << state.step << ", seed " << state.seed << ", "
      << counted(state.position, "example");
  if (state.skipped)
    out << ", " << counted(state.skipped, "step") << " skipped";
  out << '\n';
  for (const auto &[name, value] : state.settings)
    out << "  setting " << meshc::escapeControls(name) << " = "
        << describeNumber(value) << ", by '--set-setting'\n";
  if (state.best.step >= 0)
    out << "  " << BestCheckpoint::describe(state.best) << ", "
        << counted(state.best.since, "evaluation") << " since an improvement\n";
}

void meshc::runtime::printInfo(const MeshcProgram &program, bool json,
                               std::ostream &out) {
  if (json) {
    out << (program.manifest ? program.manifest : "{}") << '\n';
    return;
  }
  int64_t ranks = 1;
  out << "model " << program.name << "\nmesh ";
  for (uint32_t i = 0; i < program.axisCount; ++i) {
    ranks *= program.axes[i].size;
    out << (i ? ", " : "") << program.axes[i].name << " = "
        << program.axes[i].size;
  }
  out << (program.axisCount ? ": " : "of ") << ranks
      << (ranks == 1 ? " rank\n" : " ranks\n");
  printParameterCount(program, out);
  out << "arena " << describeBytes(program.arenaBytes) << " per rank\n";
  if (program.trainStep)
    out << "copy of the state " << describeBytes(stateCopyBytes(program))
        << " on rank 0, for 'train --save-every' without '--save sync'\n";
  printDevice(program, out);
  printTensors(program, MESHC_INPUT, "inputs", out);
  printTensors(program, MESHC_PARAMETER, "parameters", out);
  printTensors(program, MESHC_OPTIMIZER, "optimizer state", out);
  printTensors(program, MESHC_AVERAGE, "averages of parameters", out);
  printTensors(program, MESHC_METRIC, "metrics", out);
  printTensors(program, MESHC_TRAINING_METRIC, "metrics of training alone",
               out);
  printSettings(program, out);
  printTensors(program, MESHC_CACHE, "caches of generate", out);
  printPrompts(program, out);
  out << (program.siteCount ? "collectives\n" : "no collectives\n");
  for (uint32_t i = 0; i < program.siteCount; ++i)
    out << "  " << program.sites[i].location << ": "
        << program.sites[i].description << '\n';
}
