//===- Matmul.cpp - matrix products by cublasLt ---------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Device/Cuda/Epilogue.h"
#include "runtime/Device/Cuda/Gpu.h"

#include <algorithm>
#include <cstdint>

using namespace meshc::cuda;

/// Null, or cublasLt's error.
static const char *report(cublasStatus_t status) {
  if (status == CUBLAS_STATUS_SUCCESS)
    return nullptr;
  return say(std::string("cublasLt: ") + cublasLtGetStatusString(status));
}

/// cublasLt reports combinations that it does not support in either way.
static bool isRefusal(cublasStatus_t status) {
  return status == CUBLAS_STATUS_NOT_SUPPORTED ||
         status == CUBLAS_STATUS_INVALID_VALUE;
}

static cudaDataType_t dataType(uint8_t type) {
  return type == MESHC_BF16  ? CUDA_R_16BF
         : type == MESHC_F16 ? CUDA_R_16F
                             : CUDA_R_32F;
}

/// The largest power of two, up to 256, that divides an address and the bytes
/// between its batch entries.
static uint32_t alignmentOf(const void *pointer, int64_t strideBytes) {
  uint64_t bits =
      reinterpret_cast<uintptr_t>(pointer) | static_cast<uint64_t>(strideBytes);
  uint32_t alignment = 1;
  while (alignment < 256 && bits % (alignment * 2) == 0)
    alignment *= 2;
  return alignment;
}

static int64_t bytesOf(uint8_t type) { return type == MESHC_F32 ? 4 : 2; }

namespace {
/// A row-major matrix in memory.
struct Stored {
  uint8_t type;
  int64_t rows, columns, stride; ///< elements from row to row
  int64_t batch, batchStride;
};
} // namespace

/// cublasLt counts columns where we count rows: our matrix is its transpose.
static const char *makeLayout(cublasLtMatrixLayout_t &layout,
                              const Stored &stored) {
  // With a single row the stride has no effect, but must be valid.
  int64_t stride = stored.rows == 1 ? std::max(stored.stride, stored.columns)
                                    : stored.stride;
  if (const char *error = report(cublasLtMatrixLayoutCreate(
          &layout, dataType(stored.type), static_cast<uint64_t>(stored.columns),
          static_cast<uint64_t>(stored.rows), stride)))
    return error;
  auto batch = static_cast<int32_t>(stored.batch);
  if (const char *error = report(cublasLtMatrixLayoutSetAttribute(
          layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch, sizeof(batch))))
    return error;
  return report(cublasLtMatrixLayoutSetAttribute(
      layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stored.batchStride,
      sizeof(stored.batchStride)));
}

/// C^T = B^T · A^T: cublasLt's first factor is B.
static const char *describe(MatmulPlan &plan, const MeshcGemm &gemm,
                            MeshcCudaRounding rounding) {
  cublasComputeType_t compute =
      gemm.type != MESHC_F32           ? CUBLAS_COMPUTE_32F
      : rounding == MESHC_CUDA_TO_TF32 ? CUBLAS_COMPUTE_32F_FAST_TF32
      : rounding == MESHC_CUDA_TO_BF16 ? CUBLAS_COMPUTE_32F_FAST_16BF
                                       : CUBLAS_COMPUTE_32F;
  if (const char *error = report(
          cublasLtMatmulDescCreate(&plan.operation, compute, CUDA_R_32F)))
    return error;
  cublasOperation_t first = gemm.transB ? CUBLAS_OP_T : CUBLAS_OP_N;
  cublasOperation_t second = gemm.transA ? CUBLAS_OP_T : CUBLAS_OP_N;
  if (const char *error = report(cublasLtMatmulDescSetAttribute(
          plan.operation, CUBLASLT_MATMUL_DESC_TRANSA, &first, sizeof(first))))
    return error;
  if (const char *error = report(cublasLtMatmulDescSetAttribute(
          plan.operation, CUBLASLT_MATMUL_DESC_TRANSB, &second,
          sizeof(second))))
    return error;
  Stored a = {gemm.type,
              gemm.transA ? gemm.k : gemm.m,
              gemm.transA ? gemm.m : gemm.k,
              gemm.lda,
              gemm.batch,
              gemm.strideA};
  Stored b = {gemm.type,
              gemm.transB ? gemm.n : gemm.k,
              gemm.transB ? gemm.k : gemm.n,
              gemm.ldb,
              gemm.batch,
              gemm.strideB};
  Stored c = {gemm.typeC, gemm.m, gemm.n, gemm.ldc, gemm.batch, gemm.strideC};
  if (const char *error = makeLayout(plan.a, b))
    return error;
  if (const char *error = makeLayout(plan.b, a))
    return error;
  return makeLayout(plan.c, c);
}

static void dropPlan(MatmulPlan &plan) {
  for (cublasLtMatrixLayout_t layout : {plan.a, plan.b, plan.c})
    if (layout)
      cublasLtMatrixLayoutDestroy(layout);
  if (plan.operation)
    cublasLtMatmulDescDestroy(plan.operation);
}

/// Also before each call: plans depend on shapes, not on addresses.
static const char *setEpilogue(MatmulPlan &plan, const Epilogue &epilogue) {
  if (epilogue.mode == CUBLASLT_EPILOGUE_DEFAULT)
    return nullptr;
  cublasStatus_t status = cublasLtMatmulDescSetAttribute(
      plan.operation, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue.mode,
      sizeof(epilogue.mode));
  if (status == CUBLAS_STATUS_SUCCESS && epilogue.bias)
    status = cublasLtMatmulDescSetAttribute(
        plan.operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &epilogue.bias,
        sizeof(epilogue.bias));
  if (status == CUBLAS_STATUS_SUCCESS && epilogue.auxiliary)
    status = cublasLtMatmulDescSetAttribute(
        plan.operation, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER,
        &epilogue.auxiliary, sizeof(epilogue.auxiliary));
  if (status == CUBLAS_STATUS_SUCCESS && epilogue.auxiliary)
    status = cublasLtMatmulDescSetAttribute(
        plan.operation, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD,
        &epilogue.auxiliaryStride, sizeof(epilogue.auxiliaryStride));
  return report(status);
}

//===----------------------------------------------------------------------===//
// Algorithms
//===----------------------------------------------------------------------===//

/// The key by which an algorithm is chosen.
static const char *makePreference(cublasLtMatmulPreference_t &preference,
                                  MeshcCudaRank *rank, uint8_t typeC,
                                  const uint32_t alignments[3]) {
  if (const char *error = report(cublasLtMatmulPreferenceCreate(&preference)))
    return error;
  auto set = [&](cublasLtMatmulPreferenceAttributes_t name, const auto &value) {
    return report(cublasLtMatmulPreferenceSetAttribute(preference, name, &value,
                                                       sizeof(value)));
  };
  // If k is split, the parts are added in f32.
  const uint32_t reductions = typeC == MESHC_F32
                                  ? CUBLASLT_REDUCTION_SCHEME_MASK
                                  : CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
  const char *error =
      set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, rank->workspaceBytes);
  if (!error)
    error = set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignments[0]);
  if (!error)
    error = set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignments[1]);
  if (!error)
    error = set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignments[2]);
  if (!error)
    error = set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignments[2]);
  if (!error)
    error = set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, reductions);
  return error;
}

/// The heuristic's first choice: a function of the shape and the library alone,
/// so that all ranks, and a resumed run, compute the same bits. A product
/// counts as unsupported only if cublasLt refuses it.
static const char *choose(MeshcCudaRank *rank, MatmulPlan &plan,
                          const MeshcGemm &gemm, const uint32_t alignments[3]) {
  cublasLtMatmulPreference_t preference = nullptr;
  const char *error = makePreference(preference, rank, gemm.typeC, alignments);
  if (!error) {
    cublasLtMatmulHeuristicResult_t result = {};
    int found = 0;
    cublasStatus_t answer = cublasLtMatmulAlgoGetHeuristic(
        rank->cublas, plan.operation, plan.a, plan.b, plan.c, plan.c,
        preference, 1, &result, &found);
    plan.known = answer == CUBLAS_STATUS_SUCCESS && found > 0 &&
                 result.state == CUBLAS_STATUS_SUCCESS;
    plan.algorithm = result.algo;
    if (!isRefusal(answer))
      error = report(answer);
  }
  if (preference)
    cublasLtMatmulPreferenceDestroy(preference);
  return error;
}

static const char *findPlan(MeshcCudaRank *rank, const MeshcGemm &gemm,
                            const Epilogue &epilogue,
                            MeshcCudaRounding rounding,
                            const uint32_t alignments[3], MatmulPlan *&plan) {
  std::vector<int64_t> key = {gemm.m,
                              gemm.n,
                              gemm.k,
                              gemm.lda,
                              gemm.ldb,
                              gemm.ldc,
                              gemm.batch,
                              gemm.strideA,
                              gemm.strideB,
                              gemm.strideC,
                              gemm.type,
                              gemm.typeC,
                              gemm.transA,
                              gemm.transB,
                              rounding,
                              alignments[0],
                              alignments[1],
                              alignments[2],
                              epilogue.mode,
                              alignmentOf(epilogue.bias, 0),
                              alignmentOf(epilogue.auxiliary, 0)};
  auto [found, isNew] = rank->plans.try_emplace(key);
  plan = &found->second;
  if (!isNew)
    return nullptr;
  const char *error = describe(*plan, gemm, rounding);
  if (!error)
    error = setEpilogue(*plan, epilogue);
  if (!error)
    error = choose(rank, *plan, gemm, alignments);
  if (error) {
    dropPlan(*plan);
    rank->plans.erase(found);
  }
  return error;
}

//===----------------------------------------------------------------------===//
// The implementations of meshc/Products.def
//===----------------------------------------------------------------------===//

namespace {
/// A product to be computed.
struct Call {
  const MeshcGemm &gemm;
  const MeshcCudaEpilogue *epilogue; ///< or null
  MeshcCudaRounding rounding;
  const void *a, *b;
  void *c;
};
} // namespace

/// Nothing is done (`way` stays NOBODY) for an empty sum, or if cublasLt
/// refuses the product.
static const char *cublasLtProduct(MeshcCudaRank *rank, const Call &call,
                                   MeshcCudaWay *way) {
  const MeshcGemm &gemm = call.gemm;
  Epilogue epilogue = translate(call.epilogue, gemm, call.rounding);
  if (gemm.k == 0 || !epilogue.isPossible)
    return nullptr;
  void *d = epilogue.keepsProduct ? call.c : call.epilogue->result;
  const uint32_t alignments[3] = {
      alignmentOf(call.b, gemm.strideB * bytesOf(gemm.type)),
      alignmentOf(call.a, gemm.strideA * bytesOf(gemm.type)),
      alignmentOf(d, gemm.strideC * bytesOf(gemm.typeC))};
  MatmulPlan *plan = nullptr;
  if (const char *error =
          findPlan(rank, gemm, epilogue, call.rounding, alignments, plan))
    return error;
  if (!plan->known)
    return nullptr;
  if (const char *error = setEpilogue(*plan, epilogue))
    return error;
  const float one = 1, previous = gemm.accumulate ? 1.0f : 0.0f;
  cublasStatus_t status = cublasLtMatmul(
      rank->cublas, plan->operation, &one, call.b, plan->a, call.a, plan->b,
      &previous, d, plan->c, d, plan->c, &plan->algorithm, rank->workspace,
      rank->workspaceBytes, rank->streams[MESHC_CUDA_COMPUTE]);
  if (isRefusal(status)) { // the call checks more than the heuristic
    plan->known = false;
    return nullptr;
  }
  *way = MESHC_CUDA_CUBLAS;
  return report(status);
}

static const char *ownKernelProduct(MeshcCudaRank *rank, const Call &call,
                                    MeshcCudaWay *way) {
  *way = MESHC_CUDA_OWN_KERNEL;
  const void *a = call.a, *b = call.b;
  void *c = call.c;
  void *parameters[] = {const_cast<MeshcGemm *>(&call.gemm), &a, &b, &c};
  return launchOwn(rank, MESHC_CUDA_COMPUTE, "multiply",
                   call.gemm.batch * call.gemm.m * call.gemm.n, parameters);
}

const char *meshc::cuda::multiply(MeshcCudaRank *rank, const MeshcGemm *product,
                                  const MeshcCudaEpilogue *known,
                                  MeshcCudaRounding rounding, const void *a,
                                  const void *b, void *c, MeshcCudaWay *way) {
  *way = MESHC_CUDA_NOBODY;
  const Call call = {*product, known, rounding, a, b, c};
  const bool hasEpilogue = known != nullptr;
  const char *error = nullptr;
#define MESHC_CUDA_PRODUCT(symbol, name, accepts)                              \
  if (!error && *way == MESHC_CUDA_NOBODY && (accepts))                        \
    error = symbol##Product(rank, call, way);
#include "meshc/Products.def"
  return error;
}

void meshc::cuda::dropPlans(MeshcCudaRank *rank) {
  for (auto &entry : rank->plans)
    dropPlan(entry.second);
  rank->plans.clear();
}
