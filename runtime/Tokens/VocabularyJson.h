//===- VocabularyJson.h - vocabularies in JSON ------------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_TOKENS_VOCABULARYJSON_H
#define MESHC_RUNTIME_TOKENS_VOCABULARYJSON_H

#include "runtime/Data/Bytes.h"

#include <nlohmann/json.hpp>
#include <string>

namespace meshc::runtime {

/// The content of the vocabulary file `path`. Throws Failure(Data) if it is no
/// JSON text: says at which line and column, and what was `expected`.
nlohmann::json parseVocabulary(const Bytes &file, const std::string &path,
                               const std::string &expected);

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_TOKENS_VOCABULARYJSON_H
