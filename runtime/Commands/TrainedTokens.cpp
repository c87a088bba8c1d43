//===- TrainedTokens.cpp - the tokens of a model --------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Commands/TrainedTokens.h"

#include "runtime/Base/Failure.h"

using namespace meshc::runtime;

/// Of bytes that are tokens.
static constexpr char bytesTokenizer[] = "bytes";

void meshc::runtime::checkTokens(const RunState &state, const Options &options,
                                 const Dataset &data) {
  const Corpus *corpus = data.corpus();
  if (!corpus || state.tokenizer.empty())
    return;
  // Token files of other tools do not name theirs.
  if (corpus->hasHeader && !corpus->tokenizer.empty() &&
      corpus->tokenizer != state.tokenizer)
    throw Failure(ExitCode::Data,
                  "data file '" + corpus->bytes->path() + "' has tokens of '" +
                      corpus->tokenizer +
                      "', and the model was trained on tokens of '" +
                      state.tokenizer +
                      "': give a file that 'meshc-tokens encode' wrote with "
                      "the tokenizer of the training data");
  if (corpus->hasHeader || options.tokenType ||
      state.tokenizer == bytesTokenizer)
    return;
  throw Failure(ExitCode::Data,
                "data file '" + corpus->bytes->path() +
                    "' is no token file, and would be read as bytes; the model "
                    "was trained on tokens of '" +
                    state.tokenizer +
                    "': give a file that 'meshc-tokens encode' wrote, or "
                    "'--token-type' for tokens without a header");
}

void meshc::runtime::takeTokens(RunState &state, const Options &options,
                                const Dataset &data, const Dataset *evalData) {
  checkTokens(state, options, data);
  if (const Corpus *corpus = data.corpus();
      corpus && !corpus->tokenizer.empty())
    state.tokenizer = corpus->tokenizer;
  if (evalData)
    checkTokens(state, options, *evalData);
}
