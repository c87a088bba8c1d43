//===- BeamWriter.cpp - a text by beam search -----------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Base/StandardStreams.h"
#include "runtime/Commands/Writer.h"

#include <algorithm>
#include <limits>
#include <numeric>

using namespace meshc::runtime;

namespace {
/// The beams are the first of the texts that the program generates at once.
class BeamWriter final : public Writer {
public:
  BeamWriter(const MeshcProgram &program, const Options &options,
             const Prompts &prompts);

  int64_t known() const override { return prompt - 1; }
  bool fill(int64_t position, int32_t *tokens) const override;
  void fillParents(int32_t *parents) const override;
  bool wants(int64_t position) const override;
  void read(int64_t position, const MeshcTensor &tensor,
            const char *block) override;
  void print() const override;
  int64_t added() const override;
  std::optional<double> score() const override { return search.bestScore(); }
  std::string describeEnd() const override;

private:
  const Tokenizer &tokenizer;
  int64_t prompt, positions, room; ///< tokens; room: of new ones
  int64_t wanted;                  ///< as Options::tokens
  int64_t rows;                    ///< texts that the program generates at once
  BeamSearch search;
};
} // namespace

static int64_t sizeOfPrompt(const Prompts &prompts) {
  return static_cast<int64_t>(prompts.texts[0].size());
}

BeamWriter::BeamWriter(const MeshcProgram &program, const Options &options,
                       const Prompts &prompts)
    : tokenizer(*prompts.tokenizer), prompt(sizeOfPrompt(prompts)),
      positions(program.positions), room(positions + 1 - prompt),
      wanted(options.tokens), rows(countTexts(program)),
      search(options.beams, prompts.texts[0],
             wanted ? std::min(wanted, room) : room) {}

bool BeamWriter::fill(int64_t position, int32_t *tokens) const {
  if (search.isDone() || position >= positions)
    return false;
  const auto &texts = search.texts();
  for (int64_t row = 0; row < rows; ++row) {
    const std::vector<int32_t> &text =
        texts[std::min(static_cast<size_t>(row), texts.size() - 1)];
    tokens[row] = text[static_cast<size_t>(position)];
  }
  return true;
}

void BeamWriter::fillParents(int32_t *parents) const {
  std::iota(parents, parents + rows, 0);
  std::copy(search.parents().begin(), search.parents().end(), parents);
}

bool BeamWriter::wants(int64_t position) const {
  return !search.isDone() &&
         static_cast<int64_t>(search.texts().front().size()) == position + 1;
}

void BeamWriter::read(int64_t position, const MeshcTensor &tensor,
                      const char *block) {
  const MeshcDim &row = tensor.dims[0], &entry = tensor.dims[1];
  const auto *logits = reinterpret_cast<const float *>(block);
  bool areFinite = search.extend(
      [&](int64_t beam, int64_t token) -> double {
        return logits[beam * row.localStride + token * entry.localStride];
      },
      tokenizer.vocabularySize(),
      [&](int32_t token) {
        return token == tokenizer.endOfText() ||
               token == tokenizer.startOfText();
      });
  if (!areFinite)
    failByLogits(position + 1);
}

void BeamWriter::print() const {
  std::vector<int32_t> text = search.best();
  printRaw(tokenizer.decode(text.data(), text.size()) + "\n");
}

int64_t BeamWriter::added() const {
  return static_cast<int64_t>(search.best().size()) - prompt;
}

std::string BeamWriter::describeEnd() const {
  bool isFull = added() == room && (!wanted || room < wanted);
  return isFull ? describeFullText(positions) : "";
}

std::unique_ptr<Writer>
meshc::runtime::makeBeamWriter(const MeshcProgram &program,
                               const Options &options, const Prompts &prompts) {
  return std::make_unique<BeamWriter>(program, options, prompts);
}
