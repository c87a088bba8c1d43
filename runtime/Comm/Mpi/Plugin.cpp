//===- Plugin.cpp - libmeshc_mpi.so ---------------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Comm/MpiPlugin.h"

#include <climits>
#include <cstring>
#include <mpi.h>

namespace {

constexpr int messageTag = 1;
MPI_Comm world = MPI_COMM_NULL;

MPI_Request asRequest(uint64_t stored) {
  MPI_Request request;
  static_assert(sizeof(request) <= sizeof(stored));
  std::memcpy(&request, &stored, sizeof(request));
  return request;
}

void storeRequest(MPI_Request request, uint64_t *stored) {
  *stored = 0;
  std::memcpy(stored, &request, sizeof(request));
}

/// Errors come back to the caller, who has a message for them.
int start() {
  int granted = 0;
  int error = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &granted);
  if (!error)
    error = MPI_Comm_dup(MPI_COMM_WORLD, &world);
  if (!error)
    error = MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
  return error;
}

int rank() {
  int number = -1;
  MPI_Comm_rank(world, &number);
  return number;
}

int size() {
  int count = 0;
  MPI_Comm_size(world, &count);
  return count;
}

int allGather(const void *own, size_t bytes, void *all) {
  if (bytes > INT_MAX)
    return MPI_ERR_COUNT;
  int count = static_cast<int>(bytes);
  return MPI_Allgather(own, count, MPI_BYTE, all, count, MPI_BYTE, world);
}

int send(const void *data, size_t bytes, int to, uint64_t *stored) {
  if (bytes > INT_MAX)
    return MPI_ERR_COUNT;
  MPI_Request request = MPI_REQUEST_NULL;
  int error = MPI_Isend(data, static_cast<int>(bytes), MPI_BYTE, to, messageTag,
                        world, &request);
  storeRequest(request, stored);
  return error;
}

int receive(void *data, size_t bytes, int from, uint64_t *stored) {
  if (bytes > INT_MAX)
    return MPI_ERR_COUNT;
  MPI_Request request = MPI_REQUEST_NULL;
  int error = MPI_Irecv(data, static_cast<int>(bytes), MPI_BYTE, from,
                        messageTag, world, &request);
  storeRequest(request, stored);
  return error;
}

int test(uint64_t *stored, int *done, size_t *bytes) {
  MPI_Request request = asRequest(*stored);
  MPI_Status status;
  int error = MPI_Test(&request, done, &status);
  storeRequest(request, stored);
  if (!error && *done && bytes) {
    int count = 0;
    error = MPI_Get_count(&status, MPI_BYTE, &count);
    *bytes = static_cast<size_t>(count);
  }
  return error;
}

int finish() {
  MPI_Comm_free(&world);
  return MPI_Finalize();
}

void abortAll(int exitCode) { MPI_Abort(MPI_COMM_WORLD, exitCode); }

const char *describe(int error) {
  static char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  if (MPI_Error_string(error, text, &length) != MPI_SUCCESS)
    return "unknown error of MPI";
  return text;
}

} // namespace

extern "C" const MeshcMpi *meshc_mpi_plugin(void) {
  static const MeshcMpi table{MESHC_MPI_PLUGIN_VERSION,
                              start,
                              rank,
                              size,
                              allGather,
                              send,
                              receive,
                              test,
                              finish,
                              abortAll,
                              describe};
  return &table;
}
