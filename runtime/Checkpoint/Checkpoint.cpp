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
#include <cmath>
#include <cstdio>
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

static std::string describe(double value) {
  char text[64];
  std::snprintf(text, sizeof(text), "%.17g", value);
  return text;
}

/// Before the name of a setting that the run changed.
static const std::string settingPrefix = "meshc.setting.";

static void addBest(Metadata &metadata, const BestEvaluation &best) {
  if (best.seen < 0)
    return;
  metadata["meshc.best.metric"] = best.metric;
  metadata["meshc.best.seen"] = std::to_string(best.seen);
  metadata["meshc.best.since"] = std::to_string(best.since);
  if (best.step < 0)
    return;
  metadata["meshc.best.step"] = std::to_string(best.step);
  metadata["meshc.best.value"] = describe(best.value);
  metadata["meshc.best.reference"] = describe(best.reference);
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
  if (!state.tokenizer.empty())
    metadata["meshc.tokenizer"] = state.tokenizer;
  addBest(metadata, state.best);
  for (const auto &[name, value] : state.settings)
    metadata[settingPrefix + name] = describe(value);
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

namespace {

/// Reads numbers from the metadata of a checkpoint.
class MetadataReader {
public:
  explicit MetadataReader(const SafetensorsFile &file) : file(file) {}

  bool has(const char *key) const { return file.metadata().count(key) != 0; }
  std::string text(const char *key) const {
    auto found = file.metadata().find(key);
    return found == file.metadata().end() ? "" : found->second;
  }
  uint64_t whole(const char *key, uint64_t most) const {
    const std::string digits = text(key);
    bool isWhole = !digits.empty() && digits.size() <= 20 &&
                   digits.find_first_not_of("0123456789") == std::string::npos;
    errno = 0;
    uint64_t value = isWhole ? std::strtoull(digits.c_str(), nullptr, 10) : 0;
    if (!isWhole || errno == ERANGE || value > most)
      refuse(key);
    return value;
  }
  /// Leaves room for steps and positions to grow.
  int64_t count(const char *key) const {
    return static_cast<int64_t>(whole(key, uint64_t(1) << 62));
  }
  double real(const char *key) const {
    const std::string written = text(key);
    char *end = nullptr;
    double value = std::strtod(written.c_str(), &end);
    if (written.empty() || *end || !std::isfinite(value))
      refuse(key);
    return value;
  }

private:
  [[noreturn]] void refuse(const char *key) const {
    throw Failure(
        ExitCode::Checkpoint,
        "checkpoint '" + file.path() + "' has " +
            (text(key).empty() ? "no '" : "'" + text(key) + "' as '") + key +
            "' in its metadata; expected one that 'train' wrote "
            "('--weights' reads parameters of other tools)");
  }

  const SafetensorsFile &file;
};

} // namespace

static BestEvaluation readBest(const MetadataReader &metadata) {
  BestEvaluation best;
  best.metric = metadata.text("meshc.best.metric");
  if (best.metric.empty())
    return best;
  best.seen = metadata.count("meshc.best.seen");
  best.since = metadata.count("meshc.best.since");
  if (!metadata.has("meshc.best.step"))
    return best;
  best.step = metadata.count("meshc.best.step");
  best.value = metadata.real("meshc.best.value");
  best.reference = metadata.real("meshc.best.reference");
  return best;
}

RunState meshc::runtime::readRunState(const SafetensorsFile &file) {
  verifyMetadata(file);
  const MetadataReader metadata(file);
  RunState state;
  state.step = metadata.count("meshc.step");
  state.seed = metadata.whole("meshc.seed", UINT64_MAX);
  state.position = metadata.count("meshc.position");
  if (metadata.has("meshc.skipped")) // not in older files
    state.skipped = metadata.count("meshc.skipped");
  state.best = readBest(metadata);
  state.tokenizer = metadata.text("meshc.tokenizer");
  for (const auto &[key, text] : file.metadata())
    if (key.rfind(settingPrefix, 0) == 0)
      state.settings[key.substr(settingPrefix.size())] =
          metadata.real(key.c_str());
  return state;
}
