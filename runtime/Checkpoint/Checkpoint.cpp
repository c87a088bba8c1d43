//===- Checkpoint.cpp - saving and loading a run --------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Checkpoint/Checkpoint.h"

#include "runtime/Checkpoint/AtomicFile.h"
#include "runtime/Checkpoint/StridedCopy.h"
#include "runtime/Core/Failure.h"
#include "runtime/Core/TensorBlock.h"
#include "runtime/Core/Version.h"
#include "runtime/Device/Device.h"

#include <algorithm>
#include <cerrno>
#include <memory>

using namespace meshc::runtime;

/// Bytes of a tensor that rank 0 gathers at once, where its rows allow it.
static constexpr int64_t sliceBytes = int64_t(16) << 20;

static bool isSaved(const MeshcTensor &tensor) {
  return tensor.role == MESHC_PARAMETER || tensor.role == MESHC_OPTIMIZER;
}

/// The coordinates of `rank`, row-major over the axes.
static std::vector<int64_t> coordsOf(const MeshcProgram &program, int rank) {
  std::vector<int64_t> coords(program.axisCount);
  int64_t rest = rank;
  for (uint32_t i = program.axisCount; i-- > 0;) {
    coords[i] = rest % program.axes[i].size;
    rest /= program.axes[i].size;
  }
  return coords;
}

/// Of the ranks that hold the same block, the one that sends it: coordinate 0
/// on all axes that do not cut the tensor.
static bool isOwner(const MeshcProgram &program, const MeshcTensor &tensor,
                    const std::vector<int64_t> &coords) {
  std::vector<bool> cuts(program.axisCount);
  for (uint32_t i = 0; i < tensor.rank; ++i)
    for (uint32_t j = 0; j < tensor.dims[i].axisCount; ++j)
      cuts[tensor.dims[i].axes[j]] = true;
  for (uint32_t i = 0; i < program.axisCount; ++i)
    if (!cuts[i] && coords[i] != 0)
      return false;
  return true;
}

namespace {
/// The rows [begin, end) of a tensor's first dim. A tensor without dims is one
/// row.
struct Slice {
  int64_t begin, end;
};
} // namespace

/// The part of a rank's block that lies in `slice`, as a copy from there to
/// packed memory, or (`toGlobal`) from packed memory to the packed slice.
/// Returns its elements and sets where it begins on both sides.
static int64_t planCopy(const MeshcProgram &program, const MeshcTensor &tensor,
                        const std::vector<int64_t> &coords, const Slice &slice,
                        bool toGlobal, std::vector<CopyDim> &dims,
                        int64_t &source, int64_t &target) {
  dims.assign(tensor.rank, {});
  source = target = 0;
  int64_t packed = 1, global = 1;
  for (uint32_t i = tensor.rank; i-- > 0;) {
    const MeshcDim &dim = tensor.dims[i];
    int64_t first = blockIndex(program, dim, coords.data()) * dim.localSize;
    int64_t begin = first, end = first + dim.localSize, base = 0;
    if (i == 0) {
      begin = std::max(begin, slice.begin);
      end = std::min(end, slice.end);
      base = slice.begin;
    }
    if (end <= begin)
      return 0;
    dims[i].size = end - begin;
    if (toGlobal) {
      dims[i].sourceStride = packed;
      dims[i].targetStride = global;
      target += (begin - base) * global;
    } else {
      dims[i].sourceStride = dim.localStride;
      dims[i].targetStride = packed;
      source += (begin - first) * dim.localStride;
    }
    packed *= end - begin;
    global *= dim.size;
  }
  return packed;
}

/// Brings one slice of a tensor to rank 0, which gets it packed in `whole`.
/// `block` is this rank's, null where another rank sends it.
static void gatherSlice(const Rank &rank, const MeshcTensor &tensor,
                        const char *block, const Slice &slice,
                        std::vector<char> &packed, std::vector<char> &whole) {
  const MeshcProgram &program = *rank.program;
  const int64_t bytes = sizeOf(typeOf(tensor));
  std::vector<CopyDim> dims;
  int64_t source = 0, target = 0, count = 0;
  if (block)
    count = planCopy(program, tensor, rank.mesh.coords(), slice, false, dims,
                     source, target);
  packed.resize(static_cast<size_t>(count * bytes));
  if (count)
    copyStrided(dims, bytes, block + source * bytes, packed.data());

  int64_t rowElements =
      tensor.rank ? globalElements(tensor) / tensor.dims[0].size : 1;
  if (rank.mesh.rank() == 0)
    whole.resize(
        static_cast<size_t>((slice.end - slice.begin) * rowElements * bytes));
  rank.communicator->gather(packed.data(), packed.size(), 0,
                            [&](int from, const void *data, size_t size) {
                              if (size == 0)
                                return;
                              std::vector<CopyDim> place;
                              int64_t begin = 0, to = 0;
                              planCopy(program, tensor, coordsOf(program, from),
                                       slice, true, place, begin, to);
                              copyStrided(place, bytes,
                                          static_cast<const char *>(data),
                                          whole.data() + to * bytes);
                            });
}

static std::string headerOf(const MeshcProgram &program,
                            const RunState &state) {
  std::vector<FileTensor> tensors;
  for (uint32_t i = 0; i < program.tensorCount; ++i) {
    const MeshcTensor &tensor = program.tensors[i];
    if (!isSaved(tensor))
      continue;
    FileTensor entry;
    entry.name = tensor.name;
    entry.dtype = safetensorsName(typeOf(tensor));
    for (uint32_t j = 0; j < tensor.rank; ++j)
      entry.shape.push_back(tensor.dims[j].size);
    tensors.push_back(std::move(entry));
  }
  return writeHeader(tensors,
                     {{"meshc.version", meshcVersion},
                      {"meshc.model", program.name},
                      {"meshc.step", std::to_string(state.step)},
                      {"meshc.seed", std::to_string(state.seed)},
                      {"meshc.position", std::to_string(state.position)}});
}

void meshc::runtime::saveCheckpoint(const std::string &path, const Rank &rank,
                                    const RunState &state) {
  const MeshcProgram &program = *rank.program;
  std::unique_ptr<AtomicFile> file;
  if (rank.mesh.rank() == 0) {
    file = std::make_unique<AtomicFile>(path);
    std::string header = headerOf(program, state);
    file->write(header.data(), header.size());
  }
  std::vector<char> packed, whole;
  for (uint32_t i = 0; i < program.tensorCount; ++i) {
    const MeshcTensor &tensor = program.tensors[i];
    if (!isSaved(tensor) || globalElements(tensor) == 0)
      continue;
    const char *block = isOwner(program, tensor, rank.mesh.coords())
                            ? rank.device->read(tensor)
                            : nullptr;
    int64_t rows = tensor.rank ? tensor.dims[0].size : 1;
    int64_t rowBytes = globalElements(tensor) / rows * sizeOf(typeOf(tensor));
    int64_t step = std::max<int64_t>(1, sliceBytes / rowBytes);
    for (int64_t begin = 0; begin < rows; begin += step) {
      Slice slice{begin, std::min(rows, begin + step)};
      gatherSlice(rank, tensor, block, slice, packed, whole);
      if (file)
        file->write(whole.data(), whole.size());
    }
  }
  if (file)
    file->commit();
}

void meshc::runtime::checkWritable(const std::string &path) {
  AtomicFile file(path);
}

RunState meshc::runtime::readRunState(const SafetensorsFile &file) {
  auto number = [&](const char *key, uint64_t most) -> uint64_t {
    auto found = file.metadata().find(key);
    std::string text = found == file.metadata().end() ? "" : found->second;
    bool isWhole = !text.empty() && text.size() <= 20 &&
                   text.find_first_not_of("0123456789") == std::string::npos;
    errno = 0;
    uint64_t value = isWhole ? std::strtoull(text.c_str(), nullptr, 10) : 0;
    if (!isWhole || errno == ERANGE || value > most)
      throw Failure(ExitCode::Checkpoint,
                    "checkpoint '" + file.path() + "' has " +
                        (text.empty() ? "no '" : "'" + text + "' as '") + key +
                        "' in its metadata; wanted one that 'train' wrote");
    return value;
  };
  // Steps and positions still grow.
  constexpr uint64_t mostCounted = uint64_t(1) << 62;
  RunState state;
  state.step = static_cast<int64_t>(number("meshc.step", mostCounted));
  state.seed = number("meshc.seed", UINT64_MAX);
  state.position = static_cast<int64_t>(number("meshc.position", mostCounted));
  return state;
}

static void loadTensor(const SafetensorsFile &file, const MeshcTensor &tensor,
                       const Rank &rank) {
  const std::string where =
      "checkpoint '" + file.path() + "': tensor '" + tensor.name + "' ";
  const FileTensor *found = file.find(tensor.name);
  if (!found)
    throw Failure(ExitCode::Checkpoint, where + "is missing");
  FileTensor wanted;
  wanted.dtype = safetensorsName(typeOf(tensor));
  for (uint32_t i = 0; i < tensor.rank; ++i)
    wanted.shape.push_back(tensor.dims[i].size);
  if (found->dtype != wanted.dtype || found->shape != wanted.shape)
    throw Failure(ExitCode::Checkpoint, where + "is " + found->describe() +
                                            "; '" + rank.program->name +
                                            "' wants " + wanted.describe() +
                                            " " + describeDims(tensor));
  std::vector<CopyDim> dims(tensor.rank);
  int64_t source = 0, global = 1;
  for (uint32_t i = tensor.rank; i-- > 0;) {
    const MeshcDim &dim = tensor.dims[i];
    dims[i] = {dim.localSize, global, dim.localStride};
    source += blockIndex(*rank.program, dim, rank.mesh.coords().data()) *
              dim.localSize * global;
    global *= dim.size;
  }
  const int64_t bytes = sizeOf(typeOf(tensor));
  rank.device->write(tensor, [&](char *block) {
    copyStrided(dims, bytes, file.data(*found) + source * bytes, block);
  });
}

void meshc::runtime::loadTensors(const SafetensorsFile &file, const Rank &rank,
                                 bool optimizer) {
  for (uint32_t i = 0; i < rank.program->tensorCount; ++i) {
    const MeshcTensor &tensor = rank.program->tensors[i];
    if (tensor.role == MESHC_PARAMETER ||
        (optimizer && tensor.role == MESHC_OPTIMIZER))
      loadTensor(file, tensor, rank);
  }
  file.checkIntact();
}
