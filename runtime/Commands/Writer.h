//===- Writer.h - the texts that are being generated ------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_COMMANDS_WRITER_H
#define MESHC_RUNTIME_COMMANDS_WRITER_H

#include "runtime/Commands/Generate.h"

namespace meshc::runtime {

/// The texts on rank 0; other ranks run the steps only.
class Writer {
public:
  virtual ~Writer() = default;

  /// From the first on, the positions whose tokens all prompts have, and after
  /// which no text takes a token.
  virtual int64_t known() const = 0;
  /// The tokens at the position of all texts that the program generates at
  /// once; false where the run ends.
  virtual bool fill(int64_t position, int32_t *tokens) const = 0;
  /// For each of these texts, which one's caches it goes on from.
  virtual void fillParents(int32_t *parents) const = 0;
  /// Whether a text takes its next token from the logits at the position.
  virtual bool wants(int64_t position) const = 0;
  /// Takes the logits that follow the tokens at the position: a block of
  /// `tensor`.
  virtual void read(int64_t position, const MeshcTensor &tensor,
                    const char *block) = 0;
  /// Prints what was not printed yet.
  virtual void print() const = 0;
  /// Tokens that were not in prompts.
  virtual int64_t added() const = 0;
  /// How good the text is that a search found.
  virtual std::optional<double> score() const { return std::nullopt; }
  /// What ended a text before the tokens were as many as wanted; or nothing.
  virtual std::string describeEnd() const = 0;
};

/// For `--beams`; `prompts` has one text and outlives the result.
std::unique_ptr<Writer> makeBeamWriter(const MeshcProgram &program,
                                       const Options &options,
                                       const Prompts &prompts);

/// "stopped at the last of the model's 16 positions", as a line.
std::string describeFullText(int64_t positions);

/// Throws Failure (Numeric): the logits after so many tokens are not finite.
[[noreturn]] void failByLogits(int64_t tokens);

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_COMMANDS_WRITER_H
