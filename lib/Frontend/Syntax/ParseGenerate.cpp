//===- ParseGenerate.cpp - how text is generated --------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "lib/Frontend/Syntax/Parser.h"

using namespace meshc::syntax;

/// [L11.1]
std::optional<Declaration> Parser::parseGenerate() {
  GenerateDeclaration generate;
  generate.span = next().span;
  std::optional<Name> model =
      expectName("the name of the model to generate from");
  if (!model)
    return std::nullopt;
  generate.model = *model;
  struct Part {
    std::string_view word, what;
    Name *name;
  };
  for (const Part &part :
       {Part{"from", "the input that the tokens are", &generate.tokens},
        Part{"with", "the value that the logits are", &generate.logits},
        Part{"over", "the dim of the vocabulary", &generate.vocab},
        Part{"along", "the dim of the positions", &generate.positions}}) {
    if (!atWord(part.word)) {
      unexpected("'" + std::string(part.word) + "' and " +
                 std::string(part.what));
      return std::nullopt;
    }
    next();
    std::optional<Name> name = expectName(part.what);
    if (!name)
      return std::nullopt;
    *part.name = *name;
  }
  return generate;
}
