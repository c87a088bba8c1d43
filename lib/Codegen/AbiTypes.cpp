//===- AbiTypes.cpp - RuntimeAbi.h in LLVM's types ------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Codegen/AbiTypes.h"
#include <cstddef>

using namespace llvm;

namespace meshc::codegen {

// The fields below follow one another as they are declared, at their natural
// alignment; a change of RuntimeAbi.h that this file does not follow stops
// here.
static_assert(offsetof(MeshcContext, arena) == 0 &&
              offsetof(MeshcContext, coords) == 8 &&
              offsetof(MeshcContext, seed) == 16 &&
              offsetof(MeshcContext, step) == 24 &&
              offsetof(MeshcContext, settings) == 32 &&
              sizeof(MeshcContext) == 48);
static_assert(offsetof(MeshcGemm, n) == 8 && offsetof(MeshcGemm, lda) == 24 &&
              offsetof(MeshcGemm, batch) == 48 &&
              offsetof(MeshcGemm, strideC) == 72 &&
              offsetof(MeshcGemm, type) == 80 &&
              offsetof(MeshcGemm, transA) == 82 &&
              offsetof(MeshcGemm, accumulate) == 84 &&
              offsetof(MeshcGemm, scratchOffset) == 88 &&
              offsetof(MeshcGemm, scratchBytes) == 96 &&
              offsetof(MeshcGemm, cut) == 104 && sizeof(MeshcGemm) == 112);
static_assert(offsetof(MeshcCollectiveItem, sendEntries) == 8 &&
              offsetof(MeshcCollectiveItem, sendInner) == 16 &&
              offsetof(MeshcCollectiveItem, recvOuter) == 24 &&
              offsetof(MeshcCollectiveItem, recvEntries) == 32 &&
              sizeof(MeshcCollectiveItem) == 48);
static_assert(offsetof(MeshcCollective, reduction) == 1 &&
              offsetof(MeshcCollective, type) == 2 &&
              offsetof(MeshcCollective, axes) == 4 &&
              offsetof(MeshcCollective, site) == 8 &&
              offsetof(MeshcCollective, itemCount) == 12 &&
              offsetof(MeshcCollective, items) == 16 &&
              offsetof(MeshcCollective, permutation) == 24 &&
              sizeof(MeshcCollective) == 32);
static_assert(offsetof(MeshcPermutation, receivers) == MESHC_MAX_AXES &&
              offsetof(MeshcPermutation, shift) == 2 * MESHC_MAX_AXES &&
              offsetof(MeshcPermutation, round) == 2 * MESHC_MAX_AXES + 8 &&
              sizeof(MeshcPermutation) == 2 * MESHC_MAX_AXES + 40);
static_assert(offsetof(MeshcRound, recvBlock) == 8 &&
              offsetof(MeshcRound, offset) == 16 &&
              offsetof(MeshcRound, number) == 24 && sizeof(MeshcRound) == 32);
static_assert(offsetof(MeshcKernel, function) == 8 &&
              offsetof(MeshcKernel, extent) == 16 &&
              offsetof(MeshcKernel, grain) == 24 &&
              offsetof(MeshcKernel, bufferCount) == 32 &&
              offsetof(MeshcKernel, blocks) == 36 &&
              offsetof(MeshcKernel, threads) == 40 &&
              offsetof(MeshcKernel, sharedBytes) == 44 &&
              sizeof(MeshcKernel) == 48);
static_assert(offsetof(MeshcImage, chip) == 4 &&
              offsetof(MeshcImage, sizeBytes) == 8 &&
              offsetof(MeshcImage, data) == 16 && sizeof(MeshcImage) == 24);
static_assert(offsetof(MeshcAxis, size) == 8 && sizeof(MeshcAxis) == 16);
static_assert(offsetof(MeshcDim, size) == 8 &&
              offsetof(MeshcDim, localStride) == 24 &&
              offsetof(MeshcDim, axisCount) == 32 &&
              offsetof(MeshcDim, axes) == 40 && sizeof(MeshcDim) == 48);
static_assert(offsetof(MeshcTensor, role) == 8 &&
              offsetof(MeshcTensor, type) == 9 &&
              offsetof(MeshcTensor, rank) == 12 &&
              offsetof(MeshcTensor, dims) == 16 &&
              offsetof(MeshcTensor, offsetBytes) == 24 &&
              sizeof(MeshcTensor) == 32);
static_assert(offsetof(MeshcEpilogue, kernel) == 8 &&
              sizeof(MeshcEpilogue) == 16);
static_assert(offsetof(MeshcSetting, place) == 8 &&
              offsetof(MeshcSetting, value) == 16 &&
              offsetof(MeshcSetting, limit) == 24 &&
              offsetof(MeshcSetting, kind) == 32 &&
              offsetof(MeshcSetting, positive) == 36 &&
              sizeof(MeshcSetting) == 40);
static_assert(sizeof(MeshcSite) == 16);
static_assert(offsetof(MeshcProgram, axes) == 8 &&
              offsetof(MeshcProgram, name) == 16 &&
              offsetof(MeshcProgram, tensorCount) == 24 &&
              offsetof(MeshcProgram, siteCount) == 28 &&
              offsetof(MeshcProgram, tensors) == 32 &&
              offsetof(MeshcProgram, sites) == 40 &&
              offsetof(MeshcProgram, target) == 48 &&
              offsetof(MeshcProgram, kernelCount) == 52 &&
              offsetof(MeshcProgram, kernels) == 56 &&
              offsetof(MeshcProgram, imageCount) == 64 &&
              offsetof(MeshcProgram, images) == 72 &&
              offsetof(MeshcProgram, arenaBytes) == 80 &&
              offsetof(MeshcProgram, initialize) == 88 &&
              offsetof(MeshcProgram, trainStep) == 96 &&
              offsetof(MeshcProgram, evalStep) == 104 &&
              offsetof(MeshcProgram, manifest) == 112 &&
              offsetof(MeshcProgram, features) == 120 &&
              offsetof(MeshcProgram, generateStep) == 128 &&
              offsetof(MeshcProgram, positions) == 136 &&
              offsetof(MeshcProgram, evalAverageStep) == 144 &&
              offsetof(MeshcProgram, prefillStep) == 152 &&
              offsetof(MeshcProgram, wholeBatches) == 160 &&
              offsetof(MeshcProgram, settings) == 168 &&
              offsetof(MeshcProgram, settingCount) == 176 &&
              sizeof(MeshcProgram) == 184);

AbiTypes::AbiTypes(LLVMContext &llvmContext)
    : pointer(PointerType::get(llvmContext, 0)),
      i8(Type::getInt8Ty(llvmContext)), i16(Type::getInt16Ty(llvmContext)),
      i32(Type::getInt32Ty(llvmContext)), i64(Type::getInt64Ty(llvmContext)) {
  auto make = [&](std::initializer_list<Type *> fields) {
    return StructType::get(llvmContext, ArrayRef<Type *>(fields));
  };
  context = make({pointer, pointer, i64, i64, pointer, pointer});
  gemm = make({i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i8, i8, i8, i8,
               i8, i64, i64, pointer});
  epilogue = make({i32, i32, pointer});
  collectiveItem = make({i64, i64, i64, i64, i64, i64});
  Type *axisOrder = ArrayType::get(i8, MESHC_MAX_AXES);
  permutation = make({axisOrder, axisOrder, i64, i64, i64, i64, i64});
  collective = make({i8, i8, i8, i8, i32, i32, i32, pointer, pointer});
  loop = make({i64, i64, i64, i64});
  kernel = make({pointer, pointer, i64, i64, i32, i32, i32, i32});
  image = make({i32, i32, i64, pointer});
  axis = make({pointer, i64});
  dim = make({pointer, i64, i64, i64, i32, pointer});
  tensor = make({pointer, i8, i8, i16, i32, pointer, i64});
  Type *f64 = Type::getDoubleTy(llvmContext);
  setting = make({pointer, pointer, f64, f64, i32, i32});
  site = make({pointer, pointer});
  program = make({i32,     i32,     pointer, pointer, i32,     i32,     pointer,
                  pointer, i32,     i32,     pointer, i32,     i32,     pointer,
                  i64,     pointer, pointer, pointer, pointer, pointer, pointer,
                  i64,     pointer, pointer, pointer, pointer, i32,     i32});
}

Constant *ConstantTable::getInteger(Type *type, int64_t value) {
  return ConstantInt::get(type, APInt(type->getIntegerBitWidth(), value,
                                      /*isSigned=*/true,
                                      /*implicitTrunc=*/true));
}

Constant *ConstantTable::makeStruct(StructType *type,
                                    ArrayRef<Constant *> fields) {
  return ConstantStruct::get(type, fields);
}

Constant *ConstantTable::makeGlobal(Constant *value) {
  auto *global =
      new GlobalVariable(module, value->getType(), /*isConstant=*/true,
                         GlobalValue::PrivateLinkage, value);
  global->setUnnamedAddr(GlobalValue::UnnamedAddr::Global);
  return global;
}

Constant *ConstantTable::getString(StringRef text) {
  Constant *&address = strings[text];
  if (!address)
    address =
        makeGlobal(ConstantDataArray::getString(module.getContext(), text));
  return address;
}

Constant *ConstantTable::makeDim(exec::BufferType buffer, StringRef name,
                                 nd::MeshAttr mesh) {
  nd::TensorType type = buffer.getTensor();
  nd::DimAttr dim = type.getDim(name);
  SmallVector<Constant *> axes;
  for (mlir::StringAttr axis : dim.getAxes())
    axes.push_back(getInteger(types.i32, mesh.getAxisIndex(axis)));
  int64_t localSize = type.getLocalSize(type.getDimIndex(name), mesh);
  return makeStruct(types.dim,
                    {getString(name), getInteger(types.i64, dim.getSize()),
                     getInteger(types.i64, localSize),
                     getInteger(types.i64, buffer.getStride(name, mesh)),
                     getInteger(types.i32, int64_t(axes.size())),
                     makeArray(axes)});
}

Constant *ConstantTable::makeArray(ArrayRef<Constant *> values) {
  if (values.empty())
    return ConstantPointerNull::get(types.pointer);
  return makeGlobal(ConstantArray::get(
      ArrayType::get(values.front()->getType(), values.size()), values));
}

} // namespace meshc::codegen
