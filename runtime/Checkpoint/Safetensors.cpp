//===- Safetensors.cpp - the safetensors format ---------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Checkpoint/Safetensors.h"

#include "runtime/Base/Counted.h"
#include "runtime/Base/Failure.h"
#include "runtime/Base/Float16.h"

#include <algorithm>
#include <cstring>
#include <tuple>
#include <vector>

using namespace meshc::runtime;

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

float meshc::runtime::floatOfDtype(const std::string &dtype, const char *at) {
  uint16_t bits;
  float value;
  if (dtype == "F32") {
    std::memcpy(&value, at, sizeof(value));
    return value;
  }
  std::memcpy(&bits, at, sizeof(bits));
  return dtype == "F16" ? floatFromF16(bits) : floatFromBf16(bits);
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
  if (file.size() == 0)
    throw fileFailure(path, "is empty");
  // The format limits headers to 100 MB.
  if (file.size() < 10 || length > 100'000'000 || bytes[8] != '{')
    throw fileFailure(path, "is not a safetensors file");
  if (length > file.size() - 8)
    throw fileFailure(path,
                      "ends within its header: " +
                          counted(static_cast<int64_t>(file.size()), "byte") +
                          ", expected more than " + std::to_string(length + 8));
  content = bytes + 8 + length;
  std::string text(bytes + 8, length);
  file.checkIntact();
  std::string error = parseHeader(text, header);
  if (!error.empty())
    throw fileFailure(path, error);
  checkTiling(static_cast<int64_t>(file.size() - 8 - length));
}

void SafetensorsFile::checkTiling(int64_t contentBytes) const {
  std::vector<const FileTensor *> order;
  for (const auto &[name, tensor] : tensors()) {
    if (tensor.endByte > contentBytes)
      throw fileFailure(path(), "ends early: tensor '" + name +
                                    "' ends at byte " +
                                    std::to_string(tensor.endByte) +
                                    " of the data, and there are " +
                                    std::to_string(contentBytes));
    order.push_back(&tensor);
  }
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
    throw fileFailure(path(), "has " + counted(contentBytes - at, "byte") +
                                  " after its last tensor");
}

const FileTensor *SafetensorsFile::find(const std::string &tensor) const {
  auto found = tensors().find(tensor);
  return found == tensors().end() ? nullptr : &found->second;
}
