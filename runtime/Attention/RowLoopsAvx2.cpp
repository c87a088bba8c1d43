//===- RowLoopsAvx2.cpp - loops over a row, vectors of 32 bytes -----------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#define MESHC_VECTOR_BYTES 32
#include "runtime/Attention/RowLoopsBody.h"

const meshc::runtime::RowLoops &meshc::runtime::avx2RowLoops() { return loops; }
