//===- OptionExamples.cpp - command lines of a program
//---------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Commands/OptionExamples.h"

#include "runtime/Commands/RunSettings.h"

#include <algorithm>
#include <map>
#include <vector>

using namespace meshc::runtime;

const char *const meshc::runtime::exitCodesText =
    "Exit codes: 0 done, 1 internal error or too little memory, 2 command "
    "line, 3 data file, 4 checkpoint, 5 number of ranks, 6 a rank or its "
    "communication failed, 7 the loss is not a number, 8 no usable GPU, "
    "processor or library, 9 standard output or the trace could not be "
    "written, 10 ranks were started with different programs, options or files, "
    "130 and 143 ended by SIGINT and SIGTERM (train: after the running step "
    "and "
    "a last checkpoint).";

/// The tensors of a role, in the order of the program.
static std::vector<const MeshcTensor *> findTensors(const MeshcProgram &program,
                                                    MeshcRole role) {
  std::vector<const MeshcTensor *> found;
  for (uint32_t i = 0; i < program.tensorCount; ++i)
    if (program.tensors[i].role == role)
      found.push_back(&program.tensors[i]);
  return found;
}

/// " --data images=images.npy --data labels=labels.npy", or one corpus where
/// all inputs hold tokens.
static std::string describeData(const MeshcProgram &program) {
  const std::vector<const MeshcTensor *> inputs =
      findTensors(program, MESHC_INPUT);
  const bool areTokens =
      std::all_of(inputs.begin(), inputs.end(), [](const MeshcTensor *input) {
        return input->type == MESHC_I32 && input->rank == 2;
      });
  if (areTokens)
    return " --data corpus.txt";
  std::string text;
  for (const MeshcTensor *input : inputs)
    text += std::string(" --data ") + input->name + '=' + input->name + ".npy";
  return text;
}

/// A command on indented lines of at most 80 columns, as a shell reads it. It
/// is broken before options.
static std::string breakCommand(const std::string &command) {
  constexpr size_t columns = 80;
  std::string text = "  ";
  size_t column = text.size();
  for (size_t at = 0, end; at < command.size(); at = end) {
    end = std::min(command.find(" --", at + 1), command.size());
    const size_t more = end < command.size() ? 2 : 0; // for the backslash
    if (at > 0 && column + (end - at) + more > columns) {
      text += " \\\n   ";
      column = 3;
    }
    text += command.substr(at, end - at);
    column += end - at;
  }
  return text + '\n';
}

std::string meshc::runtime::describeExamples(const MeshcProgram &program,
                                             std::optional<Command> command) {
  const std::string name = program.name, start = "./" + name + ' ',
                    data = describeData(program), file = name + ".safetensors",
                    checkpoint = findTensors(program, MESHC_PARAMETER).empty()
                                     ? ""
                                     : " --checkpoint " + file;
  int64_t ranks = 1;
  for (uint32_t i = 0; i < program.axisCount; ++i)
    ranks *= program.axes[i].size;
  std::vector<std::pair<Command, std::string>> lines;
  if (program.trainStep) {
    const std::string train = start + "train" + data + checkpoint;
    lines.emplace_back(Command::Train, train + " --epochs 5");
    if (ranks > 1)
      lines.emplace_back(Command::Train, "mpirun -n " + std::to_string(ranks) +
                                             ' ' + train + " --epochs 5");
    lines.emplace_back(Command::Train, train + " --epochs 10 --resume");
  }
  lines.emplace_back(Command::Eval, start + "eval" + data + checkpoint);
  if (program.generateStep)
    lines.emplace_back(Command::Generate,
                       start + "generate --prompt \"Once\"" + checkpoint);
  lines.emplace_back(Command::Export, start + "export" + checkpoint +
                                          " --to weights.safetensors");
  lines.emplace_back(Command::Info, start + "info" + checkpoint);
  std::string text = "Examples:\n";
  for (const auto &[of, line] : lines)
    if (!command || of == *command)
      text += breakCommand(line);
  if (!command)
    text += "  source <(./" + name + " --completion bash)\n";
  return text + '\n';
}

/// "images=", and what a corpus has beside its tokens.
static std::vector<std::string> listInputs(const MeshcProgram &program,
                                           const std::string &begun) {
  std::vector<std::string> found;
  for (const MeshcTensor *input : findTensors(program, MESHC_INPUT)) {
    const std::string name = std::string(input->name) + '=';
    if (begun.rfind(name + '@', 0) != 0)
      found.push_back(name);
    else
      for (const char *part : {"@segments", "@positions", "@mask"})
        found.push_back(name + part);
  }
  return found;
}

static std::vector<std::string> listMetrics(const MeshcProgram &program) {
  std::vector<std::string> found;
  for (const MeshcTensor *metric : findTensors(program, MESHC_METRIC)) {
    found.emplace_back(metric->name);
    found.push_back(std::string(metric->name) + ":max");
  }
  return found;
}

/// "lr="
static std::vector<std::string> listSettingNames(const MeshcProgram &program) {
  std::vector<std::string> found;
  for (const MeshcSetting *setting : findAdjustable(program))
    found.push_back(std::string(setting->name) + '=');
  return found;
}

OptionValues meshc::runtime::valuesOf(const MeshcProgram &program) {
  static const std::map<std::string, std::vector<std::string>> values = {
      {"--token-type", {"u8", "u16", "i32"}},
      {"--resume", {"auto"}},
      {"--save", {"background", "sync"}},
      {"--on-nonfinite", {"stop", "skip"}},
      {"--parameters", {"average", "last"}},
      {"--comm", {"auto", "threads", "shm", "mpi"}},
      {"--matmul", {"f32", "tf32", "bf16"}},
      {"--tokenizer", {"bytes", "characters:", "gpt2:", "sentencepiece:"}}};
  return [&program](const std::string &option, const std::vector<std::string> &,
                    const std::string &begun) -> std::vector<std::string> {
    if (option == "--data" || option == "--eval-data")
      return listInputs(program, begun);
    if (option == "--keep-best")
      return listMetrics(program);
    if (option == "--set-setting")
      return listSettingNames(program);
    const bool isFile =
        option == "--tokenizer" && begun.find(':') != std::string::npos;
    auto known = values.find(option);
    return known == values.end() || isFile ? std::vector<std::string>()
                                           : known->second;
  };
}
