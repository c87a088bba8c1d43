//===- ReadParts.h - what a map reads of each tensor ------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_CHECKPOINT_READPARTS_H
#define MESHC_RUNTIME_CHECKPOINT_READPARTS_H

#include "runtime/Checkpoint/NameMap.h"
#include "runtime/Checkpoint/ParameterSource.h"
#include "runtime/Checkpoint/SafetensorsHeader.h"

#include <map>
#include <string>
#include <vector>

namespace meshc::runtime {

/// Which elements of a file's tensors are read, whichever ranks read them.
class ReadParts {
public:
  /// Notes that the elements of `source`, whose shape the tensor has, are read
  /// from `tensor`. Both outlive this.
  void add(const FileTensor &tensor, const ParameterSource &source);

  /// Appends a problem for each tensor that is read only in part. Tensors that
  /// `map` ignores are none.
  void listUnread(const NameMap &map, std::vector<std::string> &problems) const;

private:
  struct Tensor {
    const FileTensor *tensor = nullptr;
    std::vector<const ParameterSource *> sources;
  };
  std::map<std::string, Tensor> tensors;
};

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_CHECKPOINT_READPARTS_H
