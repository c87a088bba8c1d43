//===- nccl.h - NCCL, as far as the plugin calls it -----------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// In place of NVIDIA's header; cuda_runtime_api.h beside it says when.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_TEST_RUNTIME_DEVICE_LIBRARIES_HEADERS_NCCL_H
#define MESHC_TEST_RUNTIME_DEVICE_LIBRARIES_HEADERS_NCCL_H

#include <cuda_runtime_api.h>

#define NCCL_VERSION_CODE 22809

typedef struct ncclComm *ncclComm_t;
struct ncclUniqueId {
  char internal[128];
};
struct ncclConfig_t {
  int blocking;
};
#define NCCL_CONFIG_INITIALIZER {1}

enum ncclResult_t {
  ncclSuccess,
  ncclUnhandledCudaError,
  ncclInvalidArgument,
  ncclRemoteError,
  ncclInProgress
};
enum ncclDataType_t {
  ncclUint8,
  ncclInt32,
  ncclFloat16,
  ncclFloat32,
  ncclBfloat16
};
enum ncclRedOp_t { ncclSum, ncclProd, ncclMax, ncclMin };

extern "C" {
ncclResult_t ncclGetVersion(int *version);
ncclResult_t ncclGetUniqueId(ncclUniqueId *id);
const char *ncclGetErrorString(ncclResult_t result);
const char *ncclGetLastError(ncclComm_t comm);
ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int size, ncclUniqueId id,
                                    int rank, ncclConfig_t *config);
ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key,
                           ncclComm_t *part, ncclConfig_t *config);
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *state);
ncclResult_t ncclCommFinalize(ncclComm_t comm);
ncclResult_t ncclCommDestroy(ncclComm_t comm);
ncclResult_t ncclCommAbort(ncclComm_t comm);
ncclResult_t ncclMemAlloc(void **memory, size_t bytes);
ncclResult_t ncclMemFree(void *memory);
ncclResult_t ncclCommRegister(const ncclComm_t comm, void *memory, size_t bytes,
                              void **handle);
ncclResult_t ncclCommDeregister(const ncclComm_t comm, void *handle);
ncclResult_t ncclGroupStart(void);
ncclResult_t ncclGroupEnd(void);
ncclResult_t ncclAllReduce(const void *send, void *receive, size_t count,
                           ncclDataType_t type, ncclRedOp_t reduction,
                           ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclReduceScatter(const void *send, void *receive, size_t count,
                               ncclDataType_t type, ncclRedOp_t reduction,
                               ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclAllGather(const void *send, void *receive, size_t count,
                           ncclDataType_t type, ncclComm_t comm,
                           cudaStream_t stream);
ncclResult_t ncclSend(const void *data, size_t count, ncclDataType_t type,
                      int peer, ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclRecv(void *data, size_t count, ncclDataType_t type, int peer,
                      ncclComm_t comm, cudaStream_t stream);
}

#endif // MESHC_TEST_RUNTIME_DEVICE_LIBRARIES_HEADERS_NCCL_H
