//===- SystemLibrary.h - libraries opened at run time -----------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Compiled programs are not linked to the libraries that they compute with.
/// They open them when they start, so that a missing library is an error of the
/// program, which says what to install, and `--help` and `info` work without.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_BASE_SYSTEMLIBRARY_H
#define MESHC_RUNTIME_BASE_SYSTEMLIBRARY_H

#include <string>

namespace meshc::runtime {

/// A shared library that the dynamic linker finds by its name. It stays open
/// until the program ends.
class SystemLibrary {
public:
  /// `name`: the file, such as "libgomp.so.1"; `package`: Debian's package;
  /// `purpose`: what it is needed for. Throws Failure(Device) if the library,
  /// or one that it needs itself, cannot be opened.
  SystemLibrary(const std::string &name, const std::string &package,
                const std::string &purpose);

  /// The function of that name, as a pointer to a `Function`. Throws
  /// Failure(Device) if the library does not have it.
  template <typename Function> Function *find(const char *function) const {
    return reinterpret_cast<Function *>(findAddress(function));
  }

private:
  void *findAddress(const char *function) const;

  std::string name, package;
  void *handle;
};

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_BASE_SYSTEMLIBRARY_H
