//===- SafetensorsHeader.cpp - the header of safetensors files ------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Checkpoint/SafetensorsHeader.h"

#include "runtime/Base/Abridged.h"
#include "runtime/Base/Counted.h"
#include "runtime/Base/Failure.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

using namespace meshc::runtime;
using Json = nlohmann::json;

std::string meshc::runtime::describeBadName(const std::string &name) {
  if (std::any_of(name.begin(), name.end(), isControl))
    return "the name of tensor '" + abridged(name) + "' has control characters";
  if (name.size() <= mostTensorNameBytes)
    return "";
  return "the name of tensor '" + abridged(name) + "' has " +
         std::to_string(name.size()) + " bytes; expected at most " +
         std::to_string(mostTensorNameBytes);
}

namespace {

struct Dtype {
  const char *name;
  int64_t bytes;
};

const Dtype dtypes[] = {{"BOOL", 1}, {"U8", 1},  {"I8", 1},   {"I16", 2},
                        {"U16", 2},  {"F16", 2}, {"BF16", 2}, {"I32", 4},
                        {"U32", 4},  {"F32", 4}, {"I64", 8},  {"U64", 8},
                        {"F64", 8}};

/// Receives the header's parts from the parser. A tree of JSON values would
/// lose duplicate names and the text of numbers.
class HeaderReader final : public nlohmann::json_sax<Json> {
public:
  explicit HeaderReader(SafetensorsHeader &header) : header(header) {}

  std::string error;

  bool null() override { return other("null"); }
  bool boolean(bool) override { return other("a truth value"); }
  bool number_integer(number_integer_t value) override {
    return number(std::to_string(value), value);
  }
  bool number_unsigned(number_unsigned_t value) override {
    return number(std::to_string(value),
                  value <= INT64_MAX ? static_cast<int64_t>(value) : -1);
  }
  bool number_float(number_float_t, const string_t &text) override {
    return number(abridged(text), -1);
  }
  bool string(string_t &text) override;
  bool binary(binary_t &) override { return other("binary data"); }
  bool start_object(std::size_t) override;
  bool key(string_t &name) override;
  bool end_object() override;
  bool start_array(std::size_t) override;
  bool end_array() override;
  bool parse_error(std::size_t position, const std::string &,
                   const nlohmann::detail::exception &) override {
    return fail("is not a safetensors file: its header is not JSON (byte " +
                std::to_string(position) + ")");
  }

private:
  enum class Place { Start, Top, Metadata, Tensor, List };

  bool fail(const std::string &what) {
    error = what;
    return false;
  }
  bool failAtTensor(const std::string &what) {
    return fail("has a damaged header: tensor '" + tensor.name + "' " + what);
  }
  bool number(const std::string &text, int64_t value);
  bool other(const std::string &what);
  bool keyOfTensor(const std::string &name);
  bool endTensor();

  SafetensorsHeader &header;
  Place place = Place::Start;
  int skipped = 0; ///< depth within a field that the format does not define
  bool hasMetadata = false, hasDtype = false, hasShape = false,
       hasOffsets = false;
  std::string field; ///< of the metadata or of the tensor
  FileTensor tensor;
  std::vector<int64_t> offsets;
};

} // namespace

bool HeaderReader::number(const std::string &text, int64_t value) {
  if (place != Place::List)
    return other("the number " + text);
  if (skipped)
    return true;
  if (value < 0)
    return failAtTensor("has '" + text + "' in its " + field +
                        "; expected whole numbers from 0 to " +
                        std::to_string(INT64_MAX));
  (field == "shape" ? tensor.shape : offsets).push_back(value);
  return true;
}

/// A value that the format does not allow here, unless it is in a field that
/// the format does not define.
bool HeaderReader::other(const std::string &what) {
  if (skipped || (place == Place::Tensor && field.empty()))
    return true;
  switch (place) {
  case Place::Metadata:
    return fail("has a damaged header: metadata '" + abridged(field) + "' is " +
                what + "; expected a string");
  case Place::Tensor:
  case Place::List:
    return failAtTensor("has " + what + " as its " + field);
  case Place::Start:
  case Place::Top:
    break;
  }
  return fail("has a damaged header: found " + what +
              (place == Place::Top ? " as tensor '" + tensor.name + "'" : "") +
              "; expected an object");
}

bool HeaderReader::string(string_t &text) {
  if (!skipped && place == Place::Metadata) {
    header.metadata[field] = text;
    return true;
  }
  if (!skipped && place == Place::Tensor && field == "dtype") {
    tensor.dtype = text;
    return true;
  }
  return other("the string '" + abridged(text) + "'");
}

bool HeaderReader::start_object(std::size_t) {
  if (skipped || (place == Place::Tensor && field.empty())) {
    ++skipped;
    return true;
  }
  if (place == Place::Start) {
    place = Place::Top;
    return true;
  }
  if (place != Place::Top)
    return other("an object");
  place = tensor.name == "__metadata__" ? Place::Metadata : Place::Tensor;
  return true;
}

bool HeaderReader::key(string_t &name) {
  if (skipped)
    return true;
  if (place == Place::Tensor)
    return keyOfTensor(name);
  if (std::string problem = describeBadName(name);
      place == Place::Top && !problem.empty())
    return fail("has a damaged header: " + problem);
  bool isNew = true;
  if (place == Place::Metadata) {
    field = name;
    isNew = header.metadata.emplace(name, "").second;
  } else {
    tensor = {};
    tensor.name = name;
    offsets.clear();
    hasDtype = hasShape = hasOffsets = false;
    isNew = name == "__metadata__" ? !std::exchange(hasMetadata, true)
                                   : !header.tensors.count(name);
  }
  return isNew || fail("has a damaged header: the name '" + abridged(name) +
                       "' is there twice");
}

bool HeaderReader::keyOfTensor(const std::string &name) {
  bool *has = name == "dtype"          ? &hasDtype
              : name == "shape"        ? &hasShape
              : name == "data_offsets" ? &hasOffsets
                                       : nullptr;
  field = has ? name : "";
  if (has && std::exchange(*has, true))
    return failAtTensor("has two fields '" + name + "'");
  return true;
}

bool HeaderReader::end_object() {
  if (skipped) {
    --skipped;
    return true;
  }
  if (place == Place::Tensor && !endTensor())
    return false;
  place = Place::Top;
  return true;
}

bool HeaderReader::endTensor() {
  for (auto [has, name] : {std::pair(hasDtype, "dtype"),
                           {hasShape, "shape"},
                           {hasOffsets, "data_offsets"}})
    if (!has)
      return failAtTensor("has no field '" + std::string(name) + "'");
  if (offsets.size() != 2 || offsets[1] < offsets[0])
    return failAtTensor("has data_offsets that are not a begin and an end");
  tensor.beginByte = offsets[0];
  tensor.endByte = offsets[1];
  const int64_t each = bytesOfDtype(tensor.dtype);
  int64_t bytes = each;
  bool fits = true;
  for (int64_t size : tensor.shape)
    fits = fits && !__builtin_mul_overflow(bytes, size, &bytes);
  if (!fits || (each && tensor.bytes() != bytes))
    return failAtTensor("is " + tensor.describe() + " in " +
                        counted(tensor.bytes(), "byte"));
  header.tensors.emplace(tensor.name, std::move(tensor));
  return true;
}

bool HeaderReader::start_array(std::size_t) {
  bool isList =
      place == Place::Tensor && (field == "shape" || field == "data_offsets");
  if (skipped || (place == Place::Tensor && field.empty())) {
    ++skipped;
    return true;
  }
  if (!isList)
    return other("a list");
  place = Place::List;
  return true;
}

bool HeaderReader::end_array() {
  if (skipped)
    --skipped;
  else
    place = Place::Tensor;
  return true;
}

std::string FileTensor::describe() const {
  std::string text = abridged(dtype) + " [";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

int64_t meshc::runtime::bytesOfDtype(const std::string &dtype) {
  for (const Dtype &entry : dtypes)
    if (dtype == entry.name)
      return entry.bytes;
  return 0;
}

std::string meshc::runtime::parseHeader(const std::string &text,
                                        SafetensorsHeader &header) {
  // The parser would take a NUL for the end.
  if (const size_t nul = text.find('\0'); nul != std::string::npos)
    return "has a damaged header: a NUL at its byte " + std::to_string(nul) +
           "; expected spaces alone behind its JSON text";
  HeaderReader reader(header);
  Json::sax_parse(text, &reader);
  const size_t last = text.find_last_not_of(' ');
  if (reader.error.empty() && text[last] != '}')
    return "has a damaged header: its byte " + std::to_string(last) +
           " is neither JSON text nor a space";
  return reader.error;
}

static std::string quote(const std::string &text) { return Json(text).dump(); }

std::string meshc::runtime::writeHeader(const std::vector<FileTensor> &tensors,
                                        const Metadata &metadata) {
  std::string text = "{\"__metadata__\":" + Json(metadata).dump();
  int64_t at = 0;
  for (const FileTensor &tensor : tensors) {
    if (std::string problem = describeBadName(tensor.name); !problem.empty())
      throw Failure(ExitCode::Checkpoint, problem);
    int64_t bytes = bytesOfDtype(tensor.dtype);
    for (int64_t size : tensor.shape)
      bytes *= size;
    text += ',' + quote(tensor.name) + ":{\"dtype\":" + quote(tensor.dtype) +
            ",\"shape\":" + Json(tensor.shape).dump() + ",\"data_offsets\":[" +
            std::to_string(at) + ',' + std::to_string(at + bytes) + "]}";
    at += bytes;
  }
  text += '}';
  text.append((8 - text.size() % 8) % 8, ' ');
  std::string result(8, '\0');
  for (int i = 0; i < 8; ++i)
    result[static_cast<size_t>(i)] =
        static_cast<char>(uint64_t(text.size()) >> (8 * i));
  return result + text;
}
