//===- Version.h - the version of meshc -------------------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_BASE_VERSION_H
#define MESHC_RUNTIME_BASE_VERSION_H

namespace meshc::runtime {

/// The version of the linked runtime, as "0.1.0".
extern const char *const meshcVersion;

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_BASE_VERSION_H
