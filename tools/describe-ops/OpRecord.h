//===- OpRecord.h - what a .td file says of an op -----------------*- C++
//-*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_TOOLS_DESCRIBE_OPS_OPRECORD_H
#define MESHC_TOOLS_DESCRIBE_OPS_OPRECORD_H

#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace meshc {

/// An op as its .td file declares it.
struct OpRecord {
  std::string name; ///< without the dialect: `einsum`
  std::string summary, description;
  std::vector<std::string> operands, results;
  /// The last operand, or result, stands for any number of them.
  bool isLastOperandVariadic = false, isLastResultVariadic = false;

  std::string getOperandName(unsigned number) const;
  std::string getResultName(unsigned number) const;
};

/// The ops of one .td file, in the order of the file. `path` is a file that
/// `llvm-tblgen --dump-json` wrote. Fails if it is not one.
llvm::Expected<std::vector<OpRecord>> readOpRecords(const std::string &path);

} // namespace meshc

#endif // MESHC_TOOLS_DESCRIBE_OPS_OPRECORD_H
