//===- Options.cpp - the command line of a compiled program ---------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Core/Options.h"

#include "runtime/Core/Failure.h"
#include "runtime/Core/Version.h"

#include <CLI/CLI.hpp>
#include <iostream>
#include <sstream>

using namespace meshc::runtime;

static const char *const exitCodes =
    "Exit codes: 0 done, 1 internal error or too little memory, 2 command "
    "line,\n"
    "3 data file, 4 checkpoint, 5 number of ranks, 6 a rank or its "
    "communication\n"
    "failed, 7 the loss is not a number, 8 no usable GPU, 130 and 143 ended by "
    "SIGINT\n"
    "and SIGTERM (train: after the running step and a last checkpoint).";

static void addRunOptions(CLI::App &app, Options &options) {
  app.add_option("--threads", options.threads,
                 "Threads of each rank (default: cores over the ranks of this "
                 "host)")
      ->check(CLI::Range(1, 4096));
  app.add_option("--ranks", options.ranks,
                 "Run this many ranks as threads of this process (default "
                 "without mpirun: all of the mesh)")
      ->check(CLI::Range(1, 1 << 20));
  app.add_option("--comm", options.communicator,
                 "How ranks communicate: auto, threads, shm, mpi")
      ->capture_default_str();
  app.add_option("--matmul", options.matmul,
                 "On a GPU, precision of f32 matrix products: f32 (exact), "
                 "tf32 (factors of 10 bits, faster)")
      ->capture_default_str();
  app.add_option("--log", options.log,
                 "Write metrics to this file, a JSON object per line");
  app.add_flag("--quiet", options.quiet, "Print results and errors only");
  app.add_flag("--memory", options.memory,
               "Print at the end the most memory that was held");
}

static const char *const dataHelp =
    "NAME=FILE: examples for the input NAME from an IDX or NPY file. FILE "
    "alone: its bytes as a corpus of tokens for all i32 inputs, example i a "
    "window from byte i on. Files may be gzipped. Repeatable";

static void addTrain(CLI::App &app, Options &options) {
  app.add_option("--data", options.data, dataHelp)->required();
  auto *steps = app.add_option("--steps", options.steps,
                               "Train until this many steps are done, in all")
                    ->check(CLI::NonNegativeNumber);
  app.add_option("--epochs", options.epochs,
                 "Train until every example was seen this many times "
                 "(default: 1)")
      ->check(CLI::PositiveNumber)
      ->excludes(steps);
  app.add_option("--seed", options.seed,
                 "Seed of the initial values, of the order of examples and of "
                 "all random numbers (default: 0)");
  auto *checkpoint = app.add_option(
      "--checkpoint", options.checkpoint,
      "Write a checkpoint (safetensors) to this file at the end");
  app.add_option("--save-every", options.saveEvery,
                 "Write it also every so many steps")
      ->check(CLI::PositiveNumber)
      ->needs(checkpoint);
  app.add_option_function<std::vector<std::string>>(
         "--resume",
         [&options](const std::vector<std::string> &values) {
           options.resume = true;
           if (!values.empty())
             options.resumeFrom = values.front();
         },
         "Go on from this checkpoint (default: that of --checkpoint)")
      ->type_name("[FILE]")
      ->expected(0, 1);
  auto *evalData = app.add_option(
      "--eval-data", options.evalData,
      "As --data: evaluate on these examples, at the end and as --eval-every "
      "says");
  app.add_option("--eval-every", options.evalEvery,
                 "Evaluate also every so many steps")
      ->check(CLI::PositiveNumber)
      ->needs(evalData);
  app.add_option("--log-every", options.logEvery,
                 "Log every so many steps (default: each in the --log file)")
      ->check(CLI::PositiveNumber);
  addRunOptions(app, options);
}

static void addEval(CLI::App &app, Options &options) {
  app.add_option("--data", options.data, dataHelp)->required();
  app.add_option("--checkpoint", options.checkpoint,
                 "The parameters, as train wrote them")
      ->required();
  addRunOptions(app, options);
}

/// A resume without a file needs to know the checkpoint.
static void checkTogether(const Options &options) {
  if (options.resume && options.resumeFrom.empty() &&
      options.checkpoint.empty())
    throw CLI::ValidationError(
        "--resume", "names no file and there is no --checkpoint either");
}

std::optional<int> meshc::runtime::parseOptions(const MeshcProgram &program,
                                                int argc,
                                                const char *const *argv,
                                                bool speaks, Options &options) {
  CLI::App app(std::string("The model '") + program.name +
               "', compiled by meshc for its mesh of ranks.");
  app.footer(exitCodes);
  app.set_version_flag("--version", std::string(program.name) +
                                        ", meshc runtime " + meshcVersion);
  app.require_subcommand(1);
  app.get_formatter()->column_width(26);
  CLI::App *train = app.add_subcommand("train", "Train the model");
  CLI::App *eval = app.add_subcommand(
      "eval", "Print the metrics over all examples of data files");
  CLI::App *info =
      app.add_subcommand("info", "Print mesh, tensors, memory and collectives");
  addTrain(*train, options);
  addEval(*eval, options);
  info->add_flag("--json", options.json, "Print the compiler's report");
  for (CLI::App *command : {train, eval, info})
    command->footer(exitCodes);

  std::ostringstream out, err;
  int code = 0;
  try {
    app.parse(argc, argv);
    checkTogether(options);
    options.command = train->parsed()  ? Command::Train
                      : eval->parsed() ? Command::Eval
                                       : Command::Info;
    return std::nullopt;
  } catch (const CLI::ParseError &error) {
    if (app.exit(error, out, err) != 0)
      code = static_cast<int>(ExitCode::Usage);
  }
  if (speaks)
    std::cout << out.str() << std::flush;
  if (speaks && code)
    std::cerr << program.name << ": " << err.str() << std::flush;
  return code;
}
