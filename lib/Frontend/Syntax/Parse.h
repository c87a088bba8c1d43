//===- Parse.h - text to tree ---------------------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_FRONTEND_SYNTAX_PARSE_H
#define MESHC_FRONTEND_SYNTAX_PARSE_H

#include "lib/Frontend/Syntax/Ast.h"
#include "lib/Frontend/Syntax/Diagnostic.h"

namespace meshc::syntax {

/// The tree of text number `source` (docs/language.md). After an error the
/// parser continues at the next statement or declaration, so a run reports
/// several errors; unreadable parts are absent from the tree.
Program parseProgram(const SourceSet &sources, uint32_t source,
                     Diagnostics &diagnostics);

/// The message for `value.member` where `value` is no imported file.
std::string describeMember(std::string_view value, std::string_view member,
                           bool isCall);

/// A list of the command line: `data=2,tensor=2` for --mesh, `batch=64` for
/// --set. Empty text is an empty list. [L8.1], [L8.3]
std::vector<Definition> parseDefinitionList(const SourceSet &sources,
                                            uint32_t source,
                                            Diagnostics &diagnostics);

/// The rules of --layout: as in a file, and also with `:` for `->`, `:?` for
/// `->?`, `:~` for `~>`, `:~?` for `~>?` and `a+b` for `(a, b)`:
/// `batch:pod+data,optimizer.model:data`. [L8.2]
std::vector<LayoutRule> parseLayoutList(const SourceSet &sources,
                                        uint32_t source,
                                        Diagnostics &diagnostics);

} // namespace meshc::syntax

#endif // MESHC_FRONTEND_SYNTAX_PARSE_H
