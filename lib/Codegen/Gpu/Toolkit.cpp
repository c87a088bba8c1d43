//===- Toolkit.cpp - the CUDA toolkit's parts for compiling ---------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Codegen/Gpu/Toolkit.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include <cstdlib>

using namespace llvm;

namespace meshc::codegen {

/// The first of the paths below `folder` that is a file that can be read, or
/// run; empty: none is.
static std::string findFile(StringRef folder, ArrayRef<StringRef> paths,
                            sys::fs::AccessMode mode) {
  for (StringRef path : paths) {
    SmallString<256> file(folder);
    sys::path::append(file, path);
    if (!sys::fs::access(file, mode) && !sys::fs::is_directory(file))
      return file.str().str();
  }
  return "";
}

/// `folder`: NVIDIA's, or the /usr of a distribution.
static CudaToolkit lookIn(StringRef folder) {
  return {findFile(folder, {"bin/ptxas"}, sys::fs::AccessMode::Execute),
          findFile(folder,
                   {"nvvm/libdevice/libdevice.10.bc",
                    "lib/nvidia-cuda-toolkit/libdevice/libdevice.10.bc"},
                   sys::fs::AccessMode::Exist)};
}

Expected<CudaToolkit> findCudaToolkit(StringRef folder) {
  SmallVector<std::string> folders;
  std::string places;
  auto add = [&](StringRef place, StringRef from) {
    folders.push_back(place.str());
    places += (places.empty() ? "'" : ", '") + (place + "'" + from).str();
  };
  if (!folder.empty()) {
    add(folder, " of '--cuda-path'");
  } else {
    if (const char *home = std::getenv("CUDA_HOME"); home && *home)
      add(home, " of CUDA_HOME");
    add("/usr/local/cuda", "");
    if (auto program = sys::findProgramByName("ptxas")) {
      SmallString<256> real;
      if (!sys::fs::real_path(*program, real))
        add(sys::path::parent_path(sys::path::parent_path(real)), " of PATH");
    } else {
      places += " and PATH";
    }
  }
  for (const std::string &place : folders)
    if (CudaToolkit toolkit = lookIn(place); !toolkit.ptxas.empty())
      return toolkit;
  return createStringError(
      "found no CUDA toolkit to compile for GPUs with: looked for 'bin/ptxas' "
      "in " +
      places +
      "; install CUDA 13 (developer.nvidia.com/cuda-downloads; its package "
      "'cuda-nvcc' suffices), or give its folder by '--cuda-path' or "
      "CUDA_HOME");
}

} // namespace meshc::codegen
