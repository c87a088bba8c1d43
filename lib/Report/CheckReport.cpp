//===- CheckReport.cpp - the shape of a report that was read --------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Report/Report.h"
#include "llvm/ADT/STLExtras.h"

namespace meshc::report {

using Check = bool (*)(const Json &);
using Field = std::pair<const char *, Check>;

static bool isText(const Json &json) { return json.is_string(); }
static bool isInteger(const Json &json) { return json.is_number_integer(); }
static bool isTruth(const Json &json) { return json.is_boolean(); }
static bool isNumber(const Json &json) { return json.is_number(); }

template <Check isItem> static bool isListOf(const Json &json) {
  return json.is_array() && llvm::all_of(json, isItem);
}

/// An object whose fields, of any name, are alike.
template <Check isValue> static bool isMapTo(const Json &json) {
  return json.is_object() && llvm::all_of(json, isValue);
}

/// An object of these fields and no others.
static bool hasFields(const Json &json, std::initializer_list<Field> fields) {
  return json.is_object() && json.size() == fields.size() &&
         llvm::all_of(fields, [&](const Field &field) {
           return json.contains(field.first) && field.second(json[field.first]);
         });
}

static bool isAxis(const Json &json) {
  return hasFields(json, {{"axis", isText}, {"size", isInteger}});
}

static bool isTensor(const Json &json) {
  return hasFields(
      json, {{"name", isText}, {"elements", isInteger}, {"location", isText}});
}

static bool isCollective(const Json &json) {
  Json fields = json;
  for (const Field &optional :
       {Field{"reduction", isText}, Field{"atMost", isTruth},
        Field{"onAverage", isTruth}}) {
    if (!json.is_object() || !json.contains(optional.first))
      continue;
    if (!optional.second(json[optional.first]))
      return false;
    fields.erase(optional.first);
  }
  return hasFields(fields, {{"kind", isText},
                            {"axes", isListOf<isText>},
                            {"type", isText},
                            {"tensors", isListOf<isTensor>},
                            {"elements", isInteger},
                            {"calls", isInteger},
                            {"bytes", isMapTo<isNumber>}});
}

static bool isFunction(const Json &json) {
  return hasFields(json, {{"name", isText},
                          {"collectives", isListOf<isCollective>},
                          {"elements", isMapTo<isInteger>},
                          {"bytes", isMapTo<isNumber>},
                          {"paddedWork", isListOf<isNumber>}});
}

bool isLimits(const Json &json) {
  return json.is_null() || isMapTo<isInteger>(json);
}

bool isReport(const Json &json) {
  return hasFields(json, {{"mesh", isListOf<isAxis>},
                          {"ranks", isInteger},
                          {"layout", isListOf<isText>},
                          {"functions", isListOf<isFunction>},
                          {"targets", isLimits},
                          {"indices", isLimits},
                          {"ignored", isLimits}});
}

} // namespace meshc::report
