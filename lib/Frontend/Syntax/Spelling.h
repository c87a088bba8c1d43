//===- Spelling.h - did you mean ------------------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_FRONTEND_SYNTAX_SPELLING_H
#define MESHC_FRONTEND_SYNTAX_SPELLING_H

#include <string>
#include <string_view>
#include <vector>

namespace meshc::syntax {

/// The candidate nearest to `name` by edit distance (insert, delete, replace,
/// swap of neighbours), where the distance is at most a third of the longer
/// name's length, rounded up; empty if there is none. Ties go to the
/// first candidate.
std::string_view nearestName(std::string_view name,
                             const std::vector<std::string_view> &candidates);

/// "; did you mean 'hidden'?", or empty if no candidate is near.
std::string didYouMean(std::string_view name,
                       const std::vector<std::string_view> &candidates);

/// Whether one of two names is probably the other one, misspelled: a letter
/// inside is missing or replaced, or two neighbours are swapped. Names that
/// differ in their first or last letter, in a digit or in a part of one letter,
/// such as heads and head or a_q_w and a_k_w, may be told apart on purpose.
bool looksAlike(std::string_view a, std::string_view b);

} // namespace meshc::syntax

#endif // MESHC_FRONTEND_SYNTAX_SPELLING_H
