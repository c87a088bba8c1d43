//===- Misfits.cpp - files that do not fit a program ----------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Checkpoint/Misfits.h"

#include "runtime/Base/Failure.h"
#include "runtime/Checkpoint/Checkpoint.h"

using namespace meshc::runtime;

void meshc::runtime::refuseMisfits(const WeightFiles &files,
                                   const MeshcProgram &program,
                                   const std::vector<std::string> &problems,
                                   const std::string &hint) {
  constexpr size_t most = 8;
  if (problems.empty())
    return;
  std::string text = "checkpoint '" + files.path() + "' does not fit model '" +
                     program.name + "': ";
  for (size_t i = 0; i < problems.size() && i < most; ++i)
    text += (i ? "; " : "") + problems[i];
  if (problems.size() > most)
    text += "; and " + std::to_string(problems.size() - most) + " more";
  throw Failure(ExitCode::Checkpoint, text + hint);
}

static bool isOfTrain(const WeightFiles &files) {
  return files.single() && hasRunState(*files.single());
}

std::string meshc::runtime::hintAtMap(const WeightFiles &files,
                                      const std::set<std::string> &used) {
  if (isOfTrain(files))
    return "";
  std::string example;
  for (const auto &[name, entry] : files.tensors())
    if (example.empty() && !used.count(name))
      example = ", such as '" + name + "'";
  return "; if the file is another tool's and has other names" + example +
         ", or shapes, describe them with '--weights-map' (maps for GPT-2 and "
         "Llama are in meshc's folder share/meshc/weights)";
}

/// Whether `name` names a state of the training, in a checkpoint: a
/// parameter's, or one of the training as a whole, which begins with '@'.
static bool isSlot(const std::string &name,
                   const std::set<std::string> &parameters) {
  if (!name.empty() && name.front() == '@')
    return true;
  for (size_t dot = name.find('.'); dot != std::string::npos;
       dot = name.find('.', dot + 1))
    if (parameters.count(name.substr(0, dot)))
      return true;
  return false;
}

void meshc::runtime::listExtra(const WeightFiles &files,
                               const MeshcProgram &program,
                               const std::set<std::string> &used,
                               const NameMap *map,
                               std::vector<std::string> &problems) {
  std::set<std::string> parameters;
  for (uint32_t i = 0; i < program.tensorCount; ++i)
    if (program.tensors[i].role == MESHC_PARAMETER)
      parameters.insert(program.tensors[i].name);
  const bool ofTrain = isOfTrain(files);
  for (const auto &[name, entry] : files.tensors())
    if (!used.count(name) &&
        !(ofTrain &&
          (isSlot(name, parameters) || (!map && parameters.count(name)))) &&
        !(map && map->isIgnored(name)))
      problems.push_back(
          "tensor '" + name + "', " + entry.tensor->describe() +
          (map ? ", is neither mapped nor ignored by '" + map->path() + "'"
               : ", is not a parameter"));
}
