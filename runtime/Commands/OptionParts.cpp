//===- OptionParts.cpp - what commands have in their options --------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Commands/OptionParts.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>

using namespace meshc::runtime;

Failure meshc::runtime::valueFailure(const std::string &option,
                                     const std::string &text,
                                     const std::string &wanted) {
  return Failure(ExitCode::Usage,
                 "'" + option + "' is '" + text + "'; expected " + wanted);
}

uint64_t meshc::runtime::parseWhole(const std::string &option,
                                    const std::string &text, uint64_t least,
                                    uint64_t most) {
  bool isWhole = !text.empty() &&
                 text.find_first_not_of("0123456789") == std::string::npos;
  errno = 0;
  uint64_t value = isWhole ? std::strtoull(text.c_str(), nullptr, 10) : 0;
  if (!isWhole || errno == ERANGE || value < least || value > most)
    throw valueFailure(option, text,
                       "a whole number from " + std::to_string(least) + " to " +
                           std::to_string(most));
  return value;
}

double meshc::runtime::parsePositive(const std::string &option,
                                     const std::string &text, double most,
                                     const std::string &wanted) {
  bool isNumber = !text.empty() && text.find_first_not_of("0123456789.eE+-") ==
                                       std::string::npos;
  char *end = nullptr;
  double value = isNumber ? std::strtod(text.c_str(), &end) : 0;
  if (!isNumber || *end || !(value > 0) || value > most)
    throw valueFailure(option, text, wanted);
  return value;
}

void meshc::runtime::addRunOptions(CLI::App &app, Options &options,
                                   MayDiffer &mayDiffer) {
  // The resulting number is compared.
  mayDiffer.freely(addWhole(
      app, "--threads", options.threads, 1, 4096,
      "Threads of each rank (default: cores over the ranks of this host)"));
  mayDiffer.freely(addWhole(
      app, "--ranks", options.ranks, 1, 1 << 20,
      "Run this many ranks as threads of this process (default without "
      "mpirun: all of the mesh)"));
  app.add_option("--comm", options.communicator,
                 "How ranks communicate: auto, threads, shm, mpi")
      ->capture_default_str();
  app.add_option("--matmul", options.matmul,
                 "On a GPU, precision of f32 matrix products: f32 (exact), "
                 "tf32 (factors of 10 bits, faster), bf16 (of 7 bits)")
      ->capture_default_str();
  app.add_flag("--no-epilogues", options.noEpilogues,
               "On a GPU, leave what follows matrix products to kernels of "
               "their own");
  app.add_flag("--nccl-sums", options.ncclSums,
               "Between GPUs, let NCCL sum bf16 and f16: less work, but each "
               "rank rounds the sum");
  app.add_flag("--nccl-memory", options.ncclMemory,
               "Between GPUs, hold tensors in memory of NCCL that all its "
               "groups know: less copying, and NVLink switches may sum");
  mayDiffer.freely(
      app.add_option("--log", options.log,
                     "Write metrics to this file, a JSON object per line"));
  mayDiffer.freely(
      app.add_flag("--quiet", options.quiet, "Print results and errors only"));
  mayDiffer.freely(
      app.add_flag("--memory", options.memory,
                   "Print at the end the most memory that was held"));
}

void meshc::runtime::addOverwrite(CLI::App &app, Options &options,
                                  MayDiffer &mayDiffer) {
  mayDiffer.freely(
      app.add_flag("--overwrite", options.overwrite,
                   "Replace a file of --log that holds something else"));
}

/// Returns the option, which says what a file calls the parameters.
CLI::Option *meshc::runtime::addWeightsMap(CLI::App &app, Options &options,
                                           MayDiffer &mayDiffer) {
  return mayDiffer.inValue(app.add_option(
      "--weights-map", options.weightsMap,
      "Their names and shapes in that file: lines 'PARAMETERS = TENSOR "
      "[AXES]', such as share/meshc/weights/gpt2.map"));
}

CLI::Option *
meshc::runtime::addParameterValues(CLI::App &app, Options &options,
                                   const std::string &description) {
  return app
      .add_option_function<std::string>(
          "--parameters",
          [&options](const std::string &text) {
            if (text != "average" && text != "last")
              throw valueFailure("--parameters", text, "'average' or 'last'");
            options.parameters = text == "last" ? ParameterValues::Last
                                                : ParameterValues::Averages;
          },
          description)
      ->type_name("WHICH");
}

static bool hasParameters(const MeshcProgram &program) {
  return std::any_of(
      program.tensors, program.tensors + program.tensorCount,
      [](const MeshcTensor &tensor) { return tensor.role == MESHC_PARAMETER; });
}

void meshc::runtime::addParameters(CLI::App &app, const MeshcProgram &program,
                                   Options &options, MayDiffer &mayDiffer) {
  CLI::Option *file = mayDiffer.inValue(
      app.add_option("--checkpoint,--weights", options.checkpoint,
                     "The parameters, as train or another tool wrote them "
                     "(safetensors, an index of such files, or llama2.c's)")
          ->required(hasParameters(program)));
  addWeightsMap(app, options, mayDiffer)
      ->needs(file)
      ->excludes(addParameterValues(app, options, storedParametersHelp));
}
