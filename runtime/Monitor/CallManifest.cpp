//===- CallManifest.cpp - what the compiler says of calls -----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Monitor/CallManifest.h"

#include "runtime/Base/TensorBlock.h"

#include <exception>
#include <nlohmann/json.hpp>

using namespace meshc::runtime;
using nlohmann::json;

static MeshcType parseType(const std::string &name) {
  for (MeshcType type : {MESHC_F32, MESHC_BF16, MESHC_F16, MESHC_I32, MESHC_I1})
    if (name == nameOf(type))
      return type;
  return MESHC_I1; // an unknown type has no entries
}

/// "gpt.mesh:14:13" of "models/gpt.mesh:14:13"
static std::string readPlace(const json &known) {
  std::string place = known.value("location", "");
  return place.substr(place.rfind('/') + 1);
}

namespace {

/// Reads dims, whose axes have names.
class DimReader {
public:
  explicit DimReader(const MeshcProgram &program) {
    for (uint32_t i = 0; i < program.axisCount; ++i)
      numbers[program.axes[i].name] = i;
  }

  PaddedDims read(const json &list) const {
    PaddedDims dims;
    for (const json &known : list) {
      BufferDim dim{known.at("size"), {}};
      for (const json &axis : known.at("axes"))
        dim.axes.push_back(numbers.at(axis.get<std::string>()));
      dims.push_back(std::move(dim));
    }
    return dims;
  }
  /// Those that `call` has, if any.
  PaddedDims of(const json &call) const {
    return read(call.value("dims", json::array()));
  }

private:
  std::map<std::string, uint32_t> numbers;
};

} // namespace

static std::vector<CallEntry> readEntries(const json &list,
                                          const DimReader &dims) {
  std::vector<CallEntry> entries;
  for (const json &known : list) {
    CallEntry entry;
    entry.kernel = known.value("kernel", "");
    entry.location = readPlace(known);
    entry.name = known.value("name", "");
    entry.dims = dims.of(known);
    entry.ops = known.value("ops", std::vector<std::string>());
    entry.inputBytes = known.value("inputs", std::vector<int64_t>());
    for (const json &result : known.value("results", json::array()))
      entry.results.push_back({result.value("name", ""), readPlace(result),
                               parseType(result.value("type", "")),
                               result.value("elements", int64_t(0)),
                               dims.of(result)});
    entries.push_back(std::move(entry));
  }
  return entries;
}

CallManifest::CallManifest(const MeshcProgram &program,
                           const std::string &function) {
  try {
    const json manifest =
        json::parse(program.manifest ? program.manifest : "{}");
    const DimReader dims(program);
    for (const json &known : manifest.value("received", json::array()))
      for (const json &result : known.at("results"))
        received[known.at("site")].push_back(dims.read(result));
    for (const json &known : manifest.value("functions", json::array()))
      if (known.value("name", "") == function) {
        launches = readEntries(known.value("launches", json::array()), dims);
        products = readEntries(known.value("products", json::array()), dims);
        launchOrder = CallOrder(known, "launches");
        productOrder = CallOrder(known, "products");
      }
  } catch (const std::exception &) {
    launches.clear(); // compiled by another compiler
    products.clear();
    launchOrder = productOrder = CallOrder();
    received.clear();
  }
}
