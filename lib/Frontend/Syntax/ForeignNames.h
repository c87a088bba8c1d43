//===- ForeignNames.h - names of other frameworks -------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What the language has for functions, methods and classes of PyTorch, NumPy
/// and JAX, for messages about unknown names. One table has all of them.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_FRONTEND_SYNTAX_FOREIGNNAMES_H
#define MESHC_FRONTEND_SYNTAX_FOREIGNNAMES_H

#include <string>
#include <string_view>
#include <vector>

namespace meshc::syntax {

/// The name in lower case without underscores: `LayerNorm` and `layer_norm` are
/// one name.
std::string foldName(std::string_view name);

/// What to write instead of the name, as in "write dot(a, b, dim)"; empty if
/// the table does not have it. Calls of the module nn say that it must be
/// imported unless `hasNn`.
std::string describeForeign(std::string_view name, bool hasNn = false);

/// Whether modules of other frameworks are known by this name: torch, np, F, …
bool isForeignModule(std::string_view name);

/// What the table proposes, each once, for tests. What is written so in a
/// program stands between grave accents.
std::vector<std::string_view> foreignProposals();

} // namespace meshc::syntax

#endif // MESHC_FRONTEND_SYNTAX_FOREIGNNAMES_H
