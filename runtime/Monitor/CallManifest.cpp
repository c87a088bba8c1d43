//===- CallManifest.cpp - what the compiler says of calls -----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Monitor/CallManifest.h"

#include "runtime/Base/TensorBlock.h"

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

static std::vector<CallEntry> readEntries(const json &list) {
  std::vector<CallEntry> entries;
  for (const json &known : list) {
    CallEntry entry;
    entry.kernel = known.value("kernel", "");
    entry.location = readPlace(known);
    entry.name = known.value("name", "");
    entry.ops = known.value("ops", std::vector<std::string>());
    entry.inputBytes = known.value("inputs", std::vector<int64_t>());
    for (const json &result : known.value("results", json::array()))
      entry.results.push_back({result.value("name", ""), readPlace(result),
                               parseType(result.value("type", "")),
                               result.value("elements", int64_t(0))});
    entries.push_back(std::move(entry));
  }
  return entries;
}

CallManifest::CallManifest(const MeshcProgram &program,
                           const std::string &function) {
  try {
    const json manifest =
        json::parse(program.manifest ? program.manifest : "{}");
    for (const json &known : manifest.value("functions", json::array()))
      if (known.value("name", "") == function) {
        launches = readEntries(known.value("launches", json::array()));
        products = readEntries(known.value("products", json::array()));
        launchOrder = CallOrder(known, "launches");
        productOrder = CallOrder(known, "products");
      }
  } catch (const json::exception &) {
    launches.clear(); // compiled by another compiler
    products.clear();
    launchOrder = productOrder = CallOrder();
  }
}
