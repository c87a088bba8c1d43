//===- FindCallee.h - the function that a call names ------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_FRONTEND_FINDCALLEE_H
#define MESHC_FRONTEND_FINDCALLEE_H

#include "lib/Frontend/NameResolver.h"

namespace meshc::frontend {

/// Finds functions by name: those of the language, of the current file and of
/// the modules that it imports.
class CalleeFinder {
public:
  explicit CalleeFinder(NameResolver &names) : names(names) {}

  /// The function of that name; neither kind after an error.
  Callee find(const std::optional<syntax::Name> &module,
              const syntax::Name &name);
  /// Reports a member of what is a value or constant; false if it is neither.
  bool rejectValueMember(const syntax::Name &value, const syntax::Name &member,
                         bool isCall);

private:
  Callee findMember(const syntax::Name &module, const syntax::Name &name);
  void rejectCallee(const syntax::Name &name);
  std::string describeInstead(std::string_view name) const;
  bool rejectForeignMember(const syntax::Name &module,
                           const syntax::Name &name);

  NameResolver &names;
};

} // namespace meshc::frontend

#endif // MESHC_FRONTEND_FINDCALLEE_H
