//===- WeightFiles.cpp - the files that hold a model's weights ------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Checkpoint/WeightFiles.h"

#include "runtime/Base/Abridged.h"
#include "runtime/Base/Failure.h"
#include "runtime/Base/JsonText.h"
#include "runtime/Checkpoint/Checksums.h"
#include "runtime/Checkpoint/Llama2c.h"

#include <climits>
#include <nlohmann/json.hpp>

using namespace meshc::runtime;
using Json = nlohmann::json;

static bool endsWith(const std::string &text, const std::string &end) {
  return text.size() >= end.size() &&
         text.compare(text.size() - end.size(), end.size(), end) == 0;
}

WeightFiles::WeightFiles(const std::string &path) : name(path) {
  opened.push_back(path);
  if (endsWith(path, ".json")) {
    openIndex();
    return;
  }
  if (openLlama2c())
    return;
  owned.push_back(std::make_unique<SafetensorsFile>(path));
  only = owned.front().get();
  add(*only);
}

WeightFiles::WeightFiles(const SafetensorsFile &file)
    : name(file.path()), only(&file) {
  opened.push_back(name);
  add(file);
}

void WeightFiles::add(const SafetensorsFile &file) {
  files.push_back(&file);
  for (const auto &[tensor, entry] : file.tensors())
    byName[tensor] = {&entry, file.data(entry), &file};
}

/// Throws if `file` does not begin as a safetensors file does: with the length
/// of its header, which begins with a brace.
static void checkFormat(const MappedFile &file) {
  if (file.size() > 8 && file.data()[8] == '{')
    return;
  std::string problem =
      file.size() == 0 ? "is empty" : describeLlama2cDamage(file);
  if (problem.empty())
    problem = "has none of the formats that are read: safetensors, an index of "
              "such files (.json), and llama2.c's (.bin, version 0)";
  file.checkIntact();
  throw Failure(ExitCode::Checkpoint,
                "checkpoint '" + file.path() + "' " + problem);
}

bool WeightFiles::openLlama2c() {
  auto file =
      std::make_unique<MappedFile>(name, ExitCode::Checkpoint, "checkpoint");
  plainTensors = listLlama2c(*file);
  if (plainTensors.empty()) {
    checkFormat(*file);
    return false;
  }
  plain = std::move(file);
  for (const FileTensor &tensor : plainTensors)
    byName[tensor.name] = {&tensor,
                           reinterpret_cast<const char *>(plain->data()) +
                               tensor.beginByte,
                           nullptr};
  return true;
}

/// The files by tensor that the index at `path` lists.
static std::map<std::string, std::string> readIndex(const std::string &path) {
  MappedFile file(path, ExitCode::Checkpoint, "index");
  std::string text(reinterpret_cast<const char *>(file.data()), file.size());
  file.checkIntact();
  auto fail = [&](const std::string &what) {
    return Failure(ExitCode::Checkpoint, "index '" + path + "' " + what);
  };
  std::string damage;
  const Json index = parseJson(text.data(), text.size(), damage);
  if (!damage.empty())
    throw fail(damage);
  if (!index.is_object() || !index.contains("weight_map") ||
      !index["weight_map"].is_object())
    throw fail("has no object 'weight_map', which maps tensors to files");
  std::map<std::string, std::string> shards;
  for (const auto &[tensor, shard] : index["weight_map"].items()) {
    if (std::string problem = describeBadName(tensor); !problem.empty())
      throw fail("is damaged: " + problem);
    if (!shard.is_string())
      throw fail("maps tensor '" + tensor + "' to " + shard.type_name() +
                 "; expected the name of a file in the same folder");
    const std::string file = shard.get<std::string>();
    if (file.empty() || file.size() > NAME_MAX ||
        file.find_first_of(std::string("/\0", 2)) != std::string::npos)
      throw fail("maps tensor '" + tensor + "' to '" + abridged(file) +
                 "'; expected the name of a file in the same folder");
    shards[tensor] = file;
  }
  return shards;
}

void WeightFiles::openIndex() {
  const std::map<std::string, std::string> shards = readIndex(name);
  const std::string folder = name.substr(0, name.rfind('/') + 1);
  std::map<std::string, const SafetensorsFile *> byShard;
  for (const auto &[tensor, shard] : shards) {
    const SafetensorsFile *&file = byShard[shard];
    if (!file) {
      opened.push_back(folder + shard);
      owned.push_back(std::make_unique<SafetensorsFile>(opened.back()));
      file = owned.back().get();
    }
    if (!file->find(tensor))
      throw Failure(ExitCode::Checkpoint, "index '" + name + "' maps tensor '" +
                                              tensor + "' to '" + shard +
                                              "', which does not contain it");
  }
  for (const auto &[shard, file] : byShard) {
    for (const auto &[tensor, entry] : file->tensors()) {
      auto listed = shards.find(tensor);
      if (listed == shards.end() || listed->second != shard)
        throw Failure(ExitCode::Checkpoint,
                      "file '" + file->path() + "' contains tensor '" + tensor +
                          "', which index '" + name + "' does not map to it");
    }
    add(*file);
  }
}

const WeightTensor *WeightFiles::find(const std::string &tensor) const {
  auto found = byName.find(tensor);
  return found == byName.end() ? nullptr : &found->second;
}

void WeightFiles::verifyMetadata() const {
  for (const SafetensorsFile *file : files)
    meshc::runtime::verifyMetadata(*file);
}

void WeightFiles::verify(const WeightTensor &tensor) const {
  if (tensor.file)
    verifyTensor(*tensor.file, *tensor.tensor);
}

void WeightFiles::checkIntact() const {
  for (const SafetensorsFile *file : files)
    file->checkIntact();
  if (plain)
    plain->checkIntact();
}
