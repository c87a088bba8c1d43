//===- Checkpoint.cpp - a run as a file -----------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Checkpoint/Checkpoint.h"

#include "runtime/Base/Crc32c.h"
#include "runtime/Base/Failure.h"
#include "runtime/Base/TensorBlock.h"
#include "runtime/Base/Version.h"
#include "runtime/Checkpoint/Checksums.h"

#include <algorithm>
#include <cerrno>
#include <memory>

using namespace meshc::runtime;

static std::vector<FileTensor> listTensors(const MeshcProgram &program) {
  std::vector<FileTensor> tensors;
  for (uint32_t i = 0; i < program.tensorCount; ++i) {
    const MeshcTensor &tensor = program.tensors[i];
    if (!isState(tensor))
      continue;
    FileTensor entry;
    entry.name = tensor.name;
    entry.dtype = safetensorsName(typeOf(tensor));
    for (uint32_t j = 0; j < tensor.rank; ++j)
      entry.shape.push_back(tensor.dims[j].size);
    entry.endByte = globalElements(tensor) * sizeOf(typeOf(tensor));
    tensors.push_back(std::move(entry));
  }
  return tensors;
}

CheckpointWriter::CheckpointWriter(const std::string &path,
                                   const MeshcProgram &program,
                                   const RunState &state)
    : file(path), tensors(listTensors(program)),
      metadata{{"meshc.version", meshcVersion},
               {"meshc.model", program.name},
               {"meshc.step", std::to_string(state.step)},
               {"meshc.seed", std::to_string(state.seed)},
               {"meshc.position", std::to_string(state.position)},
               {"meshc.skipped", std::to_string(state.skipped)}} {
  for (const FileTensor &tensor : tensors)
    setChecksum(metadata, tensor.name, 0);
  sealMetadata(metadata);
  std::string text = header(); // with its final length
  file.write(text.data(), text.size());
}

std::string CheckpointWriter::header() const {
  return writeHeader(tensors, metadata);
}

char *CheckpointWriter::room(size_t bytes) {
  slice.resize(bytes);
  return slice.data();
}

void CheckpointWriter::filled() { append(slice.data(), slice.size()); }

void CheckpointWriter::append(const char *data, size_t bytes) {
  // In pieces that are still in the cache when they are written.
  constexpr size_t mostBytes = size_t(1) << 20;
  while (bytes > 0) {
    const FileTensor &tensor = tensors.at(current);
    size_t piece = std::min(
        {bytes, mostBytes, static_cast<size_t>(tensor.bytes() - currentBytes)});
    checksum = crc32c(data, piece, checksum);
    file.write(data, piece);
    data += piece;
    bytes -= piece;
    currentBytes += static_cast<int64_t>(piece);
    if (currentBytes < tensor.bytes())
      continue;
    setChecksum(metadata, tensor.name, checksum);
    checksum = 0;
    currentBytes = 0;
    ++current;
  }
}

void CheckpointWriter::commit(int generations) {
  sealMetadata(metadata);
  std::string text = header();
  file.rewriteStart(text.data(), text.size());
  file.commit(generations);
}

void meshc::runtime::saveCheckpoint(const std::string &path, const Rank &rank,
                                    const RunState &state, int generations) {
  std::unique_ptr<CheckpointWriter> writer;
  if (rank.mesh.rank() == 0)
    writer = std::make_unique<CheckpointWriter>(path, *rank.program, state);
  gatherState(rank, writer.get());
  if (writer)
    writer->commit(generations);
}

bool meshc::runtime::hasRunState(const SafetensorsFile &file) {
  return file.metadata().count("meshc.step") != 0;
}

RunState meshc::runtime::readRunState(const SafetensorsFile &file) {
  verifyMetadata(file);
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
                        "' in its metadata; expected one that 'train' wrote "
                        "('--weights' reads parameters of other tools)");
    return value;
  };
  // Leave room for steps and positions to grow.
  constexpr uint64_t mostCounted = uint64_t(1) << 62;
  RunState state;
  state.step = static_cast<int64_t>(number("meshc.step", mostCounted));
  state.seed = number("meshc.seed", UINT64_MAX);
  state.position = static_cast<int64_t>(number("meshc.position", mostCounted));
  if (file.metadata().count("meshc.skipped")) // not in older files
    state.skipped = static_cast<int64_t>(number("meshc.skipped", mostCounted));
  return state;
}
