//===- Safetensors.cpp - the safetensors format ---------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Checkpoint/Safetensors.h"

#include "runtime/Core/Failure.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace meshc::runtime;
using Json = nlohmann::ordered_json;

namespace {
struct Dtype {
  const char *name;
  int64_t bytes;
};
} // namespace

static const Dtype dtypes[] = {{"BOOL", 1}, {"U8", 1},  {"I8", 1},   {"I16", 2},
                               {"U16", 2},  {"F16", 2}, {"BF16", 2}, {"I32", 4},
                               {"U32", 4},  {"F32", 4}, {"I64", 8},  {"U64", 8},
                               {"F64", 8}};

/// Bytes of an element of `dtype`; 0 where the format's writers have newer
/// ones.
static int64_t bytesOf(const std::string &dtype) {
  for (const Dtype &entry : dtypes)
    if (dtype == entry.name)
      return entry.bytes;
  return 0;
}

const char *meshc::runtime::safetensorsName(MeshcType type) {
  switch (type) {
  case MESHC_F32:
    return "F32";
  case MESHC_BF16:
    return "BF16";
  case MESHC_F16:
    return "F16";
  case MESHC_I32:
    return "I32";
  case MESHC_I1:
    return "BOOL";
  }
  return "";
}

std::string FileTensor::describe() const {
  std::string text = dtype + " [";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

std::string meshc::runtime::writeHeader(const std::vector<FileTensor> &tensors,
                                        const Metadata &metadata) {
  Json header = Json::object();
  header["__metadata__"] = metadata;
  int64_t at = 0;
  for (const FileTensor &tensor : tensors) {
    int64_t bytes = bytesOf(tensor.dtype);
    for (int64_t size : tensor.shape)
      bytes *= size;
    header[tensor.name] = {{"dtype", tensor.dtype},
                           {"shape", tensor.shape},
                           {"data_offsets", {at, at + bytes}}};
    at += bytes;
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');
  std::string result(8, '\0');
  for (int i = 0; i < 8; ++i)
    result[static_cast<size_t>(i)] =
        static_cast<char>(uint64_t(text.size()) >> (8 * i));
  return result + text;
}

static Failure fileFailure(const std::string &path, const std::string &what) {
  return Failure(ExitCode::Checkpoint, "checkpoint '" + path + "' " + what);
}

SafetensorsFile::SafetensorsFile(const std::string &path) : name(path) {
  map();
  uint64_t length = 0;
  if (mappingBytes >= 8)
    for (int i = 0; i < 8; ++i)
      length |= uint64_t(static_cast<uint8_t>(mapping[i])) << (8 * i);
  // The format bounds headers at 100 MB.
  if (mappingBytes < 10 || length > 100'000'000 || mapping[8] != '{')
    throw fileFailure(path, "is not a safetensors file");
  if (length > mappingBytes - 8)
    throw fileFailure(
        path, "ends within its header: " + std::to_string(mappingBytes) +
                  " bytes, wanted more than " + std::to_string(length + 8));
  content = mapping + 8 + length;
  parse(std::string(mapping + 8, length),
        static_cast<int64_t>(mappingBytes - 8 - length));
}

SafetensorsFile::~SafetensorsFile() {
  if (mapping)
    munmap(mapping, mappingBytes);
}

void SafetensorsFile::map() {
  int descriptor = ::open(name.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0)
    throw fileFailure(name,
                      std::string("cannot be opened: ") + std::strerror(errno));
  struct stat status;
  void *address = MAP_FAILED;
  if (fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) &&
      status.st_size > 0)
    address = mmap(nullptr, static_cast<size_t>(status.st_size), PROT_READ,
                   MAP_PRIVATE, descriptor, 0);
  ::close(descriptor);
  if (address == MAP_FAILED)
    throw fileFailure(name, "is not a safetensors file");
  mapping = static_cast<char *>(address);
  mappingBytes = static_cast<size_t>(status.st_size);
}

void SafetensorsFile::parse(const std::string &header, int64_t contentBytes) {
  Json json = Json::parse(header, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object())
    throw fileFailure(name, "is not a safetensors file: its header is no JSON");
  try {
    for (const auto &[key, value] : json.items()) {
      if (key == "__metadata__") {
        properties = value.get<Metadata>();
        continue;
      }
      FileTensor tensor;
      tensor.name = key;
      tensor.dtype = value.at("dtype").get<std::string>();
      tensor.shape = value.at("shape").get<std::vector<int64_t>>();
      auto offsets = value.at("data_offsets").get<std::vector<int64_t>>();
      int64_t bytes = bytesOf(tensor.dtype);
      bool sane =
          offsets.size() == 2 && offsets[0] >= 0 && offsets[1] >= offsets[0];
      for (int64_t size : tensor.shape)
        sane =
            sane && size >= 0 && !__builtin_mul_overflow(bytes, size, &bytes);
      if (!sane || (bytesOf(tensor.dtype) && offsets[1] - offsets[0] != bytes))
        throw fileFailure(name, "has a damaged header at tensor '" + key + "'");
      tensor.beginByte = offsets[0];
      tensor.endByte = offsets[1];
      if (tensor.endByte > contentBytes)
        throw fileFailure(name, "ends early: tensor '" + key +
                                    "' ends at byte " +
                                    std::to_string(tensor.endByte) +
                                    " of the data, and there are " +
                                    std::to_string(contentBytes));
      tensors.emplace(key, std::move(tensor));
    }
  } catch (const Json::exception &) {
    throw fileFailure(name, "has a damaged header");
  }
}

const FileTensor *SafetensorsFile::find(const std::string &tensor) const {
  auto found = tensors.find(tensor);
  return found == tensors.end() ? nullptr : &found->second;
}
