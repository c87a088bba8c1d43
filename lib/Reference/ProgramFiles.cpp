//===- ProgramFiles.cpp - files that a compiled program reads and writes --===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Reference/ProgramFiles.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/EndianStream.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>
#include <limits>

using namespace mlir;
using meshc::nd::HostTensor;
using meshc::nd::TensorType;

namespace meshc::reference {

static llvm::Error makeError(StringRef path, const Twine &message) {
  return llvm::createStringError("'" + path + "' " + message);
}

/// Sizes in the order of `order`, and the strides of a whole, dense tensor
/// along it.
static std::pair<SmallVector<int64_t>, SmallVector<int64_t>>
getLayout(const HostTensor &tensor, ArrayAttr order) {
  SmallVector<int64_t> sizes, strides;
  for (auto name : order.getAsRange<StringAttr>()) {
    sizes.push_back(tensor.type.getSize(name.getValue()));
    strides.push_back(tensor.getStrideOf(name.getValue()));
  }
  return {sizes, strides};
}

//===----------------------------------------------------------------------===//
// NPY
//===----------------------------------------------------------------------===//

static void writeValue(llvm::raw_ostream &stream, Type type, double value) {
  if (type.isSignlessInteger(1))
    stream << (value != 0 ? '\1' : '\0');
  else if (isa<FloatType>(type))
    llvm::support::endian::write(stream, static_cast<float>(value),
                                 llvm::endianness::little);
  else
    llvm::support::endian::write(stream, static_cast<int32_t>(value),
                                 llvm::endianness::little);
}

llvm::Error writeExamples(StringRef path, ArrayRef<HostTensor> batches,
                          ArrayAttr order) {
  const HostTensor &first = batches.front();
  Type type = first.type.getElementType();
  auto [sizes, strides] = getLayout(first, order);
  SmallVector<int64_t> shape(sizes);
  shape.front() *= static_cast<int64_t>(batches.size());
  std::string header;
  llvm::raw_string_ostream text(header);
  text << "{'descr': '"
       << (isa<FloatType>(type)        ? "<f4"
           : type.isSignlessInteger(1) ? "|b1"
                                       : "<i4")
       << "', 'fortran_order': False, 'shape': (";
  llvm::interleave(shape, text, ",");
  text << ",), }";
  // The data begins at a multiple of 64 bytes.
  constexpr size_t preamble = 10;
  header.append(63 - (preamble + header.size()) % 64, ' ');
  header += '\n';

  std::error_code error;
  llvm::raw_fd_ostream stream(path, error);
  if (error)
    return makeError(path, "cannot be written: " + error.message());
  stream << StringRef("\x93NUMPY\1\0", 8);
  llvm::support::endian::write(stream, static_cast<uint16_t>(header.size()),
                               llvm::endianness::little);
  stream << header;
  for (const HostTensor &batch : batches)
    nd::forEachIndex(sizes, {strides}, [&](auto, ArrayRef<int64_t> offsets) {
      writeValue(stream, type, batch.data[offsets[0]]);
    });
  stream.close();
  if (stream.has_error()) {
    error = stream.error();
    stream.clear_error();
    return makeError(path, "cannot be written: " + error.message());
  }
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Safetensors
//===----------------------------------------------------------------------===//

static StringRef getStoredName(Type type) {
  return type.isInteger(32) ? "I32"
         : type.isF32()     ? "F32"
         : type.isBF16()    ? "BF16"
                            : "F16";
}

static double readValue(const char *bytes, Type type) {
  unsigned width = type.getIntOrFloatBitWidth();
  uint64_t bits = width == 32 ? llvm::support::endian::read32le(bytes)
                              : llvm::support::endian::read16le(bytes);
  if (type.isInteger(32))
    return static_cast<int32_t>(bits);
  llvm::APFloat number(cast<FloatType>(type).getFloatSemantics(),
                       llvm::APInt(width, bits));
  return number.convertToDouble();
}

/// The tensor that `entry` of the header describes; `content`: all tensors'
/// bytes.
static llvm::Expected<HostTensor> readTensor(StringRef path, StringRef name,
                                             const llvm::json::Object &entry,
                                             const StoredTensor &wanted,
                                             StringRef content) {
  Type type = wanted.type.getElementType();
  HostTensor tensor(wanted.type, nd::MeshAttr::get(type.getContext(), {}));
  auto [sizes, strides] = getLayout(tensor, wanted.order);
  SmallVector<int64_t> shape;
  const llvm::json::Array *list = entry.getArray("shape");
  for (const llvm::json::Value &size : list ? *list : llvm::json::Array())
    shape.push_back(size.getAsInteger().value_or(-1));
  if (entry.getString("dtype") != getStoredName(type) || shape != sizes)
    return makeError(path, "has another type or shape of tensor '" + name +
                               "' than the model");
  const llvm::json::Array *range = entry.getArray("data_offsets");
  int64_t bytes = type.getIntOrFloatBitWidth() / 8, begin = -1;
  if (range && range->size() == 2)
    begin = (*range)[0].getAsInteger().value_or(-1);
  int64_t length = bytes * tensor.getElementCount();
  if (begin < 0 || begin + length > static_cast<int64_t>(content.size()))
    return makeError(path, "has no data of tensor '" + name + "'");
  const char *next = content.data() + begin;
  nd::forEachIndex(sizes, {strides}, [&](auto, ArrayRef<int64_t> offsets) {
    tensor.data[offsets[0]] = readValue(next, type);
    next += bytes;
  });
  return tensor;
}

llvm::Expected<llvm::StringMap<HostTensor>>
readCheckpoint(StringRef path, const llvm::StringMap<StoredTensor> &tensors) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer)
    return makeError(path, "cannot be read: " + buffer.getError().message());
  StringRef bytes = (*buffer)->getBuffer();
  uint64_t length =
      bytes.size() < 8 ? 0 : llvm::support::endian::read64le(bytes.data());
  if (length == 0 || length > bytes.size() - 8)
    return makeError(path, "is not a safetensors file");
  auto header = llvm::json::parse(bytes.substr(8, length));
  if (!header)
    return header.takeError();
  const llvm::json::Object *entries = header->getAsObject();
  llvm::StringMap<HostTensor> values;
  for (const auto &[name, wanted] : tensors) {
    const llvm::json::Object *entry =
        entries ? entries->getObject(name) : nullptr;
    if (!entry)
      return makeError(path, "has no tensor '" + name + "'");
    auto tensor =
        readTensor(path, name, *entry, wanted, bytes.substr(8 + length));
    if (!tensor)
      return tensor.takeError();
    values[name] = std::move(*tensor);
  }
  return values;
}

//===----------------------------------------------------------------------===//
// Log
//===----------------------------------------------------------------------===//

llvm::Expected<std::vector<llvm::StringMap<double>>> readLog(StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer)
    return makeError(path, "cannot be read: " + buffer.getError().message());
  std::vector<llvm::StringMap<double>> lines;
  SmallVector<StringRef> texts;
  (*buffer)->getBuffer().split(texts, '\n', -1, /*KeepEmpty=*/false);
  for (StringRef text : texts) {
    auto line = llvm::json::parse(text);
    if (!line)
      return line.takeError();
    llvm::StringMap<double> &numbers = lines.emplace_back();
    if (const llvm::json::Object *entries = line->getAsObject())
      for (const auto &[name, value] : *entries)
        numbers[StringRef(name)] = value.getAsNumber().value_or(
            std::numeric_limits<double>::quiet_NaN());
  }
  return lines;
}

} // namespace meshc::reference
