//===- HostTarget.h - the processor that code is made for -----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_CODEGEN_HOST_HOSTTARGET_H
#define MESHC_LIB_CODEGEN_HOST_HOSTTARGET_H

#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"
#include "llvm/Target/TargetMachine.h"

namespace meshc::codegen {

/// A processor of this machine's architecture.
class HostTarget {
public:
  /// `march`: "native" (this machine's processor) or an LLVM CPU name such as
  /// x86-64-v3 or znver4. Other names are errors.
  static llvm::Expected<HostTarget> get(llvm::StringRef march);

  llvm::TargetMachine &getMachine() const { return *machine; }
  /// 32-bit elements in one vector register.
  int64_t getLanes() const { return lanes; }
  /// Whether llvm.ldexp of f32, scalar or vector, is an instruction or two.
  bool scalesByPowers() const;

  /// The features of the processor that generated code may use and that not
  /// every processor of the architecture has (MeshcProgram::features).
  std::string getFeatures() const;

  /// Sets triple and data layout.
  void prepare(llvm::Module &module) const;
  /// Sets the processor on each function that has a body. LLVM's passes read it
  /// there, so call this before they run.
  void setAttributes(llvm::Module &module) const;

private:
  std::unique_ptr<llvm::TargetMachine> machine;
  int64_t lanes = 4;
};

} // namespace meshc::codegen

#endif // MESHC_LIB_CODEGEN_HOST_HOSTTARGET_H
