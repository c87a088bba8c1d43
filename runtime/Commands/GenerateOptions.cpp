//===- GenerateOptions.cpp - the options of generate ----------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Commands/OptionParts.h"

using namespace meshc::runtime;

/// The options of how tokens are drawn.
static const char *const drawing[] = {"--temperature", "--top-k", "--top-p",
                                      "--seed"};

/// Softmax cannot divide by 0, which other tools take for the most probable
/// token.
static double parseTemperature(const std::string &text) {
  const std::string wanted = "a number above 0, at most 1e6";
  const bool isZero =
      text.find('0') != std::string::npos &&
      text.substr(0, text.find_first_of("eE")).find_first_not_of("0.") ==
          std::string::npos;
  return parsePositive("--temperature", text, 1e6,
                       wanted + (isZero ? "; for the most probable token of "
                                          "each step, give '--greedy' instead"
                                        : ""));
}

static void addSampling(CLI::App &app, Options &options) {
  Sampling &sampling = options.sampling;
  CLI::Option *greedy =
      app.add_flag("--greedy", sampling.greedy,
                   "Take the most probable token, the first of equal ones");
  app.add_option_function<std::string>(
         "--temperature",
         [&sampling](const std::string &text) {
           sampling.temperature = parseTemperature(text);
         },
         "Divide the logits by this number: below 1, probable tokens become "
         "more probable (default: 1; not 0, for which there is --greedy)")
      ->type_name("NUMBER");
  addWhole(app, "--top-k", sampling.topK, 1, INT32_MAX,
           "Choose among the N most probable tokens (default: all)");
  app.add_option_function<std::string>(
         "--top-p",
         [&sampling](const std::string &text) {
           sampling.topP =
               parsePositive("--top-p", text, 1, "a number above 0, at most 1");
         },
         "Choose among the most probable tokens that together have this "
         "probability (default: 1)")
      ->type_name("NUMBER");
  addWhole(app, "--seed", sampling.seed, 0, UINT64_MAX,
           "Seed of the choices (default: 0)");
  for (const char *other : drawing)
    greedy->excludes(app.get_option(other));
}

/// A search chooses the most probable text: nothing is drawn.
static void addBeams(CLI::App &app, Beams &beams) {
  CLI::Option *count = addWhole(
      app, "--beams", beams.count, 1, INT32_MAX,
      "Search for the most probable text: keep the N best of each length "
      "(default: no search). The program must generate N texts at once");
  count->excludes(app.get_option("--greedy"));
  for (const char *other : drawing)
    count->excludes(app.get_option(other));
  app.add_option_function<std::string>(
         "--length-penalty",
         [&beams](const std::string &text) {
           beams.lengthPenalty =
               text == "0" ? 0
                           : parsePositive("--length-penalty", text, 100,
                                           "a number from 0 to 100");
         },
         "Of texts of n tokens, compare log P / ((5 + n) / 6) ** A "
         "(default: 0.6)")
      ->type_name("A")
      ->needs(count);
}

void meshc::runtime::addGenerate(CLI::App &app, const MeshcProgram &program,
                                 Options &options, MayDiffer &mayDiffer) {
  addParameters(app, program, options, mayDiffer);
  app.add_option("--prompt", options.prompts,
                 "The beginning of a text (default: none); may be given "
                 "several times, once for each text of the batch")
      ->type_name("TEXT")
      ->expected(1)
      ->take_all();
  mayDiffer.inValue(
      app.add_option("--tokenizer", options.tokenizer,
                     "How the training data were encoded: bytes, "
                     "characters:FILE, gpt2:FOLDER or sentencepiece:FILE")
          ->capture_default_str());
  addWhole(app, "--tokens", options.tokens, 1, INT32_MAX,
           "Add so many tokens (default: up to the model's last position)");
  addSampling(app, options);
  addBeams(app, options.beams);
  addRunOptions(app, options, mayDiffer);
  addOverwrite(app, options, mayDiffer);
}
