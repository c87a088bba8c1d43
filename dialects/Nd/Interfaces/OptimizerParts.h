//===- OptimizerParts.h - settings and state of an optimizer ----*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_ND_INTERFACES_OPTIMIZERPARTS_H
#define MESHC_DIALECTS_ND_INTERFACES_OPTIMIZERPARTS_H

#include "dialects/Nd/NdTypes.h"
#include <limits>
#include <string>

namespace meshc::nd {

/// A number that a model may choose, such as the learning rate.
struct OptimizerSetting {
  /// Only numbers may be computed in each step. The others decide which ops an
  /// update consists of, or which state it has.
  enum class Kind {
    Number,
    Switch, ///< 0 or 1
    Count,  ///< a whole number
  };

  llvm::StringRef name;
  std::optional<double> defaultValue; ///< none: the model must give it
  double limit = std::numeric_limits<double>::infinity(); ///< exclusive
  Kind kind = Kind::Number;

  /// What is wrong with the value, as the end of a message that begins with the
  /// setting's name: "must be in [0, 1), got 2". Empty if nothing is.
  std::string describeMistake(double value) const;
};

/// One tensor of an optimizer's state for a parameter. It starts as zeros.
struct OptimizerSlot {
  llvm::StringRef name; ///< as in checkpoints, after the parameter's name
  TensorType type;      ///< f32; its dims are some of the parameter's
  /// The value of a 16-bit parameter in f32, which starts as the parameter
  /// does: updates smaller than the parameter's last bit add up in it.
  bool isMaster = false;
};

} // namespace meshc::nd

#endif // MESHC_DIALECTS_ND_INTERFACES_OPTIMIZERPARTS_H
