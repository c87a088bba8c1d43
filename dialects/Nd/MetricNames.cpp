//===- MetricNames.cpp - names that results of a model cannot have --------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/MetricNames.h"
#include "llvm/ADT/STLExtras.h"

namespace meshc::nd {

std::string findLogClash(llvm::StringRef name,
                         llvm::ArrayRef<llvm::StringRef> all) {
  // Those of runtime/Commands/Train.cpp and Evaluate.cpp.
  static constexpr llvm::StringLiteral keys[] = {
      "step",          "time",   "examples", "examples_per_second",
      "communication", "skipped"};
  std::string quoted = "'" + name.str() + "'";
  if (llvm::is_contained(keys, name))
    return quoted + " is a key of the log that training writes (there are "
                    "step, time, examples, examples_per_second, communication "
                    "and skipped); choose another name";
  llvm::StringRef of = name;
  if (of.consume_front("eval_") && llvm::is_contained(all, of))
    return quoted + " is the key that the log has for '" + of.str() +
           "' over the evaluation data; choose another name";
  return "";
}

} // namespace meshc::nd
