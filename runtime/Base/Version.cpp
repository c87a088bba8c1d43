//===- Version.cpp - the version of meshc ---------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Base/Version.h"

const char *const meshc::runtime::meshcVersion = MESHC_VERSION;
