//===- Array.cpp - n-D arrays in files: IDX and NPY -----------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Data/Array.h"

#include "runtime/Base/Failure.h"

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
                           ", " + std::to_string(wanted) + " bytes, and " +
                           std::to_string(got) + " follow; fetch it again");
  if (got > wanted)
    throw arrayFailure(*array.bytes,
                       "has " + std::to_string(got - wanted) +
                           " bytes behind its content: its header says " +
                           array.describe() + ", " + std::to_string(wanted) +
                           " bytes, and " + std::to_string(got) +
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

/// The text after `'key':` in an NPY header's dictionary; empty if absent.
static std::string valueOf(const std::string &header, const std::string &key) {
  size_t at = header.find("'" + key + "'");
  if (at == std::string::npos)
    return "";
  at = header.find(':', at);
  if (at == std::string::npos)
    return "";
  at = header.find_first_not_of(' ', at + 1);
  return at == std::string::npos ? "" : header.substr(at);
}

static void readDescription(Array &array, const std::string &text) {
  static const struct {
    const char *name;
    FileType type;
  } types[] = {{"b1", FileType::Bool}, {"u1", FileType::U8},
               {"i1", FileType::I8},   {"u2", FileType::U16},
               {"i2", FileType::I16},  {"i4", FileType::I32},
               {"i8", FileType::I64},  {"f2", FileType::F16},
               {"f4", FileType::F32},  {"f8", FileType::F64}};
  if (text.size() >= 5 && text[0] == '\'' && text[4] == '\'' &&
      std::strchr("<>|=", text[1]))
    for (const auto &entry : types)
      if (text.compare(2, 2, entry.name) == 0) {
        array.type = entry.type;
        array.bigEndian = text[1] == '>';
        return;
      }
  throw arrayFailure(
      *array.bytes,
      "is an NPY file of type " + text.substr(0, text.find_first_of(",}")) +
          "; expected one of b1, u1, i1, u2, i2, i4, i8, f2, f4, f8");
}

static void readShape(Array &array, const std::string &text) {
  const char *at = text.c_str();
  if (*at++ != '(')
    throw arrayFailure(*array.bytes, "has no shape in its NPY header");
  for (;;) {
    while (*at == ' ' || *at == ',')
      ++at;
    if (*at == ')')
      break;
    int64_t dim = 0;
    const char *first = at;
    for (; *at >= '0' && *at <= '9' && at - first < 18; ++at)
      dim = dim * 10 + (*at - '0');
    if (at == first || (*at >= '0' && *at <= '9') || array.dims.size() == 32)
      throw arrayFailure(*array.bytes, "has a damaged shape in its NPY header");
    array.dims.push_back(dim);
  }
  if (array.dims.empty())
    throw arrayFailure(*array.bytes,
                       "holds a single number; expected an array of examples");
}

static Array readNpy(std::shared_ptr<const Bytes> bytes) {
  Array array;
  array.bytes = bytes;
  const uint8_t *data = bytes->data();
  int major = bytes->size() > 8 ? data[6] : 0;
  if (bytes->size() < 12 || major < 1 || major > 3)
    throw arrayFailure(*bytes, "has a damaged NPY header");
  size_t begin = major == 1 ? 10 : 12;
  size_t length = data[8] | data[9] << 8;
  if (major > 1)
    length |= size_t(data[10]) << 16 | size_t(data[11]) << 24;
  array.offset = begin + length;
  if (bytes->size() < array.offset)
    throw arrayFailure(*bytes, "ends within its NPY header");
  std::string header(reinterpret_cast<const char *>(data) + begin, length);
  readDescription(array, valueOf(header, "descr"));
  readShape(array, valueOf(header, "shape"));
  if (valueOf(header, "fortran_order").rfind("True", 0) == 0 &&
      array.dims.size() > 1)
    throw arrayFailure(*bytes, "is in Fortran order; write it in C order, as "
                               "numpy.ascontiguousarray makes it");
  return array;
}

Array meshc::runtime::readArray(std::shared_ptr<const Bytes> bytes) {
  if (!looksLikeArray(*bytes)) {
    char first[16] = "";
    for (size_t i = 0; i < 4 && i < bytes->size(); ++i)
      std::snprintf(first + 3 * i, sizeof(first) - 3 * i, "%02x ",
                    bytes->data()[i]);
    throw arrayFailure(*bytes, "is neither IDX nor NPY: it begins with " +
                                   (*first ? std::string(first) : "nothing ") +
                                   "and IDX with 00 00, NPY with 93 4e 55 4d");
  }
  Array array =
      isNpy(*bytes) ? readNpy(std::move(bytes)) : readIdx(std::move(bytes));
  checkLength(array);
  return array;
}
