//===- Epilogues.h - the table of epilogues, for exec ops -----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_EXEC_EPILOGUES_H
#define MESHC_DIALECTS_EXEC_EPILOGUES_H

#include "dialects/Exec/Exec.h"
#include "meshc/Epilogues.h"

namespace meshc::exec {

/// The row of an epilogue.
inline const EpilogueTraits &getTraits(Epilogue epilogue) {
  return *findEpilogue(static_cast<uint32_t>(epilogue));
}
/// The same, or null without an epilogue.
inline const EpilogueTraits *getTraits(std::optional<Epilogue> epilogue) {
  return epilogue ? &getTraits(*epilogue) : nullptr;
}

inline Epilogue getEpilogue(const EpilogueTraits &traits) {
  return static_cast<Epilogue>(traits.kind);
}

} // namespace meshc::exec

#endif // MESHC_DIALECTS_EXEC_EPILOGUES_H
