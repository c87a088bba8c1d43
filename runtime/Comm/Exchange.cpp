//===- Exchange.cpp - the messages of one collective ----------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Comm/Exchange.h"

#include <cstring>

using namespace meshc::runtime;

static_assert(sizeof(MessageHeader) == 24, "headers are compared as bytes");
static_assert(sizeof(MessageHeader) <= Exchange::headerBytes);

size_t Exchange::capacity(size_t parts) const {
  constexpr size_t unit = Transport::slotAlignment;
  return transport.slotBytes() / parts / unit * unit - headerBytes;
}

/// A part's header is the same for every rank that receives the part. By the
/// time a recipient reads it, it has been written in full, and later writes
/// would store equal bytes, so they are skipped.
void Exchange::post(int rank, size_t part, size_t capacity, size_t bytes) {
  size_t offset = part * stride(capacity);
  if (std::memcmp(slot + offset, &header, sizeof(header)) != 0)
    std::memcpy(slot + offset, &header, sizeof(header));
  transport.post(rank, offset, headerBytes + bytes);
}

const char *Exchange::await(int rank, size_t bytes) {
  Message message = transport.await(rank);
  MessageHeader got;
  std::memcpy(&got, message.data, sizeof(got));
  if (std::memcmp(&got, &header, sizeof(got)) != 0 ||
      message.bytes != headerBytes + bytes)
    throw WrongCollective(rank, got);
  return message.data + headerBytes;
}
