//===- Lexer.h - bytes to tokens ------------------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_FRONTEND_SYNTAX_LEXER_H
#define MESHC_FRONTEND_SYNTAX_LEXER_H

#include "lib/Frontend/Syntax/Diagnostic.h"
#include "lib/Frontend/Syntax/Token.h"

namespace meshc::syntax {

/// The tokens of text number `source`, the last one being TokenKind::End
/// [L1]. Any bytes are accepted: those that are not a token are reported and
/// skipped.
std::vector<Token> lex(const SourceSet &sources, uint32_t source,
                       Diagnostics &diagnostics);

/// Whether the text is one name: no reserved word. [L1.3], [L1.4]
bool isName(std::string_view text);

} // namespace meshc::syntax

#endif // MESHC_FRONTEND_SYNTAX_LEXER_H
