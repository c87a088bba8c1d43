//===- JsonText.h - JSON in files -------------------------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_BASE_JSONTEXT_H
#define MESHC_RUNTIME_BASE_JSONTEXT_H

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>

namespace meshc::runtime {

/// What is wrong with JSON text at byte number `byte`, which counts from 1 and
/// may be behind the end: "is empty", "ends early: …", "is not JSON from line
/// 2, column 7 on".
std::string describeJsonDamage(const char *text, size_t size, size_t byte);

/// Parses `size` bytes of JSON text, of which all must belong to it: the parser
/// takes a NUL for the end. Sets `damage` to what is wrong, with the place, or
/// leaves it empty.
nlohmann::json parseJson(const char *text, size_t size, std::string &damage);

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_BASE_JSONTEXT_H
