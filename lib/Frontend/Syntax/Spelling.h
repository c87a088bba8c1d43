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
/// swap of neighbours), where the distance is at most the longer name's length
/// divided by `lettersPerEdit`, rounded up; empty if there is none. Ties go to
/// the first candidate.
std::string_view nearestName(std::string_view name,
                             const std::vector<std::string_view> &candidates,
                             size_t lettersPerEdit = 3);

/// "; did you mean 'hidden'?", or empty if no candidate is near.
std::string didYouMean(std::string_view name,
                       const std::vector<std::string_view> &candidates);

/// Whether one of two names is probably the other one, misspelled: they differ
/// in the case of letters, in one letter that is missing or replaced, or in two
/// neighbours that are swapped. Not if they are as short as row and rows, or
/// may be told apart on purpose: by a digit, by a letter that numbers them at
/// an end, such as qseq and kseq, or by a part of one letter, such as a_q_w and
/// a_k_w.
bool looksAlike(std::string_view a, std::string_view b);

} // namespace meshc::syntax

#endif // MESHC_FRONTEND_SYNTAX_SPELLING_H
