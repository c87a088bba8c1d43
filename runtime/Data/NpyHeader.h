//===- NpyHeader.h - the header of NPY files --------------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The header of NumPy's NPY format (numpy.lib.format): the text of a Python
/// dictionary with the keys 'descr', 'fortran_order' and 'shape'.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_DATA_NPYHEADER_H
#define MESHC_RUNTIME_DATA_NPYHEADER_H

#include "runtime/Data/Array.h"

#include <cstdint>
#include <string>
#include <vector>

namespace meshc::runtime {

struct NpyHeader {
  FileType type = FileType::U8;
  bool bigEndian = false;
  bool isFortran = false; ///< the first dim is the fastest
  std::vector<int64_t> dims;
};

/// Reads the dictionary as NumPy does: strings in either kind of quotes, keys
/// in any order, sizes as Python 2 wrote them (`2L`). Returns what is wrong
/// ("has a damaged NPY header: …"), or an empty string. Types that are not
/// those of FileType are wrong, and so is a shape that is no tuple.
std::string parseNpyHeader(const std::string &text, NpyHeader &header);

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_DATA_NPYHEADER_H
