//===- AbiTypes.h - RuntimeAbi.h in LLVM's types --------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_CODEGEN_ABITYPES_H
#define MESHC_LIB_CODEGEN_ABITYPES_H

#include "dialects/Exec/Exec.h"
#include "meshc/RuntimeAbi.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Module.h"

namespace meshc::codegen {

/// The structs of include/meshc/RuntimeAbi.h, field by field.
struct AbiTypes {
  explicit AbiTypes(llvm::LLVMContext &context);
  llvm::PointerType *pointer;
  llvm::IntegerType *i8, *i16, *i32, *i64;
  llvm::StructType *context, *gemm, *epilogue, *collectiveItem, *collective,
      *permutation, *loop, *kernel, *image, *axis, *dim, *tensor, *setting,
      *site, *program;
};

/// Private constants of one module.
class ConstantTable {
public:
  ConstantTable(llvm::Module &module, const AbiTypes &types)
      : module(module), types(types) {}

  /// A struct value from its fields, in order.
  llvm::Constant *makeStruct(llvm::StructType *type,
                             llvm::ArrayRef<llvm::Constant *> fields);
  llvm::Constant *getInteger(llvm::Type *type, int64_t value);
  /// Address of a zero-terminated string. Equal strings share one constant.
  llvm::Constant *getString(llvm::StringRef text);
  /// Address of an array of the values; null if there are none.
  llvm::Constant *makeArray(llvm::ArrayRef<llvm::Constant *> values);
  /// The MeshcDim of a buffer's dim.
  llvm::Constant *makeDim(exec::BufferType buffer, llvm::StringRef name,
                          nd::MeshAttr mesh);
  /// Address of a constant.
  llvm::Constant *makeGlobal(llvm::Constant *value);

private:
  llvm::Module &module;
  const AbiTypes &types;
  llvm::StringMap<llvm::Constant *> strings;
};

} // namespace meshc::codegen

#endif // MESHC_LIB_CODEGEN_ABITYPES_H
