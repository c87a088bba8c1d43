//===- Weights.cpp - parameters that a command begins with ----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Commands/Weights.h"

#include "runtime/Base/Failure.h"
#include "runtime/Base/Finiteness.h"
#include "runtime/Base/StandardStreams.h"
#include "runtime/Checkpoint/ExportWeights.h"
#include "runtime/Checkpoint/LoadTensors.h"
#include "runtime/Checkpoint/OutputLock.h"
#include "runtime/Commands/DistinctFiles.h"

#include <cstring>
#include <optional>

using namespace meshc::runtime;

static std::optional<NameMap> openMap(const std::string &path) {
  std::optional<NameMap> map;
  if (!path.empty())
    map.emplace(path);
  return map;
}

LoadedWeights meshc::runtime::loadWeights(const std::string &path,
                                          const Options &options,
                                          const Rank &rank) {
  if (path.empty())
    return {};
  const std::string &map = options.weightsMap;
  const std::optional<NameMap> names = openMap(map);
  WeightFiles files(path);
  // Training could not save an infinite value, but -inf may mask a result.
  const uint8_t refused =
      options.command == Command::Train ? HasNan | HasInfinity : HasNan;
  loadParameters(files, rank, names ? &*names : nullptr, options.parameters,
                 refused);
  LoadedWeights loaded;
  if (files.single() && hasRunState(*files.single()))
    loaded.state = readRunState(*files.single());
  for (size_t i = 0; i < files.paths().size(); ++i) {
    loaded.agreed.push_back(agreedCheckpoint(files.paths()[i]));
    if (i)
      loaded.agreed.back().name += "'s file " + std::to_string(i);
  }
  if (names) {
    loaded.agreed.push_back(agreedCheckpoint(map));
    loaded.agreed.back().name = "the name map";
  }
  return loaded;
}

/// Refuses a name by which tools would take the file for one of another format.
/// Names without an ending are free.
static void checkFormat(const std::string &path) {
  static const char *const others[] = {
      ".bin", ".ckpt", ".gguf", ".h5", ".json", ".msgpack", ".npy",
      ".npz", ".onnx", ".pkl",  ".pt", ".pth",  ".zip",     ".gz"};
  const std::string index = ".index.json", own = ".safetensors";
  auto endsIn = [](const std::string &text, const std::string &ending) {
    return text.size() > ending.size() &&
           text.compare(text.size() - ending.size(), ending.size(), ending) ==
               0;
  };
  for (const std::string &ending : {index, std::string(".json")})
    if (endsIn(path, own + ending))
      throw Failure(ExitCode::Usage,
                    "'--to' is '" + path +
                        "', the name of an index; give the name without '" +
                        ending + "': '--shard-size' writes an index beside it");
  for (const char *other : others)
    if (endsIn(path, other))
      throw Failure(
          ExitCode::Usage,
          "'--to' is '" + path +
              "', and export writes files of the format safetensors only; "
              "expected a name that ends in '" +
              own + "'");
}

void meshc::runtime::exportCheckpoint(const MeshcProgram &program,
                                      const Options &options) {
  std::vector<NamedFile> named{{"--checkpoint", options.checkpoint, false},
                               {"--to", options.to, true}};
  if (!options.weightsMap.empty())
    named.push_back({"--weights-map", options.weightsMap, false});
  checkDistinct(named);
  checkFormat(options.to);
  const OutputLock lock(OutputFiles{options.to});
  std::optional<OutputLock> shards;
  if (const std::string name = shardedName(options.to);
      options.shardBytes > 0 && name != options.to)
    shards.emplace(OutputFiles{name});
  const std::optional<NameMap> names = openMap(options.weightsMap);
  const std::vector<std::string> earlier = exportWeights(
      WeightFiles(options.checkpoint), program, names ? &*names : nullptr,
      {options.to, options.shardBytes, options.overwrite}, options.parameters);
  if (earlier.empty())
    return;
  std::string text;
  for (const std::string &file : earlier)
    text += (text.empty() ? "'" : ", '") + file + "'";
  printError(std::string(program.name) +
             ": warning: an earlier export left files that are no part of "
             "this one: " +
             text + "; remove them\n");
}
