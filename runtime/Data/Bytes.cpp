//===- Bytes.cpp - the bytes of a data file -------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Data/Bytes.h"

#include "runtime/Base/AvailableMemory.h"
#include "runtime/Base/Counted.h"
#include "runtime/Base/Failure.h"
#include "runtime/Base/ProcessMemory.h"
#include "runtime/Comm/Pulse.h"

#include <algorithm>
#include <new>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

using namespace meshc::runtime;

Bytes::Bytes(const std::string &path)
    : name(path),
      file(std::make_unique<MappedFile>(path, ExitCode::Data, "data file")) {
  begin = file->data();
  length = file->size();
}

std::shared_ptr<const Bytes> Bytes::open(const std::string &path) {
  std::shared_ptr<Bytes> bytes(new Bytes(path));
  if (bytes->length >= 2 && bytes->begin[0] == 0x1f && bytes->begin[1] == 0x8b)
    bytes->unpack();
  return bytes;
}

/// Bytes of content of a gzip file. Its last four bytes hold the size of its
/// last member: only a hint, bounded by deflate's largest ratio.
static uint64_t estimateContent(const uint8_t *begin, size_t length) {
  uint64_t hint = 0;
  if (length >= 18)
    for (int i = 0; i < 4; ++i)
      hint |= uint64_t(begin[length - 4 + i]) << (8 * i);
  return std::min<uint64_t>(hint, uint64_t(length) * 1032);
}

/// A system that is out of memory would kill the process without a message.
static bool hasRoom(uint64_t size) {
  return size <= static_cast<uint64_t>(availableMemory().bytes);
}

/// There is no memory for the content, which has more than `size` bytes.
static Failure contentFailure(const std::string &name, size_t length,
                              size_t size) {
  return Failure(ExitCode::Internal,
                 "data file '" + name + "': its gzip stream of " +
                     std::to_string(length) + " bytes unpacks to more than " +
                     std::to_string(size) +
                     " bytes, and there is no memory for them; unpack it on "
                     "disk (gunzip): a plain file is not held in memory");
}

namespace {
/// zlib's state for reading a gzip file.
struct Inflation : z_stream {
  Inflation() : z_stream() {
    if (inflateInit2(this, 15 + 16) != Z_OK)
      throw Failure(ExitCode::Internal, "zlib cannot be initialized");
  }
  ~Inflation() { inflateEnd(this); }
};

/// What follows the end of a gzip stream.
enum class Behind { Nothing, Stream, Other };

/// What the `size` bytes behind the end of a gzip stream are (RFC 1952, 2.2:
/// a file is a series of streams). Zeros are nothing: tapes are padded so.
Behind lookBehind(const uint8_t *bytes, size_t size) {
  if (std::all_of(bytes, bytes + size, [](uint8_t byte) { return byte == 0; }))
    return Behind::Nothing;
  bool begins = size >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b;
  return begins ? Behind::Stream : Behind::Other;
}
} // namespace

void Bytes::unpack() {
  uint64_t hint = estimateContent(begin, length);
  std::vector<uint8_t> out;
  auto grow = [&](uint64_t size) {
    try {
      if (!hasRoom(size))
        throw std::bad_alloc();
      out.resize(size);
    } catch (const std::bad_alloc &) {
      throw contentFailure(name, length, out.size());
    }
  };
  grow(hint >= 4096 && hasRoom(hint) ? hint : 4096);

  Inflation stream;
  auto fail = [&](const std::string &what) {
    file->checkIntact(); // rather than what its missing end looks like
    throw Failure(ExitCode::Data,
                  "data file '" + name + "' is " + what + "; fetch it again");
  };

  constexpr size_t chunk = size_t(1) << 30; // zlib counts in 32 bits
  size_t read = 0, written = 0;
  for (;;) {
    if (written == out.size())
      grow(out.size() + out.size() / 2);
    size_t input = std::min(chunk, length - read);
    size_t room = std::min(chunk, out.size() - written);
    stream.next_in = const_cast<Bytef *>(begin + read);
    stream.avail_in = static_cast<uInt>(input);
    stream.next_out = out.data() + written;
    stream.avail_out = static_cast<uInt>(room);
    int status = inflate(&stream, Z_NO_FLUSH);
    noteProgress();
    read += input - stream.avail_in;
    written += room - stream.avail_out;
    if (status == Z_STREAM_END) {
      Behind behind = lookBehind(begin + read, length - read);
      if (behind == Behind::Nothing)
        break;
      if (behind == Behind::Other)
        fail("a gzip stream with " +
             counted(static_cast<int64_t>(length - read), "byte") +
             " behind it that are none");
      inflateReset(&stream);
    } else if (status != Z_OK && status != Z_BUF_ERROR) {
      fail(std::string("a corrupt gzip stream (") +
           (stream.msg ? stream.msg : "zlib error") + ")");
    } else if (read == length && stream.avail_out != 0) {
      fail("a gzip stream that ends early, after " +
           counted(static_cast<int64_t>(written), "byte") + " of content");
    }
  }
  file->checkIntact();
  file.reset();
  out.resize(written);
  out.shrink_to_fit();
  unpacked = std::move(out);
  begin = unpacked.data();
  length = written;
}

void Bytes::willRead(const uint8_t *first, size_t count) const {
  if (!file)
    return;
  static const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const uintptr_t at = reinterpret_cast<uintptr_t>(first) / page * page;
  // Only advice: if the system does not take it, the read waits for the disk.
  madvise(reinterpret_cast<void *>(at),
          reinterpret_cast<uintptr_t>(first) + count - at, MADV_WILLNEED);
}

int64_t Bytes::residentBytes() const {
  auto bytes = static_cast<int64_t>(length);
  return file ? residentMemory(begin, bytes) : bytes;
}
