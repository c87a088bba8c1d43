//===- PtxCode.h - PTX that the fake GPU has loaded -------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_TEST_RUNTIME_DEVICE_LIBRARIES_PTXCODE_H
#define MESHC_TEST_RUNTIME_DEVICE_LIBRARIES_PTXCODE_H

#include "test/gpu/ptx/Machine.h"

#include <functional>

namespace meshc::fake {

/// A module of PTX, with its variables, and the GPU that interprets it
/// (test/gpu/ptx). What the interpreter finds ends the process.
class PtxCode {
public:
  /// Whether the image that a program loads is text, not machine code.
  static bool isText(const void *image);

  /// `text`: ends with a zero byte.
  explicit PtxCode(const char *text);
  bool hasEntry(const std::string &name) const {
    return module->hasEntry(name);
  }
  /// The launch of an entry with the values that `parameters` have now, to be
  /// run later, while this lives.
  std::function<void(int gpu)> bind(const std::string &entry,
                                    const ptx::Grid &grid, void **parameters);

private:
  std::unique_ptr<ptx::Module> module;
  ptx::Machine machine;
};

} // namespace meshc::fake

#endif // MESHC_TEST_RUNTIME_DEVICE_LIBRARIES_PTXCODE_H
