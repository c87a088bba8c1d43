//===- Matmul.cpp - matrix products by oneDNN's matmul primitive ----------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Base/Parallel.h"
#include "runtime/Blas/Gemm.h"

#include <cstring>
#include <dnnl.hpp>
#include <string_view>
#include <unordered_map>

using namespace meshc::runtime;

namespace {

using DataType = dnnl::memory::data_type;

struct ShapeHash {
  size_t operator()(const MeshcGemm &gemm) const {
    size_t hash = 0;
    for (int64_t value :
         {gemm.m, gemm.n, gemm.k, gemm.lda, gemm.ldb, gemm.ldc, gemm.batch,
          int64_t(gemm.type << 4 | gemm.transA << 2 | gemm.transB << 1 |
                  gemm.accumulate)})
      hash = (hash ^ static_cast<size_t>(value)) * 0x9e3779b97f4a7c15u >> 1;
    return hash;
  }
};

struct ShapeEqual {
  bool operator()(const MeshcGemm &x, const MeshcGemm &y) const {
    return x.m == y.m && x.n == y.n && x.k == y.k && x.lda == y.lda &&
           x.ldb == y.ldb && x.ldc == y.ldc && x.batch == y.batch &&
           x.strideA == y.strideA && x.strideB == y.strideB &&
           x.strideC == y.strideC && x.type == y.type && x.typeC == y.typeC &&
           x.transA == y.transA && x.transB == y.transB &&
           x.accumulate == y.accumulate;
  }
};

/// A primitive created for one shape, and its arguments.
struct Compiled {
  bool usable = false;
  int64_t scratchBytes = 0;
  dnnl::matmul primitive;
  dnnl::memory a, b, c, scratch;
  std::unordered_map<int, dnnl::memory> arguments;
};

/// One rank's state: ranks are threads, and primitives are created for the
/// number of threads that their rank had.
struct Cache {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  std::unordered_map<MeshcGemm, Compiled, ShapeHash, ShapeEqual> shapes;

  Compiled &find(const MeshcGemm &gemm);
};

DataType dataType(uint8_t type) {
  return type == MESHC_F32    ? DataType::f32
         : type == MESHC_BF16 ? DataType::bf16
                              : DataType::f16;
}

/// The descriptor of a row-major matrix of `rows` × `columns`, or of a stored
/// transposed one, with the batch dim that oneDNN requires.
dnnl::memory::desc describe(int64_t batch, int64_t batchStride, int64_t rows,
                            int64_t columns, int64_t leading, bool transposed,
                            uint8_t type) {
  dnnl::memory::dims strides{leading, 1};
  if (transposed)
    std::swap(strides[0], strides[1]);
  dnnl::memory::dims dims{rows, columns};
  if (batch > 1) {
    dims.insert(dims.begin(), batch);
    strides.insert(strides.begin(), batchStride);
  }
  return dnnl::memory::desc(dims, dataType(type), strides);
}

void compile(const MeshcGemm &gemm, Cache &cache, Compiled &result) try {
  auto a = describe(gemm.batch, gemm.strideA, gemm.m, gemm.k, gemm.lda,
                    gemm.transA, gemm.type);
  auto b = describe(gemm.batch, gemm.strideB, gemm.k, gemm.n, gemm.ldb,
                    gemm.transB, gemm.type);
  auto c = describe(gemm.batch, gemm.strideC, gemm.m, gemm.n, gemm.ldc, false,
                    gemm.typeC);
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (gemm.accumulate) {
    dnnl::post_ops operations;
    operations.append_sum(1.0f);
    attributes.set_post_ops(operations);
  }
  dnnl::matmul::primitive_desc chosen(dnnl::matmul::desc(a, b, c), attributes,
                                      cache.engine);
  // oneDNN's own reference is slower than the implementations after this one.
  if (std::string_view(chosen.impl_info_str()).find("ref") !=
      std::string_view::npos)
    return;
  result.primitive = dnnl::matmul(chosen);
  result.a = dnnl::memory(a, cache.engine, nullptr);
  result.b = dnnl::memory(b, cache.engine, nullptr);
  result.c = dnnl::memory(c, cache.engine, nullptr);
  dnnl::memory::desc scratch = chosen.scratchpad_desc();
  result.scratchBytes = static_cast<int64_t>(scratch.get_size());
  result.scratch = dnnl::memory(scratch, cache.engine, nullptr);
  result.arguments = {{DNNL_ARG_SRC, result.a},
                      {DNNL_ARG_WEIGHTS, result.b},
                      {DNNL_ARG_DST, result.c},
                      {DNNL_ARG_SCRATCHPAD, result.scratch}};
  result.usable = true;
} catch (const dnnl::error &) {
  // The CPU lacks the type, or oneDNN does not support the shape.
}

Compiled &Cache::find(const MeshcGemm &gemm) {
  auto [entry, isNew] = shapes.try_emplace(gemm);
  if (isNew)
    compile(gemm, *this, entry->second);
  return entry->second;
}

} // namespace

static bool runMatmul(const MeshcGemm &gemm, const void *a, const void *b,
                      void *c, const GemmScratch &scratch) {
  thread_local Cache cache;
  Compiled &compiled = cache.find(gemm);
  if (!compiled.usable || compiled.scratchBytes > scratch.bytes)
    return false;
  compiled.scratch.set_data_handle(scratch.data);
  compiled.a.set_data_handle(const_cast<void *>(a));
  compiled.b.set_data_handle(const_cast<void *>(b));
  compiled.c.set_data_handle(c);
  try {
    compiled.primitive.execute(cache.stream, compiled.arguments);
    cache.stream.wait();
  } catch (const dnnl::error &) {
    return false;
  }
  return true;
}

/// 16-bit products, if the CPU supports them. For f32, sgemm is as fast, and
/// makes nothing for each shape: the shapes of attention change with each token
/// that is generated.
static bool suitsMatmul(const MeshcGemm &gemm) {
  return gemm.type != MESHC_F32;
}

const GemmImplementation meshc::runtime::matmulImplementation = {suitsMatmul,
                                                                 runMatmul};
