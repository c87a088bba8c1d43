//===- ReadMachine.cpp - machines as JSON ---------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Cost/Machine.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>
#include <nlohmann/json.hpp>

namespace meshc::cost {

using Json = nlohmann::ordered_json;

namespace {
/// A number of the file.
struct Field {
  const char *path; ///< of names, joined by dots
  const char *unit; ///< as in "bytes per second"
  enum Range { Positive, NotNegative, Count, Share, PositiveShare } range;
  bool isRequired;
  void (*set)(Machine &, double);
  double (*get)(const Machine &);
};
} // namespace

#define MESHC_FIELD(PATH, UNIT, RANGE, REQUIRED, MEMBER)                       \
  {PATH,                                                                       \
   UNIT,                                                                       \
   Field::RANGE,                                                               \
   REQUIRED,                                                                   \
   [](Machine &machine, double value) {                                        \
     machine.MEMBER = static_cast<decltype(machine.MEMBER)>(value);            \
   },                                                                          \
   [](const Machine &machine) { return static_cast<double>(machine.MEMBER); }}

static const Field fields[] = {
    MESHC_FIELD("node.ranks", "ranks", Count, true, nodeRanks),
    MESHC_FIELD("node.cores", "cores", Count, false, nodeCores),
    MESHC_FIELD("node.memory", "bytes per second", Positive, false, nodeMemory),
    MESHC_FIELD("functions", "functions per second", Positive, true, functions),
    MESHC_FIELD("sorting", "steps per second", Positive, false, sorting),
    MESHC_FIELD("memory", "bytes per second", Positive, true, memory),
    MESHC_FIELD("cache.bytes", "bytes", NotNegative, false, cacheBytes),
    MESHC_FIELD("cache.memory", "bytes per second", Positive, false,
                cacheMemory),
    MESHC_FIELD("launch", "seconds", NotNegative, true, launch),
    MESHC_FIELD("threads.start", "seconds", NotNegative, false, threadStart),
    MESHC_FIELD("threads.efficiency", "", PositiveShare, false,
                threadEfficiency),
    MESHC_FIELD("links.node.latency", "seconds", NotNegative, true,
                node.latency),
    MESHC_FIELD("links.node.bandwidth", "bytes per second", Positive, true,
                node.bandwidth),
    MESHC_FIELD("links.network.latency", "seconds", NotNegative, true,
                network.latency),
    MESHC_FIELD("links.network.bandwidth", "bytes per second", Positive, true,
                network.bandwidth),
    MESHC_FIELD("overlap", "", Share, true, overlap),
};

#undef MESHC_FIELD

/// The types that a table of rates may have.
static constexpr llvm::StringLiteral types[] = {"f32", "bf16", "f16", "i32",
                                                "i1"};

static std::string describeRange(const Field &field) {
  std::string unit = field.unit;
  switch (field.range) {
  case Field::Positive:
    return "a number of " + unit + " above 0";
  case Field::NotNegative:
    return "a number of " + unit + ", 0 or more";
  case Field::Count:
    return "a whole number of " + unit + " from 1 to 1000000000";
  case Field::Share:
    return "a share from 0 to 1";
  case Field::PositiveShare:
    return "a share above 0, at most 1";
  }
  return "";
}

static bool isInRange(const Json &json, Field::Range range) {
  if (!json.is_number())
    return false;
  auto value = json.get<double>();
  switch (range) {
  case Field::Positive:
    return std::isfinite(value) && value > 0;
  case Field::NotNegative:
    return std::isfinite(value) && value >= 0;
  case Field::Count:
    return value >= 1 && value <= 1e9 && value == std::floor(value);
  case Field::Share:
    return value >= 0 && value <= 1;
  case Field::PositiveShare:
    return value > 0 && value <= 1;
  }
  return false;
}

/// The JSON value at a path; null if there is none.
static const Json *find(const Json &json, llvm::StringRef path) {
  const Json *at = &json;
  for (llvm::StringRef name : llvm::split(path, '.')) {
    if (!at->is_object() || !at->contains(name.str()))
      return nullptr;
    at = &(*at)[name.str()];
  }
  return at;
}

namespace {
/// Errors of one file.
struct File {
  llvm::StringRef name;

  llvm::Error fail(const llvm::Twine &message) const {
    return llvm::createStringError("machine file '" + name + "': " + message);
  }
  llvm::Error failValue(llvm::StringRef path, const Json &found,
                        const std::string &expected) const {
    return fail("'" + path + "' is " + found.dump() + "; expected " + expected);
  }
  llvm::Error failMissing(llvm::StringRef path,
                          const std::string &expected) const {
    return fail("'" + path + "' is missing; expected " + expected +
                ". 'meshc --calibrate -o FILE' writes a file with all fields");
  }
};

/// Where a text stops to be JSON.
struct SyntaxErrorFinder : nlohmann::json_sax<Json> {
  size_t position = 0;

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t &) override { return true; }
  bool string(string_t &) override { return true; }
  bool binary(binary_t &) override { return true; }
  bool start_object(size_t) override { return true; }
  bool key(string_t &) override { return true; }
  bool end_object() override { return true; }
  bool start_array(size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(size_t at, const std::string &,
                   const nlohmann::detail::exception &) override {
    position = at;
    return false;
  }
};
} // namespace

static llvm::Error failSyntax(llvm::StringRef text, llvm::StringRef name) {
  SyntaxErrorFinder finder;
  Json::sax_parse(text.str(), &finder);
  size_t end = finder.position > 0 ? finder.position - 1 : 0; // counts from 1
  llvm::StringRef before = text.take_front(end);
  size_t column = end - (before.rfind('\n') + 1) + 1;
  return llvm::createStringError(
      name + ":" + llvm::Twine(before.count('\n') + 1) + ":" +
      llvm::Twine(column) +
      ": a machine file must be JSON, and here it is not; 'meshc --calibrate "
      "-o FILE' writes an example");
}

/// Whether the path is a known one, or begins one: 1 and 2; 0 if neither.
static int getPathKind(llvm::StringRef path) {
  if (path == "name" || path == "source")
    return 1;
  if (path == "products" || path == "kernels")
    return 2;
  for (llvm::StringRef table : {"products.", "kernels."})
    if (path.starts_with(table))
      return llvm::is_contained(types, path.drop_front(table.size()));
  for (const Field &field : fields) {
    llvm::StringRef known = field.path;
    if (known == path)
      return 1;
    if (known.starts_with((path + ".").str()))
      return 2;
  }
  return 0;
}

/// The known path that is most like an unknown one.
static std::string findNearest(llvm::StringRef path) {
  std::vector<std::string> known = {"name", "source"};
  for (llvm::StringRef table : {"products.", "kernels."})
    for (llvm::StringRef type : types)
      known.push_back((table + type).str());
  for (const Field &field : fields)
    known.emplace_back(field.path);
  return *llvm::min_element(known, [&](const auto &a, const auto &b) {
    return path.edit_distance(a) < path.edit_distance(b);
  });
}

/// Checks that an object has known fields only.
static llvm::Error checkNames(const Json &object, const std::string &prefix,
                              const File &file) {
  for (const auto &[name, value] : object.items()) {
    std::string path = prefix + name;
    int kind = getPathKind(path);
    if (kind == 0)
      return file.fail("unknown field '" + path + "'; did you mean '" +
                       findNearest(path) + "'?");
    if (kind == 2 && !value.is_object())
      return file.failValue(path, value, "an object");
    if (kind == 2)
      if (llvm::Error error = checkNames(value, path + ".", file))
        return error;
  }
  return llvm::Error::success();
}

static llvm::Error readRates(const Json &json, const std::string &table,
                             Rates &rates, const File &file) {
  const std::string expected = "a number of operations per second above 0";
  if (!find(json, table + ".f32"))
    return file.failMissing(table + ".f32", expected);
  for (const auto &[type, rate] : json[table].items()) {
    if (!isInRange(rate, Field::Positive))
      return file.failValue(table + "." + type, rate, expected);
    rates[type] = rate.get<double>();
  }
  return llvm::Error::success();
}

static llvm::Error readText(const Json &json, const char *name,
                            std::string &text, const File &file) {
  const Json *found = find(json, name);
  if (found && !found->is_string())
    return file.failValue(name, *found, "a text");
  if (found)
    text = found->get<std::string>();
  return llvm::Error::success();
}

static llvm::Error readFields(const Json &json, Machine &machine,
                              const File &file) {
  for (const Field &field : fields) {
    const Json *found = find(json, field.path);
    if (!found && field.isRequired)
      return file.failMissing(field.path, describeRange(field));
    if (!found)
      continue;
    if (!isInRange(*found, field.range))
      return file.failValue(field.path, *found, describeRange(field));
    field.set(machine, found->get<double>());
  }
  if (machine.cacheBytes > 0 && machine.cacheMemory <= 0)
    return file.failMissing("cache.memory", "the bandwidth of 'cache.bytes'");
  // Files were written before there was such a figure.
  if (machine.sorting == 0)
    machine.sorting = getPresets()[machine.nodeCores > 0 ? 0 : 1].sorting;
  return llvm::Error::success();
}

llvm::Expected<Machine> readMachine(llvm::StringRef text,
                                    llvm::StringRef name) {
  File file{name};
  Json json = Json::parse(text.str(), nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded())
    return failSyntax(text, name);
  if (!json.is_object())
    return file.fail("expected an object, got " + json.dump());
  Machine machine;
  machine.name = name.str();
  if (llvm::Error error = checkNames(json, "", file))
    return error;
  if (llvm::Error error = readText(json, "name", machine.name, file))
    return error;
  if (llvm::Error error = readText(json, "source", machine.source, file))
    return error;
  if (llvm::Error error = readRates(json, "products", machine.products, file))
    return error;
  if (llvm::Error error = readRates(json, "kernels", machine.kernels, file))
    return error;
  if (llvm::Error error = readFields(json, machine, file))
    return error;
  return machine;
}

std::string writeMachine(const Machine &machine) {
  Json json = {{"name", machine.name},
               {"source", machine.source},
               {"products", machine.products},
               {"kernels", machine.kernels}};
  for (const Field &field : fields) {
    double value = field.get(machine);
    if (!field.isRequired && value == field.get(Machine()))
      continue;
    Json *at = &json;
    for (llvm::StringRef name : llvm::split(field.path, '.'))
      at = &(*at)[name.str()];
    if (field.range == Field::Count)
      *at = static_cast<int64_t>(value);
    else
      *at = value;
  }
  return json.dump(1) + "\n";
}

} // namespace meshc::cost
