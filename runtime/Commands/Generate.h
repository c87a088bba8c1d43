//===- Generate.h - texts from a model --------------------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The command `generate`: goes on with texts, token by token. Rank 0 chooses
/// the tokens, and tells the others.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_COMMANDS_GENERATE_H
#define MESHC_RUNTIME_COMMANDS_GENERATE_H

#include "runtime/Commands/Options.h"
#include "runtime/Commands/Report.h"
#include "runtime/Device/Session.h"
#include "runtime/Tokens/Tokenizer.h"

namespace meshc::runtime {

/// The beginnings of the texts.
struct Prompts {
  std::unique_ptr<Tokenizer> tokenizer;
  std::vector<std::vector<int32_t>> texts; ///< at least one token each
};

/// How many texts the program generates at once.
int64_t countTexts(const MeshcProgram &program);

/// Encodes the prompts; the tokenizer's token of a text's start, if it has one,
/// precedes them. Throws Failure: Usage if there are more than the program
/// generates at once, or than one with beams, or one is empty or too long; Data
/// for a tokenizer that the model's vocabulary does not fit, or a text that it
/// cannot represent.
Prompts openPrompts(const MeshcProgram &program, const Options &options);

/// Generates; all ranks call it. `prompts` is that of rank 0. Returns the exit
/// code; throws the failures of loadWeights, and Failure(Numeric) for logits
/// that are not finite.
ExitCode generate(Session &session, const Options &options,
                  const Prompts &prompts);

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_COMMANDS_GENERATE_H
