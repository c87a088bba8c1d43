//===- OneDnn.cpp - opening oneDNN ----------------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Blas/OneDnn.h"

#include "runtime/Base/SystemLibrary.h"

using namespace meshc::runtime;

#define MESHC_TEXT_OF(VALUE) #VALUE
#define MESHC_TEXT(VALUE) MESHC_TEXT_OF(VALUE)

static const SystemLibrary &library() {
  // The number in the file's name is that of the interface in <dnnl.h>.
  static const SystemLibrary opened(
      "libdnnl.so." MESHC_TEXT(DNNL_VERSION_MAJOR),
      "libdnnl" MESHC_TEXT(DNNL_VERSION_MAJOR), "matrix products");
  return opened;
}

void meshc::runtime::openOneDnn() { library(); }

bool meshc::runtime::oneDnnUses(dnnl_cpu_isa_t instructions) {
  // The bits of an instruction set include those of the sets before it.
  auto used = static_cast<unsigned>(dnnl_get_effective_cpu_isa());
  auto wanted = static_cast<unsigned>(instructions);
  return (used & wanted) == wanted;
}

/// Defines a function of <dnnl.h> as a call of the library's.
#define MESHC_FORWARD(RESULT, NAME, PARAMETERS, ARGUMENTS)                     \
  RESULT NAME PARAMETERS {                                                     \
    static auto *const function = library().find<decltype(NAME)>(#NAME);       \
    return function ARGUMENTS;                                                 \
  }

MESHC_FORWARD(dnnl_status_t, dnnl_engine_create,
              (dnnl_engine_t * engine, dnnl_engine_kind_t kind, size_t index),
              (engine, kind, index))
MESHC_FORWARD(dnnl_status_t, dnnl_engine_destroy, (dnnl_engine_t engine),
              (engine))
MESHC_FORWARD(dnnl_cpu_isa_t, dnnl_get_effective_cpu_isa, (), ())
MESHC_FORWARD(const dnnl_version_t *, dnnl_version, (), ())
MESHC_FORWARD(dnnl_status_t, dnnl_matmul_desc_init,
              (dnnl_matmul_desc_t * matmulDesc,
               const dnnl_memory_desc_t *srcDesc,
               const dnnl_memory_desc_t *weightsDesc,
               const dnnl_memory_desc_t *biasDesc,
               const dnnl_memory_desc_t *dstDesc),
              (matmulDesc, srcDesc, weightsDesc, biasDesc, dstDesc))
MESHC_FORWARD(dnnl_status_t, dnnl_memory_create,
              (dnnl_memory_t * memory, const dnnl_memory_desc_t *memoryDesc,
               dnnl_engine_t engine, void *handle),
              (memory, memoryDesc, engine, handle))
MESHC_FORWARD(size_t, dnnl_memory_desc_get_size,
              (const dnnl_memory_desc_t *memoryDesc), (memoryDesc))
MESHC_FORWARD(dnnl_status_t, dnnl_memory_desc_init_by_strides,
              (dnnl_memory_desc_t * memoryDesc, int ndims,
               const dnnl_dims_t dims, dnnl_data_type_t dataType,
               const dnnl_dims_t strides),
              (memoryDesc, ndims, dims, dataType, strides))
MESHC_FORWARD(dnnl_status_t, dnnl_memory_destroy, (dnnl_memory_t memory),
              (memory))
MESHC_FORWARD(dnnl_status_t, dnnl_memory_set_data_handle_v2,
              (dnnl_memory_t memory, void *handle, dnnl_stream_t stream),
              (memory, handle, stream))
MESHC_FORWARD(dnnl_status_t, dnnl_post_ops_append_sum,
              (dnnl_post_ops_t postOps, float scale), (postOps, scale))
MESHC_FORWARD(dnnl_status_t, dnnl_post_ops_append_sum_v2,
              (dnnl_post_ops_t postOps, float scale, dnnl_data_type_t dataType),
              (postOps, scale, dataType))
MESHC_FORWARD(dnnl_status_t, dnnl_post_ops_create, (dnnl_post_ops_t * postOps),
              (postOps))
MESHC_FORWARD(dnnl_status_t, dnnl_post_ops_destroy, (dnnl_post_ops_t postOps),
              (postOps))
MESHC_FORWARD(dnnl_status_t, dnnl_primitive_attr_create,
              (dnnl_primitive_attr_t * attr), (attr))
MESHC_FORWARD(dnnl_status_t, dnnl_primitive_attr_destroy,
              (dnnl_primitive_attr_t attr), (attr))
MESHC_FORWARD(dnnl_status_t, dnnl_primitive_attr_set_post_ops,
              (dnnl_primitive_attr_t attr, const_dnnl_post_ops_t postOps),
              (attr, postOps))
MESHC_FORWARD(dnnl_status_t, dnnl_primitive_attr_set_scratchpad_mode,
              (dnnl_primitive_attr_t attr, dnnl_scratchpad_mode_t mode),
              (attr, mode))
MESHC_FORWARD(dnnl_status_t, dnnl_primitive_create,
              (dnnl_primitive_t * primitive,
               const_dnnl_primitive_desc_t primitiveDesc),
              (primitive, primitiveDesc))
MESHC_FORWARD(dnnl_status_t, dnnl_primitive_desc_destroy,
              (dnnl_primitive_desc_t primitiveDesc), (primitiveDesc))
MESHC_FORWARD(dnnl_status_t, dnnl_primitive_desc_iterator_create,
              (dnnl_primitive_desc_iterator_t * iterator,
               const_dnnl_op_desc_t opDesc, const_dnnl_primitive_attr_t attr,
               dnnl_engine_t engine,
               const_dnnl_primitive_desc_t hintForwardPrimitiveDesc),
              (iterator, opDesc, attr, engine, hintForwardPrimitiveDesc))
MESHC_FORWARD(dnnl_status_t, dnnl_primitive_desc_iterator_destroy,
              (dnnl_primitive_desc_iterator_t iterator), (iterator))
MESHC_FORWARD(dnnl_primitive_desc_t, dnnl_primitive_desc_iterator_fetch,
              (const_dnnl_primitive_desc_iterator_t iterator), (iterator))
MESHC_FORWARD(dnnl_status_t, dnnl_primitive_desc_query,
              (const_dnnl_primitive_desc_t primitiveDesc, dnnl_query_t what,
               int index, void *result),
              (primitiveDesc, what, index, result))
MESHC_FORWARD(const dnnl_memory_desc_t *, dnnl_primitive_desc_query_md,
              (const_dnnl_primitive_desc_t primitiveDesc, dnnl_query_t what,
               int index),
              (primitiveDesc, what, index))
MESHC_FORWARD(dnnl_status_t, dnnl_primitive_destroy,
              (dnnl_primitive_t primitive), (primitive))
MESHC_FORWARD(dnnl_status_t, dnnl_primitive_execute,
              (const_dnnl_primitive_t primitive, dnnl_stream_t stream,
               int nargs, const dnnl_exec_arg_t *args),
              (primitive, stream, nargs, args))
MESHC_FORWARD(dnnl_status_t, dnnl_sgemm,
              (char transa, char transb, dnnl_dim_t m, dnnl_dim_t n,
               dnnl_dim_t k, float alpha, const float *a, dnnl_dim_t lda,
               const float *b, dnnl_dim_t ldb, float beta, float *c,
               dnnl_dim_t ldc),
              (transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc))
MESHC_FORWARD(dnnl_status_t, dnnl_stream_create,
              (dnnl_stream_t * stream, dnnl_engine_t engine, unsigned flags),
              (stream, engine, flags))
MESHC_FORWARD(dnnl_status_t, dnnl_stream_destroy, (dnnl_stream_t stream),
              (stream))
MESHC_FORWARD(dnnl_status_t, dnnl_stream_wait, (dnnl_stream_t stream), (stream))
