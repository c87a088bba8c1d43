//===- Safetensors.cpp - the safetensors format ---------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Checkpoint/Safetensors.h"

#include "runtime/Core/Failure.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>

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

SafetensorsFile::SafetensorsFile(const std::string &path)
    : file(path, ExitCode::Checkpoint, "checkpoint") {
  const char *bytes = reinterpret_cast<const char *>(file.data());
  uint64_t length = 0;
  if (file.size() >= 8)
    for (int i = 0; i < 8; ++i)
      length |= uint64_t(file.data()[i]) << (8 * i);
  // The format bounds headers at 100 MB.
  if (file.size() < 10 || length > 100'000'000 || bytes[8] != '{')
    throw fileFailure(path, "is not a safetensors file");
  if (length > file.size() - 8)
    throw fileFailure(
        path, "ends within its header: " + std::to_string(file.size()) +
                  " bytes, wanted more than " + std::to_string(length + 8));
  content = bytes + 8 + length;
  std::string header(bytes + 8, length);
  file.checkIntact();
  auto contentBytes = static_cast<int64_t>(file.size() - 8 - length);
  parse(header, contentBytes);
  checkTiling(contentBytes);
}

void SafetensorsFile::parse(const std::string &header, int64_t contentBytes) {
  Json json = Json::parse(header, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object())
    throw fileFailure(path(),
                      "is not a safetensors file: its header is no JSON");
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
        throw fileFailure(path(),
                          "has a damaged header at tensor '" + key + "'");
      tensor.beginByte = offsets[0];
      tensor.endByte = offsets[1];
      if (tensor.endByte > contentBytes)
        throw fileFailure(path(), "ends early: tensor '" + key +
                                      "' ends at byte " +
                                      std::to_string(tensor.endByte) +
                                      " of the data, and there are " +
                                      std::to_string(contentBytes));
      byName.emplace(key, std::move(tensor));
    }
  } catch (const Json::exception &) {
    throw fileFailure(path(), "has a damaged header");
  }
}

void SafetensorsFile::checkTiling(int64_t contentBytes) const {
  std::vector<const FileTensor *> order;
  for (const auto &[key, tensor] : byName)
    order.push_back(&tensor);
  std::sort(order.begin(), order.end(),
            [](const FileTensor *a, const FileTensor *b) {
              return std::tie(a->beginByte, a->endByte) <
                     std::tie(b->beginByte, b->endByte);
            });
  int64_t at = 0;
  for (const FileTensor *tensor : order) {
    if (tensor->beginByte != at)
      throw fileFailure(
          path(), "has a damaged header: tensor '" + tensor->name +
                      "' begins at byte " + std::to_string(tensor->beginByte) +
                      " of the data, and the tensors before it end at byte " +
                      std::to_string(at));
    at = tensor->endByte;
  }
  if (at != contentBytes)
    throw fileFailure(path(), "has " + std::to_string(contentBytes - at) +
                                  " bytes after its last tensor");
}

const FileTensor *SafetensorsFile::find(const std::string &tensor) const {
  auto found = byName.find(tensor);
  return found == byName.end() ? nullptr : &found->second;
}
