//===- Completion.h - values of meshc's options ---------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_TOOLS_MESHC_COMPLETION_H
#define MESHC_TOOLS_MESHC_COMPLETION_H

#include <string>
#include <vector>

namespace meshc {

/// What may be the value of an option, for runtime/Commands/Completion.h: the
/// dims and the axes of the model that is among `words`, in --layout, --mesh
/// and
/// --set; phases, machines, and names of what a model computes.
std::vector<std::string> listOptionValues(const std::string &option,
                                          const std::vector<std::string> &words,
                                          const std::string &begun);

} // namespace meshc

#endif // MESHC_TOOLS_MESHC_COMPLETION_H
