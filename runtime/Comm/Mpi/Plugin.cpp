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
#include <mutex>

namespace {

constexpr int messageTag = 1;
/// A communicator for each channel.
constexpr int channelCount = 2;
MPI_Comm channels[channelCount] = {MPI_COMM_NULL, MPI_COMM_NULL};
MPI_Comm &world = channels[0];

/// MPI is called by one thread at a time.
std::mutex oneCall;
using Turn = std::lock_guard<std::mutex>;

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

/// Errors are returned to the caller, which has a message for them.
int start() {
  int granted = 0;
  int error =
      MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &granted);
  if (!error && granted < MPI_THREAD_SERIALIZED)
    error = MPI_ERR_UNSUPPORTED_OPERATION;
  for (MPI_Comm &channel : channels) {
    if (!error)
      error = MPI_Comm_dup(MPI_COMM_WORLD, &channel);
    if (!error)
      error = MPI_Comm_set_errhandler(channel, MPI_ERRORS_RETURN);
  }
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

int send(const void *data, size_t bytes, int to, int channel,
         uint64_t *stored) {
  if (bytes > INT_MAX)
    return MPI_ERR_COUNT;
  Turn turn(oneCall);
  MPI_Request request = MPI_REQUEST_NULL;
  int error = MPI_Isend(data, static_cast<int>(bytes), MPI_BYTE, to, messageTag,
                        channels[channel], &request);
  storeRequest(request, stored);
  return error;
}

int receive(void *data, size_t bytes, int from, int channel, uint64_t *stored) {
  if (bytes > INT_MAX)
    return MPI_ERR_COUNT;
  Turn turn(oneCall);
  MPI_Request request = MPI_REQUEST_NULL;
  int error = MPI_Irecv(data, static_cast<int>(bytes), MPI_BYTE, from,
                        messageTag, channels[channel], &request);
  storeRequest(request, stored);
  return error;
}

int probe(int channel, int *from) {
  Turn turn(oneCall);
  int there = 0;
  MPI_Status status;
  int error = MPI_Iprobe(MPI_ANY_SOURCE, messageTag, channels[channel], &there,
                         &status);
  *from = !error && there ? status.MPI_SOURCE : -1;
  return error;
}

int test(uint64_t *stored, int *done, size_t *bytes) {
  Turn turn(oneCall);
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
  for (MPI_Comm &channel : channels)
    MPI_Comm_free(&channel);
  return MPI_Finalize();
}

void abortAll(int exitCode) { MPI_Abort(MPI_COMM_WORLD, exitCode); }

const char *describe(int error) {
  static thread_local char text[MPI_MAX_ERROR_STRING];
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
                              probe,
                              test,
                              finish,
                              abortAll,
                              describe};
  return &table;
}
