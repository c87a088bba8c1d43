//===- LoadTensors.cpp - tensors of a file to their devices ---------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Checkpoint/LoadTensors.h"

#include "runtime/Base/Failure.h"
#include "runtime/Base/Finiteness.h"
#include "runtime/Base/Float16.h"
#include "runtime/Base/TensorBlock.h"
#include "runtime/Checkpoint/Checkpoint.h"
#include "runtime/Checkpoint/Checksums.h"
#include "runtime/Checkpoint/GatherState.h"
#include "runtime/Checkpoint/Misfits.h"
#include "runtime/Checkpoint/ParameterSource.h"
#include "runtime/Checkpoint/ReadParts.h"
#include "runtime/Checkpoint/StridedCopy.h"
#include "runtime/Device/Device.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>
#include <vector>

using namespace meshc::runtime;

//===----------------------------------------------------------------------===//
// Whether a file fits the program
//===----------------------------------------------------------------------===//

/// The types that can be converted to each other.
static bool isFloat(const std::string &dtype) {
  return dtype == "F32" || dtype == "F16" || dtype == "BF16";
}

/// The tensor that the map calls `name`, perhaps behind an optional prefix; or
/// null.
static const WeightTensor *findTensor(const WeightFiles &files,
                                      const NameMap *map,
                                      const std::string &name) {
  const WeightTensor *found = files.find(name);
  if (map && !found)
    for (const std::string &prefix : map->prefixes())
      if (!found)
        found = files.find(prefix + name);
  return found;
}

/// What is wrong with the file's tensor `name` as a source; empty if it fits.
static std::string describeMisfit(const ParameterSource &source,
                                  const std::string &name,
                                  const WeightTensor *found, bool converts) {
  std::string text = source.place().empty() ? "" : source.place() + ": ";
  text += "tensor '" + name + "' ";
  if (!found)
    return text + "is missing";
  const std::string expected = safetensorsName(typeOf(source.parameter()));
  const FileTensor &tensor = *found->tensor;
  bool fits = tensor.dtype == expected ||
              (converts && isFloat(tensor.dtype) && isFloat(expected));
  if (fits && tensor.shape == source.shape())
    return "";
  return text + "is " + tensor.describe() + "; expected " +
         (converts && isFloat(expected) ? "F32, F16 or BF16" : expected) + " " +
         source.describeShape();
}

/// In checkpoints of earlier versions, the number of skipped steps of a model
/// in f16: what the metadata have, too.
static constexpr const char *skippedStepsName = "@skipped_steps";

/// "tensor 'a' is", "tensors 'a', 'b' are", "tensors 'a', …, and 3 more are"
static std::string listTensors(const std::vector<std::string> &names) {
  constexpr size_t most = 8;
  std::string text = names.size() == 1 ? "tensor" : "tensors";
  for (size_t i = 0; i < std::min(names.size(), most); ++i)
    text += (i ? ", '" : " '") + names[i] + "'";
  if (names.size() > most)
    text += ", and " + std::to_string(names.size() - most) + " more";
  return text + (names.size() == 1 ? " is" : " are");
}

/// Tensors that the program's training has and a checkpoint lacks, or the other
/// way round. A run that went on without the latter would write a checkpoint
/// that has lost them. Returns the hint for such problems, or nothing.
static std::string listOtherState(const WeightFiles &files,
                                  const std::set<std::string> &used,
                                  const std::vector<std::string> &missing,
                                  std::vector<std::string> &problems) {
  std::vector<std::string> foreign;
  for (const auto &[name, entry] : files.tensors())
    if (!used.count(name) && name != skippedStepsName)
      foreign.push_back(name);
  if (!missing.empty())
    problems.push_back(listTensors(missing) + " missing");
  if (!foreign.empty())
    problems.push_back(listTensors(foreign) +
                       " no state of this program's training, which would "
                       "lose it");
  if (missing.empty() && foreign.empty())
    return "";
  return "; resume with the program that wrote the checkpoint, or begin with "
         "its parameters alone ('--weights')";
}

//===----------------------------------------------------------------------===//
// Conversion
//===----------------------------------------------------------------------===//

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

/// Converts `count` elements of `source`, of type `from`, to those of `tensor`.
static std::vector<char> convert(const WeightFiles &files,
                                 const MeshcTensor &tensor,
                                 const std::string &from,
                                 const std::vector<char> &source,
                                 int64_t count) {
  const int64_t each = bytesOfDtype(from), bytes = sizeOf(typeOf(tensor));
  std::vector<char> target(static_cast<size_t>(count * bytes));
  for (int64_t i = 0; i < count; ++i) {
    float value = floatOfDtype(from, source.data() + i * each);
    if (!writeFloat(value, typeOf(tensor), target.data() + i * bytes))
      throw Failure(ExitCode::Checkpoint,
                    "checkpoint '" + files.path() + "': tensor '" +
                        tensor.name + "' holds " + std::to_string(value) +
                        ", which is infinite in " + nameOf(typeOf(tensor)) +
                        "; compile the model with this parameter in f32");
  }
  return target;
}

//===----------------------------------------------------------------------===//
// Values that are not finite
//===----------------------------------------------------------------------===//

/// The indices of element `number`, in row-major order: " at [2, 0]".
static std::string describePlace(const FileTensor &tensor, int64_t number) {
  std::string text;
  for (size_t i = tensor.shape.size(); i-- > 0;) {
    text = std::to_string(number % tensor.shape[i]) +
           (text.empty() ? "" : ", ") + text;
    number /= tensor.shape[i];
  }
  return text.empty() ? "" : " at [" + text + "]";
}

/// Says where a tensor has the first value of `refused`, a set of Finiteness;
/// empty if it has none.
static std::string describeRefused(const FileTensor &tensor, const char *data,
                                   uint8_t refused) {
  const int64_t each = bytesOfDtype(tensor.dtype);
  for (int64_t at = 0; at < tensor.bytes(); at += each) {
    const float value = floatOfDtype(tensor.dtype, data + at);
    const uint8_t kind = classify(MESHC_F32, &value, 1);
    if (kind & refused)
      return "tensor '" + tensor.name + "', " + tensor.describe() + ", holds " +
             (kind == HasNan ? "a NaN" : "an infinite value") +
             describePlace(tensor, at / each);
  }
  return "";
}

/// A parameter that was read from the files has a value of `refused`.
static Failure refusedFailure(const WeightFiles &files, const NameMap *map,
                              const ParameterSource &source, uint8_t refused) {
  std::string text;
  source.forEachTensor(
      [&](const std::string &name, const std::vector<int64_t> &) {
        const WeightTensor &found = *findTensor(files, map, name);
        if (text.empty())
          text = describeRefused(*found.tensor, found.data, refused);
      });
  files.checkIntact();
  return Failure(ExitCode::Checkpoint,
                 "checkpoint '" + files.path() + "': " + text +
                     "; expected finite values: fetch the file again, or take "
                     "an earlier one of the run that wrote it");
}

//===----------------------------------------------------------------------===//
// Loading
//===----------------------------------------------------------------------===//

namespace {

/// Where a source's tensor has this rank's elements, and where they belong.
struct BlockPart {
  std::vector<CopyDim> dims;
  int64_t source = 0, target = 0; ///< of the first element
  bool isEmpty = false;
};

} // namespace

static BlockPart findBlockPart(const ParameterSource &source, const Rank &rank,
                               const std::vector<int64_t> &indices) {
  const MeshcTensor &tensor = source.parameter();
  BlockPart part;
  part.source = source.offset();
  for (uint32_t i = 0; i < tensor.rank; ++i) {
    const MeshcDim &dim = tensor.dims[i];
    const auto [first, entries] =
        blockRange(*rank.program, dim, rank.mesh.coords().data());
    if (source.isInName(i)) {
      const int64_t entry = indices[i] - first;
      part.isEmpty = part.isEmpty || entry < 0 || entry >= entries;
      part.target += entry * dim.localStride;
      continue;
    }
    const int64_t stride = source.strides()[i];
    part.isEmpty = part.isEmpty || entries == 0;
    part.source += first * stride;
    part.dims.push_back({entries, stride, dim.localStride});
  }
  return part;
}

/// Copies a part of a tensor to a block of another type.
static void copyConverted(const WeightFiles &files, const MeshcTensor &tensor,
                          const WeightTensor &found, BlockPart part,
                          char *block) {
  const std::string &type = found.tensor->dtype;
  const int64_t each = bytesOfDtype(type);
  std::vector<CopyDim> toPacked = part.dims;
  int64_t count = 1;
  for (size_t i = part.dims.size(); i-- > 0;) {
    toPacked[i].targetStride = part.dims[i].sourceStride = count;
    count *= part.dims[i].size;
  }
  std::vector<char> packed(static_cast<size_t>(count * each));
  copyStrided(toPacked, each, found.data + part.source * each, packed.data());
  packed = convert(files, tensor, type, packed, count);
  const int64_t bytes = sizeOf(typeOf(tensor));
  copyStrided(part.dims, bytes, packed.data(), block + part.target * bytes);
}

/// Copies this rank's block of a parameter whose tensors fit, and which must
/// have no value of `refused`.
static void loadTensor(const WeightFiles &files, const NameMap *map,
                       const ParameterSource &source, const Rank &rank,
                       uint8_t refused) {
  const MeshcTensor &tensor = source.parameter();
  const int64_t bytes = sizeOf(typeOf(tensor));
  auto copy = [&](char *block, const std::string &name,
                  const std::vector<int64_t> &indices) {
    const BlockPart part = findBlockPart(source, rank, indices);
    if (part.isEmpty)
      return;
    const WeightTensor &found = *findTensor(files, map, name);
    files.verify(found);
    if (found.tensor->dtype != safetensorsName(typeOf(tensor)))
      return copyConverted(files, tensor, found, part, block);
    copyStrided(part.dims, bytes, found.data + part.source * bytes,
                block + part.target * bytes);
  };
  rank.device->write(tensor, [&](char *block) {
    source.forEachTensor(
        [&](const std::string &name, const std::vector<int64_t> &indices) {
          copy(block, name, indices);
        });
    if (refused &&
        classify(*rank.program, tensor, rank.mesh.coords().data(), block) &
            refused)
      throw refusedFailure(files, map, source, refused);
  });
}

/// Sets all elements of this rank's block to the value that a map gives.
static void fillTensor(const ParameterSource &source, const Rank &rank) {
  const MeshcTensor &tensor = source.parameter();
  std::vector<CopyDim> dims;
  for (uint32_t i = 0; i < tensor.rank; ++i)
    dims.push_back({tensor.dims[i].localSize, 0, tensor.dims[i].localStride});
  char element[sizeof(float)];
  writeFloat(static_cast<float>(*source.constant()), typeOf(tensor), element);
  rank.device->write(tensor, [&](char *block) {
    copyStrided(dims, sizeOf(typeOf(tensor)), element, block);
  });
}

namespace {
/// What is known of the tensors of a program's sources.
struct SourceTensors {
  std::set<std::string> used; ///< their names in the files
  ReadParts parts;            ///< of those that fit
  /// Names that the files lack, if they are a checkpoint of `train`; those of
  /// other tools are among the problems.
  std::vector<std::string> missing;
  std::vector<std::string> problems;
};
} // namespace

static void checkSource(const WeightFiles &files, const NameMap *map,
                        const ParameterSource &source, bool ofOtherTools,
                        SourceTensors &tensors) {
  if (source.constant()) {
    if (!isFloat(safetensorsName(typeOf(source.parameter()))))
      tensors.problems.push_back(source.place() + ": parameter '" +
                                 source.parameter().name + "' is " +
                                 nameOf(typeOf(source.parameter())) +
                                 "; a number is for f32, f16 and bf16");
    return;
  }
  source.forEachTensor(
      [&](const std::string &name, const std::vector<int64_t> &) {
        const WeightTensor *found = findTensor(files, map, name);
        if (!found && !ofOtherTools) {
          tensors.missing.push_back(name);
          return;
        }
        if (found)
          tensors.used.insert(found->tensor->name);
        std::string problem = describeMisfit(source, name, found, ofOtherTools);
        if (problem.empty())
          tensors.parts.add(*found->tensor, source);
        else
          tensors.problems.push_back(problem);
      });
}

static void loadSource(const WeightFiles &files, const NameMap *map,
                       const ParameterSource &source, const Rank &rank,
                       uint8_t refused) {
  if (source.constant())
    fillTensor(source, rank);
  else
    loadTensor(files, map, source, rank, refused);
}

static void load(const WeightFiles &files, const NameMap *map,
                 const std::vector<ParameterSource> &sources, const Rank &rank,
                 bool ofOtherTools, uint8_t refused) {
  SourceTensors tensors;
  std::vector<std::string> &problems = tensors.problems;
  std::string hint;
  for (const ParameterSource &source : sources)
    checkSource(files, map, source, ofOtherTools, tensors);
  if (ofOtherTools)
    listExtra(files, *rank.program, tensors.used, map, problems);
  else
    hint = listOtherState(files, tensors.used, tensors.missing, problems);
  if (ofOtherTools && !map)
    hint = hintAtMap(files, tensors.used);
  if (map && problems.empty())
    tensors.parts.listUnread(*map, problems);
  refuseMisfits(files, *rank.program, problems, hint);
  files.verifyMetadata();
  for (const ParameterSource &source : sources)
    loadSource(files, map, source, rank, refused);
  files.checkIntact();
}

/// The program's tensor of that role and name, or null.
static const MeshcTensor *findState(const MeshcProgram &program, MeshcRole role,
                                    const std::string &name) {
  for (uint32_t i = 0; i < program.tensorCount; ++i)
    if (program.tensors[i].role == role && name == program.tensors[i].name)
      return &program.tensors[i];
  return nullptr;
}

/// The value in f32 that the program keeps of a 16-bit parameter, or null.
static const MeshcTensor *findMaster(const MeshcProgram &program,
                                     const MeshcTensor &parameter) {
  return typeOf(parameter) == MESHC_F32
             ? nullptr
             : findState(program, MESHC_OPTIMIZER,
                         std::string(parameter.name) + ".master");
}

/// Sets the number of updates that a checkpoint without it was made after.
static void setUpdates(const SafetensorsFile &file, const MeshcTensor &updates,
                       const Rank &rank) {
  const RunState state = readRunState(file);
  const auto count = static_cast<int32_t>(state.step - state.skipped);
  rank.device->write(
      updates, [&](char *block) { std::memcpy(block, &count, sizeof(count)); });
}

void meshc::runtime::loadState(const SafetensorsFile &file, const Rank &rank) {
  const MeshcProgram &program = *rank.program;
  const WeightFiles files(file);
  std::vector<ParameterSource> sources, masters;
  std::set<const MeshcTensor *> derived;
  const MeshcTensor *updates = findState(program, MESHC_OPTIMIZER, "@updates");
  if (updates && !files.find(updates->name))
    derived.insert(updates);
  for (uint32_t i = 0; i < program.tensorCount; ++i) {
    const MeshcTensor &tensor = program.tensors[i];
    if (tensor.role != MESHC_PARAMETER)
      continue;
    const MeshcTensor *master = findMaster(program, tensor);
    if (!master || files.find(master->name))
      continue;
    masters.emplace_back(*master, tensor.name);
    derived.insert(master);
  }
  for (uint32_t i = 0; i < program.tensorCount; ++i)
    if (isState(program.tensors[i]) && !derived.count(&program.tensors[i]))
      sources.emplace_back(program.tensors[i]);
  load(files, nullptr, sources, rank, /*ofOtherTools=*/false, /*refused=*/0);
  for (const ParameterSource &master : masters)
    loadSource(files, nullptr, master, rank, /*refused=*/0);
  if (updates && derived.count(updates))
    setUpdates(file, *updates, rank);
  files.checkIntact();
}

/// The sources of the parameters in files without a map.
static std::vector<ParameterSource> findStored(const StoredParameters &stored,
                                               const MeshcProgram &program) {
  std::vector<ParameterSource> sources;
  for (uint32_t i = 0; i < program.tensorCount; ++i)
    if (const MeshcTensor &tensor = program.tensors[i];
        tensor.role == MESHC_PARAMETER)
      sources.emplace_back(tensor, stored.find(tensor.name));
  return sources;
}

void meshc::runtime::loadParameters(const WeightFiles &files, const Rank &rank,
                                    const NameMap *map, ParameterValues values,
                                    uint8_t refused) {
  const MeshcProgram &program = *rank.program;
  std::vector<ParameterSource> sources =
      map ? findSources(program, map)
          : findStored(StoredParameters(files, program, values), program);
  load(files, map, sources, rank, /*ofOtherTools=*/true, refused);
  for (const ParameterSource &source : sources) {
    const MeshcTensor &parameter = source.parameter();
    for (const MeshcTensor *copy :
         {findMaster(program, parameter),
          findState(program, MESHC_AVERAGE, averageName(parameter.name))})
      if (copy)
        loadSource(files, map, source.of(*copy), rank, /*refused=*/0);
  }
  files.checkIntact();
}
