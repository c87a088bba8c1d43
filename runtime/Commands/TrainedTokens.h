//===- TrainedTokens.h - the tokens of a model ------------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A model that was trained on tokens of one tokenizer computes nothing of use
/// from those of another one. Checkpoints therefore name the tokenizer of the
/// token file that the run read.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_COMMANDS_TRAINEDTOKENS_H
#define MESHC_RUNTIME_COMMANDS_TRAINEDTOKENS_H

#include "runtime/Checkpoint/Checkpoint.h"
#include "runtime/Commands/Options.h"
#include "runtime/Data/Dataset.h"

namespace meshc::runtime {

/// Throws Failure(Data) if `data` would be read as bytes, and the run of
/// `state` read the tokens of a token file: a damaged or wrong file.
/// `--token-type` permits it. Also if `data` are tokens of another tokenizer.
void checkTokens(const RunState &state, const Options &options,
                 const Dataset &data);

/// The same for the data of a training run, which begins in `state`, and for
/// those of its evaluations, if there are any. Enters the tokenizer of `data`
/// into `state`.
void takeTokens(RunState &state, const Options &options, const Dataset &data,
                const Dataset *evalData);

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_COMMANDS_TRAINEDTOKENS_H
