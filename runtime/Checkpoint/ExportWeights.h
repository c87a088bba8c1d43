//===- ExportWeights.h - parameters as files of other tools -----*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The inverse of loadParameters: writes a checkpoint's parameters as the
/// tensors that a name map describes.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_CHECKPOINT_EXPORTWEIGHTS_H
#define MESHC_RUNTIME_CHECKPOINT_EXPORTWEIGHTS_H

#include "meshc/RuntimeAbi.h"
#include "runtime/Checkpoint/NameMap.h"
#include "runtime/Checkpoint/StoredParameters.h"
#include "runtime/Checkpoint/WeightFiles.h"

#include <cstdint>
#include <string>
#include <vector>

namespace meshc::runtime {

/// Where an export goes.
struct ExportTarget {
  std::string path;       ///< the safetensors file
  int64_t shardBytes = 0; ///< of tensors in a file; 0: all in one file
  bool overwrite = false; ///< also files that no export wrote
};

/// Whether the open file begins like one that exportWeights() wrote.
bool beginsAsExport(int descriptor);

/// Writes the program's parameters or, as `values` says, their averages, which
/// `files` hold by their own names and shapes, to the safetensors file of
/// `target`: in the types of `files`, as the tensors of `map` or, without one,
/// as they are. With `shardBytes`, to files of at most so many bytes of tensors
/// (or one larger tensor) and their index: "m.safetensors" is then
/// "m-00001-of-00002.safetensors" … and "m.safetensors.index.json". An earlier
/// index of such files, "m.index.json" too, is removed before the first file is
/// written, and the new one is written last, so that an index never lists files
/// of two exports. One file never replaces a file that an index lists. Each
/// file appears complete or not at all. Holds one tensor at a time. Returns the
/// files of earlier exports to that path, also unfinished ones, that it has not
/// replaced, because they have other names: they stay, and are no part of this
/// one. Writes nothing and throws Failure(Checkpoint) if the parameters do not
/// fit the program, if `files` have tensors of another program, if they do not
/// fill each tensor exactly once, or if the elements of a parameter that the
/// map sets to a number have other values; Failure(Usage) if it would replace a
/// file that no export wrote, unless `overwrite` permits it. Throws
/// Failure(Checkpoint), too, if a file cannot be written.
std::vector<std::string> exportWeights(const WeightFiles &files,
                                       const MeshcProgram &program,
                                       const NameMap *map,
                                       const ExportTarget &target,
                                       ParameterValues values);

/// The name with which exports of several files to `path` have their files in
/// common: "m.safetensors", also of "m".
std::string shardedName(const std::string &path);

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_CHECKPOINT_EXPORTWEIGHTS_H
