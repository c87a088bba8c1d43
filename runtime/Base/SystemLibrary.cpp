//===- SystemLibrary.cpp - libraries opened at run time -------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Base/SystemLibrary.h"

#include "runtime/Base/AvailableMemory.h"
#include "runtime/Base/Failure.h"

#include <dlfcn.h>

using namespace meshc::runtime;

SystemLibrary::SystemLibrary(const std::string &name,
                             const std::string &package,
                             const std::string &purpose)
    : name(name), package(package),
      handle(dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  if (handle)
    return;
  const std::string why = dlerror();
  if (meansTooLittleMemory(why))
    throw tooLittleMemory("open the library '" + name + "', needed for " +
                          purpose);
  throw Failure(ExitCode::Device, "the library '" + name + "', needed for " +
                                      purpose + ", cannot be opened: " + why +
                                      "; install it (Debian's package '" +
                                      package +
                                      "'), or add its directory to "
                                      "LD_LIBRARY_PATH");
}

void *SystemLibrary::findAddress(const char *function) const {
  if (void *address = dlsym(handle, function))
    return address;
  throw Failure(ExitCode::Device, "the library '" + name +
                                      "' has no function '" + function +
                                      "'; install the version of Debian's "
                                      "package '" +
                                      package + "'");
}
