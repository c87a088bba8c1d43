//===- LineManifest.h - what LineProgram's manifest says of calls *- C++
//-*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Entries of a manifest as the compiler writes them (lib/Report/Report.h).
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_TEST_RUNTIME_COMMANDS_LINEMANIFEST_H
#define MESHC_TEST_RUNTIME_COMMANDS_LINEMANIFEST_H

#include <cstdint>
#include <string>
#include <vector>

namespace meshc::test {

/// A dim of a result.
inline std::string dimEntry(const char *name, int64_t size, const char *axis) {
  return std::string(R"({"dim": ")") + name + R"(", "size": )" +
         std::to_string(size) + R"(, "axes": [")" + axis + R"("]})";
}

/// A result of a launch, of f32; `dims` may be empty.
struct LineResult {
  const char *name;
  int64_t elements;
  std::string dims = {};
};

/// An entry of "launches", with the elements of its inputs, which are f32 too.
inline std::string launchEntry(const char *kernel, const char *place,
                               const std::vector<int64_t> &inputs,
                               const std::vector<LineResult> &results) {
  std::string text = std::string(R"({"kernel": ")") + kernel +
                     R"(", "ops": ["add line.mesh:)" + place +
                     R"("], "inputs": [)";
  for (size_t i = 0; i < inputs.size(); ++i)
    text += (i ? ", " : "") + std::to_string(4 * inputs[i]);
  text += R"(], "results": [)";
  for (size_t i = 0; i < results.size(); ++i)
    text += std::string(i ? ", " : "") + R"({"name": ")" + results[i].name +
            R"(", "location": "models/line.mesh:)" + place +
            R"(", "type": "f32", "elements": )" +
            std::to_string(results[i].elements) + R"(, "dims": [)" +
            results[i].dims + "]}";
  return text + "]}";
}

} // namespace meshc::test

#endif // MESHC_TEST_RUNTIME_COMMANDS_LINEMANIFEST_H
