//===- Array.cpp - n-D arrays in files: IDX and NPY -----------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Data/Array.h"

#include "runtime/Base/Counted.h"
#include "runtime/Base/Failure.h"
#include "runtime/Data/NpyHeader.h"

#include <cstdio>
#include <cstring>

using namespace meshc::runtime;

int64_t meshc::runtime::sizeOf(FileType type) {
  static const int64_t sizes[] = {1, 1, 1, 2, 2, 4, 8, 2, 4, 8};
  return sizes[static_cast<int>(type)];
}

const char *meshc::runtime::nameOf(FileType type) {
  static const char *const names[] = {"bool", "u8",  "i8",  "u16", "i16",
                                      "i32",  "i64", "f16", "f32", "f64"};
  return names[static_cast<int>(type)];
}

std::string Array::describe() const {
  std::string text;
  for (int64_t dim : dims)
    text += (text.empty() ? "" : "x") + std::to_string(dim);
  return text + " " + nameOf(type);
}

static Failure arrayFailure(const Bytes &bytes, const std::string &what) {
  return Failure(ExitCode::Data, "data file '" + bytes.path() + "' " + what);
}

static bool isNpy(const Bytes &bytes) {
  return bytes.size() >= 6 && std::memcmp(bytes.data(), "\x93NUMPY", 6) == 0;
}

/// IDX begins with two zero bytes, a type code of 8 to 14 and a rank.
static bool isIdx(const Bytes &bytes) {
  return bytes.size() >= 4 && bytes.data()[0] == 0 && bytes.data()[1] == 0 &&
         bytes.data()[2] >= 0x08 && bytes.data()[2] <= 0x0e &&
         bytes.data()[3] >= 1 && bytes.data()[3] <= 16;
}

bool meshc::runtime::looksLikeArray(const Bytes &bytes) {
  return isNpy(bytes) || isIdx(bytes);
}

/// Bytes of the elements; refuses sizes that exceed 63 bits.
static int64_t contentBytes(const Array &array) {
  int64_t bytes = sizeOf(array.type);
  for (int64_t dim : array.dims)
    if (dim < 0 || __builtin_mul_overflow(bytes, dim, &bytes))
      throw arrayFailure(*array.bytes, "has impossible dims in its header");
  return bytes;
}

static void checkLength(const Array &array) {
  int64_t wanted = contentBytes(array);
  int64_t got = static_cast<int64_t>(array.bytes->size() - array.offset);
  if (got < wanted)
    throw arrayFailure(*array.bytes,
                       "ends early: its header says " + array.describe() +
                           ", " + counted(wanted, "byte") + ", and " +
                           std::to_string(got) + " follow; fetch it again");
  if (got > wanted)
    throw arrayFailure(*array.bytes,
                       "has " + counted(got - wanted, "byte") +
                           " behind its content: its header says " +
                           array.describe() + ", " + counted(wanted, "byte") +
                           ", and " + std::to_string(got) +
                           " follow; fetch it again");
}

static Array readIdx(std::shared_ptr<const Bytes> bytes) {
  Array array;
  const uint8_t *data = bytes->data();
  switch (data[2]) {
  case 0x08:
    array.type = FileType::U8;
    break;
  case 0x09:
    array.type = FileType::I8;
    break;
  case 0x0b:
    array.type = FileType::I16;
    break;
  case 0x0c:
    array.type = FileType::I32;
    break;
  case 0x0d:
    array.type = FileType::F32;
    break;
  case 0x0e:
    array.type = FileType::F64;
    break;
  default:
    throw arrayFailure(*bytes, "is an IDX file of unknown element type " +
                                   std::to_string(data[2]));
  }
  unsigned rank = data[3];
  array.offset = 4 + size_t(4) * rank;
  if (bytes->size() < array.offset)
    throw arrayFailure(*bytes, "ends within its IDX header");
  for (unsigned i = 0; i < rank; ++i) {
    const uint8_t *at = data + 4 + size_t(4) * i;
    array.dims.push_back(int64_t(at[0]) << 24 | at[1] << 16 | at[2] << 8 |
                         at[3]);
  }
  array.bigEndian = true;
  array.bytes = std::move(bytes);
  return array;
}

static Array readNpy(std::shared_ptr<const Bytes> bytes) {
  Array array;
  array.bytes = bytes;
  const uint8_t *data = bytes->data();
  const int major = bytes->size() > 8 ? data[6] : 0;
  if (bytes->size() < 12)
    throw arrayFailure(*bytes, "ends within its NPY header");
  const int minor = data[7];
  if (major < 1 || major > 3 || minor != 0)
    throw arrayFailure(*bytes, "is an NPY file of version " +
                                   std::to_string(major) + "." +
                                   std::to_string(minor) +
                                   "; expected version 1.0, 2.0 or 3.0");
  size_t begin = major == 1 ? 10 : 12;
  size_t length = data[8] | data[9] << 8;
  if (major > 1)
    length |= size_t(data[10]) << 16 | size_t(data[11]) << 24;
  array.offset = begin + length;
  if (bytes->size() < array.offset)
    throw arrayFailure(*bytes, "ends within its NPY header");
  NpyHeader header;
  const std::string problem = parseNpyHeader(
      std::string(reinterpret_cast<const char *>(data) + begin, length),
      header);
  if (!problem.empty())
    throw arrayFailure(*bytes, problem);
  if (header.dims.empty())
    throw arrayFailure(*bytes,
                       "holds a single number; expected an array of examples");
  if (header.isFortran && header.dims.size() > 1)
    throw arrayFailure(*bytes, "is in Fortran order; write it in C order, as "
                               "numpy.ascontiguousarray makes it");
  array.type = header.type;
  array.bigEndian = header.bigEndian;
  array.dims = std::move(header.dims);
  return array;
}

Array meshc::runtime::readArray(std::shared_ptr<const Bytes> bytes) {
  if (bytes->size() == 0)
    throw arrayFailure(*bytes, "is empty");
  if (!looksLikeArray(*bytes)) {
    char first[16] = "";
    for (size_t i = 0; i < 4 && i < bytes->size(); ++i)
      std::snprintf(first + 3 * i, sizeof(first) - 3 * i, "%02x ",
                    bytes->data()[i]);
    throw arrayFailure(*bytes, "is neither IDX nor NPY: it begins with " +
                                   std::string(first) +
                                   "and IDX with 00 00, NPY with 93 4e 55 4d");
  }
  Array array =
      isNpy(*bytes) ? readNpy(std::move(bytes)) : readIdx(std::move(bytes));
  checkLength(array);
  return array;
}
