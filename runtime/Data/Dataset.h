//===- Dataset.h - the examples behind a program's inputs -------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Which file feeds which input of a program.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_DATA_DATASET_H
#define MESHC_RUNTIME_DATA_DATASET_H

#include "meshc/RuntimeAbi.h"
#include "runtime/Data/Array.h"
#include "runtime/Data/Convert.h"
#include "runtime/Data/Corpus.h"
#include "runtime/Data/Shuffle.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace meshc::runtime {

/// The examples of one input: example i is `rowElements` elements at `base + i
/// * rowBytes`; of a corpus, those from `base` and the first token of window i
/// on, or what it says of that window. Rows overlap if the windows of a corpus
/// do.
struct Source {
  const MeshcTensor *input = nullptr;
  std::shared_ptr<const Bytes> bytes;
  std::shared_ptr<const Corpus> corpus; ///< null for an array
  WindowRole role = WindowRole::Tokens;
  const uint8_t *base = nullptr;
  int64_t rowBytes = 0, rowElements = 0;
  int64_t count = 0; ///< examples
  int64_t elementBytes = 1;
  Convert convert = nullptr;
  /// If not 0: the model uses the elements as class indices, and this is the
  /// number of classes.
  int64_t classes = 0;
  /// A class index of this number does not count.
  std::optional<int64_t> ignored = {};
  /// If not 0: the elements are tokens, and the model knows those below it.
  int64_t vocabulary = 0;

  /// The elements of an example. Those that are not in a file are written to
  /// `scratch`, which has room for `rowElements`.
  const uint8_t *row(int64_t example, int32_t *scratch) const;
  /// Whether this element is a class index that the model does not have.
  bool isBadTarget(int32_t value) const {
    return classes != 0 && (value < 0 || value >= classes) && value != ignored;
  }
};

/// The files given to `--data`, checked against the inputs of a program.
/// Read-only after construction; the ranks of a process share one.
class Dataset {
public:
  /// Each of `specs` is "NAME=FILE", an array for the input NAME (the first dim
  /// counts examples, the product of the others is that of the input's other
  /// dims), or "FILE", a corpus for all i32 inputs that no other spec names:
  /// example i of the first input [batch, seq] is window i of the tokens, of a
  /// further input of the same dims the window one token on, and of an input
  /// [batch] the token after the window. "NAME=@segments", "NAME=@positions"
  /// and "NAME=@mask" give the input NAME [batch, seq] what the corpus says of
  /// the tokens of window i (WindowRole).
  ///
  /// Throws Failure(Data) if a file is unreadable, its type or dims do not fit,
  /// the inputs differ in their number of examples, or a token file holds a
  /// token that the model does not know; Failure(Usage) if an input has no file
  /// or a name is not an input.
  Dataset(const MeshcProgram &program, const std::vector<std::string> &specs,
          const CorpusOptions &options = {});

  /// Examples in the files.
  int64_t examples() const { return exampleCount; }
  /// Examples in a batch: the first dim of every input.
  int64_t batch() const { return batchSize; }
  const std::vector<Source> &sources() const { return inputSources; }
  /// Null if there is none.
  const Corpus *corpus() const;
  /// The first element among the selection's rows that must be a class index
  /// and is not a valid one, as a sentence with its file, its example and the
  /// allowed numbers; empty if all are valid. For rows whose loss is not a
  /// number.
  std::string findBadTarget(const Selection &selection) const;
  /// The first element in those rows for the input `name` (empty: any) that is
  /// among `kinds` (a set of Finiteness), as a sentence with its file and its
  /// example; empty if there is none.
  std::string findNotFinite(const Selection &selection, const std::string &name,
                            uint8_t kinds) const;
  /// The memory that the files' contents take now, in bytes.
  int64_t residentBytes() const;

private:
  void bindArray(const MeshcTensor &input, std::shared_ptr<const Bytes> bytes);
  void bindCorpus(const MeshcTensor &input, bool isFirst,
                  std::shared_ptr<const Corpus> corpus, WindowRole role,
                  const std::string &option);
  void applyLimits(const MeshcProgram &program);

  std::vector<Source> inputSources;
  int64_t exampleCount = 0, batchSize = 0;
};

/// The batch size of a program's inputs: the first dim of each. Throws
/// Failure(Internal) if they differ or a program has no inputs.
int64_t batchOf(const MeshcProgram &program);

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_DATA_DATASET_H
