//===- LoadTensors.cpp - tensors of a file to their devices ---------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Checkpoint/LoadTensors.h"

#include "runtime/Base/Failure.h"
#include "runtime/Base/Float16.h"
#include "runtime/Base/TensorBlock.h"
#include "runtime/Checkpoint/Checkpoint.h"
#include "runtime/Checkpoint/Checksums.h"
#include "runtime/Checkpoint/StridedCopy.h"
#include "runtime/Device/Device.h"

#include <cmath>
#include <cstring>
#include <set>
#include <vector>

using namespace meshc::runtime;

//===----------------------------------------------------------------------===//
// Whether a file fits the program
//===----------------------------------------------------------------------===//

static FileTensor expectedTensor(const MeshcTensor &tensor) {
  FileTensor expected;
  expected.dtype = safetensorsName(typeOf(tensor));
  for (uint32_t i = 0; i < tensor.rank; ++i)
    expected.shape.push_back(tensor.dims[i].size);
  return expected;
}

/// The types that can be converted to each other.
static bool isFloat(const std::string &dtype) {
  return dtype == "F32" || dtype == "F16" || dtype == "BF16";
}

/// What is wrong with the file's tensor of that name; empty if it fits.
static std::string describeMisfit(const SafetensorsFile &file,
                                  const MeshcTensor &tensor, bool converts) {
  const std::string name = "tensor '" + std::string(tensor.name) + "' ";
  const FileTensor *found = file.find(tensor.name);
  if (!found)
    return name + "is missing";
  FileTensor expected = expectedTensor(tensor);
  bool fits = found->dtype == expected.dtype ||
              (converts && isFloat(found->dtype) && isFloat(expected.dtype));
  if (fits && found->shape == expected.shape)
    return "";
  return name + "is " + found->describe() + "; expected " +
         (converts && isFloat(expected.dtype) ? "F32, F16 or BF16"
                                              : expected.dtype) +
         " " + describeDims(tensor);
}

/// Throws if there are `problems`, and names the first ones.
static void refuseMisfits(const SafetensorsFile &file, const Rank &rank,
                          const std::vector<std::string> &problems) {
  constexpr size_t most = 8;
  if (problems.empty())
    return;
  std::string text = "checkpoint '" + file.path() + "' does not fit model '" +
                     rank.program->name + "': ";
  for (size_t i = 0; i < problems.size() && i < most; ++i)
    text += (i ? "; " : "") + problems[i];
  if (problems.size() > most)
    text += "; and " + std::to_string(problems.size() - most) + " more";
  throw Failure(ExitCode::Checkpoint, text);
}

/// Whether `name` names a parameter's optimizer state, in a checkpoint.
static bool isSlot(const std::string &name,
                   const std::set<std::string> &parameters) {
  for (size_t dot = name.find('.'); dot != std::string::npos;
       dot = name.find('.', dot + 1))
    if (parameters.count(name.substr(0, dot)))
      return true;
  return false;
}

/// Tensors in the file that match no parameter of the program.
static void listExtra(const SafetensorsFile &file, const MeshcProgram &program,
                      std::vector<std::string> &problems) {
  std::set<std::string> parameters;
  for (uint32_t i = 0; i < program.tensorCount; ++i)
    if (program.tensors[i].role == MESHC_PARAMETER)
      parameters.insert(program.tensors[i].name);
  const bool ofTrain = hasRunState(file);
  for (const auto &[name, tensor] : file.tensors())
    if (!parameters.count(name) && !(ofTrain && isSlot(name, parameters)))
      problems.push_back("tensor '" + name + "', " + tensor.describe() +
                         ", is not a parameter");
}

//===----------------------------------------------------------------------===//
// Conversion
//===----------------------------------------------------------------------===//

static float readFloat(const std::string &dtype, const char *at) {
  uint16_t bits;
  float value;
  if (dtype == "F32") {
    std::memcpy(&value, at, sizeof(value));
    return value;
  }
  std::memcpy(&bits, at, sizeof(bits));
  return dtype == "F16" ? floatFromF16(bits) : floatFromBf16(bits);
}

/// Stores `value`; returns whether its finiteness did not change.
static bool writeFloat(float value, MeshcType type, char *at) {
  if (type == MESHC_F32) {
    std::memcpy(at, &value, sizeof(value));
    return true;
  }
  uint16_t bits =
      type == MESHC_F16 ? f16FromFloat(value) : bf16FromFloat(value);
  std::memcpy(at, &bits, sizeof(bits));
  float stored = type == MESHC_F16 ? floatFromF16(bits) : floatFromBf16(bits);
  return std::isfinite(stored) || !std::isfinite(value);
}

/// Converts the elements of `source`, of type `from`, to those of `tensor`.
static std::vector<char> convert(const SafetensorsFile &file,
                                 const MeshcTensor &tensor,
                                 const std::string &from,
                                 const std::vector<char> &source,
                                 int64_t count) {
  const int64_t each = bytesOfDtype(from), bytes = sizeOf(typeOf(tensor));
  std::vector<char> target(static_cast<size_t>(count * bytes));
  for (int64_t i = 0; i < count; ++i) {
    float value = readFloat(from, source.data() + i * each);
    if (!writeFloat(value, typeOf(tensor), target.data() + i * bytes))
      throw Failure(ExitCode::Checkpoint,
                    "checkpoint '" + file.path() + "': tensor '" + tensor.name +
                        "' holds " + std::to_string(value) +
                        ", which is infinite in " + nameOf(typeOf(tensor)) +
                        "; compile the model with this parameter in f32");
  }
  return target;
}

//===----------------------------------------------------------------------===//
// Loading
//===----------------------------------------------------------------------===//

/// Copies this rank's block of a tensor that fits.
static void loadTensor(const SafetensorsFile &file, const MeshcTensor &tensor,
                       const Rank &rank) {
  const FileTensor &found = *file.find(tensor.name);
  verifyTensor(file, found);
  std::vector<CopyDim> toBlock(tensor.rank), toPacked(tensor.rank);
  int64_t begin = 0, global = 1, count = 1;
  for (uint32_t i = tensor.rank; i-- > 0;) {
    const MeshcDim &dim = tensor.dims[i];
    toBlock[i] = {dim.localSize, global, dim.localStride};
    toPacked[i] = {dim.localSize, global, count};
    begin += blockIndex(*rank.program, dim, rank.mesh.coords().data()) *
             dim.localSize * global;
    global *= dim.size;
    count *= dim.localSize;
  }
  const int64_t each = bytesOfDtype(found.dtype);
  const int64_t bytes = sizeOf(typeOf(tensor));
  const char *source = file.data(found) + begin * each;
  if (found.dtype == safetensorsName(typeOf(tensor)))
    return rank.device->write(tensor, [&](char *block) {
      copyStrided(toBlock, bytes, source, block);
    });
  std::vector<char> packed(static_cast<size_t>(count * each));
  copyStrided(toPacked, each, source, packed.data());
  packed = convert(file, tensor, found.dtype, packed, count);
  for (uint32_t i = 0; i < tensor.rank; ++i)
    toBlock[i].sourceStride = toPacked[i].targetStride;
  rank.device->write(tensor, [&](char *block) {
    copyStrided(toBlock, bytes, packed.data(), block);
  });
}

static void load(const SafetensorsFile &file, const Rank &rank,
                 bool optimizer) {
  const MeshcProgram &program = *rank.program;
  auto isLoaded = [&](const MeshcTensor &tensor) {
    return tensor.role == MESHC_PARAMETER ||
           (optimizer && tensor.role == MESHC_OPTIMIZER);
  };
  std::vector<std::string> problems;
  for (uint32_t i = 0; i < program.tensorCount; ++i)
    if (isLoaded(program.tensors[i])) {
      std::string problem =
          describeMisfit(file, program.tensors[i], !optimizer);
      if (!problem.empty())
        problems.push_back(problem);
    }
  if (!optimizer)
    listExtra(file, program, problems);
  refuseMisfits(file, rank, problems);
  verifyMetadata(file);
  for (uint32_t i = 0; i < program.tensorCount; ++i)
    if (isLoaded(program.tensors[i]))
      loadTensor(file, program.tensors[i], rank);
  file.checkIntact();
}

void meshc::runtime::loadState(const SafetensorsFile &file, const Rank &rank) {
  load(file, rank, /*optimizer=*/true);
}

void meshc::runtime::loadParameters(const SafetensorsFile &file,
                                    const Rank &rank) {
  load(file, rank, /*optimizer=*/false);
}
