//===- CublasLt.cpp - libcublasLt.so.13 without a GPU ---------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The descriptors of cublasLt, and what its manual requires of them
/// (https://docs.nvidia.com/cuda/cublas/, "Using the cublasLt API"). Each call
/// is compared with the problem for which its algorithm was chosen.
///
//===----------------------------------------------------------------------===//
#include "FakeCuda.h"
#include "Product.h"

#include <algorithm>
#include <cstring>
#include <mutex>

using namespace meshc;
using namespace meshc::fake;

struct cublasLtContext {
  int gpu;
};

namespace {

struct Preference {
  uint64_t workspaceBytes = 0;
  uint32_t alignments[4] = {256, 256, 256, 256}; ///< of A, B, C, D
  uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_MASK;
};

Operation &get(cublasLtMatmulDesc_t handle) {
  expectAlive(handle, "a description of a product");
  return *reinterpret_cast<Operation *>(handle);
}
Layout &get(cublasLtMatrixLayout_t handle) {
  expectAlive(handle, "a matrix layout");
  return *reinterpret_cast<Layout *>(handle);
}
Preference &get(cublasLtMatmulPreference_t handle) {
  expectAlive(handle, "a preference");
  return *reinterpret_cast<Preference *>(handle);
}

/// A new object as a handle.
template <class Handle, class Object> Handle makeHandle(Object object) {
  forbidInCapture("a descriptor of cublasLt is made");
  ++self().held;
  auto *made = new Object(object);
  noteBorn(made);
  return reinterpret_cast<Handle>(made);
}

template <class Object, class Handle>
cublasStatus_t destroy(Handle handle, const char *what) {
  forbidInCapture("a descriptor of cublasLt is destroyed");
  noteDead(handle, what);
  --self().held;
  delete reinterpret_cast<Object *>(handle);
  return CUBLAS_STATUS_SUCCESS;
}

template <class Value>
cublasStatus_t set(Value &value, const void *from, size_t bytes) {
  if (bytes != sizeof(value))
    violate("an attribute of cublasLt with " + std::to_string(bytes) +
            " bytes, which has " + std::to_string(sizeof(value)));
  std::memcpy(&value, from, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

/// The problem for which an algorithm was chosen; it fits into
/// cublasLtMatmulAlgo_t.
struct Choice {
  static constexpr uint64_t expectedMagic = 0x616c676f;
  uint64_t magic, problem, workspaceBytes;
  uint32_t alignments[4];
};
static_assert(sizeof(Choice) <= sizeof(cublasLtMatmulAlgo_t));

/// A number that differs if two problems differ in more than addresses.
uint64_t identify(const Product &product) {
  uint64_t hash = 1469598103934665603u;
  auto add = [&hash](auto value) {
    hash = (hash ^ static_cast<uint64_t>(value)) * 1099511628211u;
  };
  const Operation &operation = product.operation;
  for (uint64_t value :
       {uint64_t(operation.compute), uint64_t(operation.scale),
        uint64_t(operation.transA), uint64_t(operation.transB),
        uint64_t(operation.epilogue), uint64_t(operation.auxiliaryStride),
        uint64_t(operation.bias != nullptr),
        uint64_t(operation.auxiliary != nullptr)})
    add(value);
  for (const Layout &layout : {product.a, product.b, product.c, product.d})
    for (uint64_t value : {uint64_t(layout.type), layout.rows, layout.columns,
                           uint64_t(layout.stride), uint64_t(layout.batch),
                           uint64_t(layout.batchStride)})
      add(value);
  return hash;
}

bool isPlain(const Product &product) {
  return product.operation.epilogue == CUBLASLT_EPILOGUE_DEFAULT;
}

uint64_t elementBytes(cudaDataType_t type) {
  return type == CUDA_R_32F ? 4 : 2;
}

/// Bytes from the first element of a matrix to behind its last one.
uint64_t spanOf(const Layout &layout) {
  return (static_cast<uint64_t>(layout.stride) * (layout.columns - 1) +
          layout.rows +
          static_cast<uint64_t>(layout.batchStride) *
              static_cast<uint64_t>(layout.batch - 1)) *
         elementBytes(layout.type);
}

bool overlap(const void *a, uint64_t bytesA, const void *b, uint64_t bytesB) {
  const auto *x = static_cast<const char *>(a),
             *y = static_cast<const char *>(b);
  return x < y + bytesB && y < x + bytesA;
}

/// The largest power of two, up to 256, that divides an address.
uint32_t alignmentOf(const void *address) {
  auto bits = reinterpret_cast<uintptr_t>(address) | 256;
  return static_cast<uint32_t>(bits & -bits);
}

void checkPointers(const Product &product, const Choice &choice,
                   const Addresses &at) {
  const void *addresses[] = {at.a, at.b, at.c, at.d};
  const Layout *layouts[] = {&product.a, &product.b, &product.c, &product.d};
  const int gpu = self().gpu;
  for (int i = 0; i < 4; ++i) {
    resolveDevice(addresses[i], spanOf(*layouts[i]), gpu);
    uint64_t strideBytes = static_cast<uint64_t>(layouts[i]->batchStride) *
                           elementBytes(layouts[i]->type);
    if (alignmentOf(addresses[i]) < choice.alignments[i] ||
        (layouts[i]->batch > 1 && strideBytes % choice.alignments[i] != 0))
      violate("a matrix is less aligned than the heuristic was told");
    if (i < 2 &&
        overlap(addresses[i], spanOf(*layouts[i]), at.d, spanOf(product.d)))
      violate("a product over its own factor");
  }
  const Operation &operation = product.operation;
  if (operation.bias)
    resolveDevice(operation.bias, biasBytes(product), gpu);
  if (operation.auxiliary)
    resolveDevice(operation.auxiliary, auxiliaryBytes(product), gpu);
}

} // namespace

extern "C" {

cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle) {
  note("cublasLtCreate()");
  forbidInCapture("cublasLtCreate");
  ++self().held;
  *handle = new cublasLtContext{self().gpu};
  noteBorn(*handle);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  note("cublasLtDestroy()");
  forbidInCapture("cublasLtDestroy");
  noteDead(handle, "a handle of cublasLt");
  --self().held;
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}

const char *cublasLtGetStatusString(cublasStatus_t status) {
  return status == CUBLAS_STATUS_NOT_SUPPORTED   ? "CUBLAS_STATUS_NOT_SUPPORTED"
         : status == CUBLAS_STATUS_INVALID_VALUE ? "CUBLAS_STATUS_INVALID_VALUE"
                                                 : "CUBLAS_STATUS_SUCCESS";
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *made,
                                        cublasComputeType_t compute,
                                        cudaDataType_t scale) {
  note("cublasLtMatmulDescCreate(compute=%d, scale=%d)", compute, scale);
  Operation operation;
  operation.compute = compute;
  operation.scale = scale;
  *made = makeHandle<cublasLtMatmulDesc_t>(operation);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t handle,
                               cublasLtMatmulDescAttributes_t attribute,
                               const void *value, size_t bytes) {
  Operation &operation = get(handle);
  switch (attribute) {
  case CUBLASLT_MATMUL_DESC_TRANSA:
    return set(operation.transA, value, bytes);
  case CUBLASLT_MATMUL_DESC_TRANSB:
    return set(operation.transB, value, bytes);
  case CUBLASLT_MATMUL_DESC_EPILOGUE:
    return set(operation.epilogue, value, bytes);
  case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
    return set(operation.bias, value, bytes);
  case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER:
    return set(operation.auxiliary, value, bytes);
  case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD:
    return set(operation.auxiliaryStride, value, bytes);
  default:
    violate("an attribute of products that the fake does not know");
  }
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t handle) {
  return destroy<Operation>(handle, "a description of a product");
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *made,
                                          cudaDataType_t type, uint64_t rows,
                                          uint64_t columns, int64_t stride) {
  note("cublasLtMatrixLayoutCreate(type=%d, rows=%llu, cols=%llu, ld=%lld)",
       type, static_cast<unsigned long long>(rows),
       static_cast<unsigned long long>(columns),
       static_cast<long long>(stride));
  if (rows == 0 || columns == 0 || stride < static_cast<int64_t>(rows))
    return CUBLAS_STATUS_INVALID_VALUE;
  *made = makeHandle<cublasLtMatrixLayout_t>(
      Layout{type, rows, columns, stride, 1, 0});
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t handle,
                                 cublasLtMatrixLayoutAttribute_t attribute,
                                 const void *value, size_t bytes) {
  Layout &layout = get(handle);
  if (attribute == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT)
    return set(layout.batch, value, bytes);
  if (attribute == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET)
    return set(layout.batchStride, value, bytes);
  violate("an attribute of layouts that the fake does not know");
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t handle) {
  return destroy<Layout>(handle, "a matrix layout");
}

cublasStatus_t
cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *made) {
  *made = makeHandle<cublasLtMatmulPreference_t>(Preference());
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(
    cublasLtMatmulPreference_t handle,
    cublasLtMatmulPreferenceAttributes_t attribute, const void *value,
    size_t bytes) {
  Preference &preference = get(handle);
  switch (attribute) {
  case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES:
    return set(preference.workspaceBytes, value, bytes);
  case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES:
    return set(preference.alignments[0], value, bytes);
  case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES:
    return set(preference.alignments[1], value, bytes);
  case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES:
    return set(preference.alignments[2], value, bytes);
  case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES:
    return set(preference.alignments[3], value, bytes);
  case CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK:
    return set(preference.reductions, value, bytes);
  default:
    violate("a preference that the fake does not know");
  }
}

cublasStatus_t
cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t handle) {
  return destroy<Preference>(handle, "a preference");
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(
    cublasLtHandle_t handle, cublasLtMatmulDesc_t operation,
    cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
    cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
    cublasLtMatmulPreference_t preference, int wanted,
    cublasLtMatmulHeuristicResult_t results[], int *count) {
  expectAlive(handle, "a handle of cublasLt");
  forbidInCapture("cublasLtMatmulAlgoGetHeuristic");
  *count = 0;
  const Product product = {get(operation), get(a), get(b), get(c), get(d)};
  note("cublasLtMatmulAlgoGetHeuristic(epilogue=%d, wanted=%d)",
       product.operation.epilogue, wanted);
  checkShapes(product);
  if (isPlain(product) && isSet("FAKE_CUBLAS_REFUSES", "heuristic"))
    return CUBLAS_STATUS_NOT_SUPPORTED;
  if (isPlain(product) && isSet("FAKE_CUBLAS_REFUSES", "value"))
    return CUBLAS_STATUS_INVALID_VALUE;
  if (cublasStatus_t refusal = refuse(product))
    return refusal;
  const Preference &known = get(preference);
  Choice choice = {Choice::expectedMagic,
                   identify(product),
                   std::min<uint64_t>(known.workspaceBytes, 1 << 20),
                   {}};
  std::copy(std::begin(known.alignments), std::end(known.alignments),
            choice.alignments);
  results[0] = {};
  std::memcpy(&results[0].algo, &choice, sizeof(choice));
  results[0].workspaceSize = choice.workspaceBytes;
  results[0].state = CUBLAS_STATUS_SUCCESS;
  *count = 1;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation,
               const void *alpha, const void *a, cublasLtMatrixLayout_t layoutA,
               const void *b, cublasLtMatrixLayout_t layoutB, const void *beta,
               const void *c, cublasLtMatrixLayout_t layoutC, void *d,
               cublasLtMatrixLayout_t layoutD,
               const cublasLtMatmulAlgo_t *algorithm, void *workspace,
               size_t workspaceBytes, cudaStream_t stream) {
  expectAlive(handle, "a handle of cublasLt");
  const Product product = {get(operation), get(layoutA), get(layoutB),
                           get(layoutC), get(layoutD)};
  note("cublasLtMatmul(m=%llu, n=%llu, epilogue=%d, A=%p, B=%p, D=%p)",
       static_cast<unsigned long long>(product.d.rows),
       static_cast<unsigned long long>(product.d.columns),
       product.operation.epilogue, a, b, d);
  checkShapes(product);
  Choice choice;
  std::memcpy(&choice, algorithm, sizeof(choice));
  if (choice.magic != Choice::expectedMagic ||
      choice.problem != identify(product))
    violate("a product is computed by an algorithm that was chosen for "
            "another one");
  if (isPlain(product) && isSet("FAKE_CUBLAS_REFUSES", "call"))
    return CUBLAS_STATUS_NOT_SUPPORTED;
  if (workspaceBytes < choice.workspaceBytes || alignmentOf(workspace) < 256)
    violate("a workspace that is too small, or not aligned to 256 bytes");
  resolveDevice(workspace, workspaceBytes, self().gpu);
  float one = 0, previous = 0;
  std::memcpy(&one, alpha, sizeof(one));
  std::memcpy(&previous, beta, sizeof(previous));
  if (one != 1 || (previous != 0 && (previous != 1 || !isPlain(product))))
    violate("factors of a product that the fake does not know");
  if (c != d)
    violate("a product that adds to one matrix and writes another");
  const Addresses at = {a, b, c, d};
  checkPointers(product, choice, at);
  useFirst(reinterpret_cast<const void *>(choice.problem), 0,
           "an algorithm of cublasLt");
  Parts parts = {{Activity::Kernel, "fake_gemm_128x64", 30000},
                 {Activity::Kernel, "fake_gemm_sum_parts", 10000}};
  if (!isPlain(product))
    parts = {{Activity::Kernel, "fake_gemm_with_epilogue", 45000}};
  enqueueCall(
      stream,
      [=, gpu = self().gpu] { runProduct(product, at, previous != 0, gpu); },
      parts);
  return CUBLAS_STATUS_SUCCESS;
}
}
