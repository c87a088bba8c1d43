//===- OpRecord.cpp - what a .td file says of an op --------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/describe-ops/OpRecord.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include <algorithm>

namespace json = llvm::json;

namespace meshc {

static std::string getName(const std::vector<std::string> &names,
                           bool isLastVariadic, unsigned number) {
  if (!isLastVariadic || number + 1 < names.size())
    return names[number];
  return names.back() + std::to_string(number + 1 - names.size());
}

std::string OpRecord::getOperandName(unsigned number) const {
  return getName(operands, isLastOperandVariadic, number);
}

std::string OpRecord::getResultName(unsigned number) const {
  return getName(results, isLastResultVariadic, number);
}

static bool derivesFrom(const json::Object &records, llvm::StringRef record,
                        llvm::StringRef base) {
  const json::Object *found = records.getObject(record);
  const json::Array *bases = found ? found->getArray("!superclasses") : nullptr;
  return bases && llvm::is_contained(*bases, json::Value(base));
}

/// The names of the operands, or results, in `list`; attributes are left out.
static std::vector<std::string> readNames(const json::Object &records,
                                          const json::Object *list,
                                          bool &isLastVariadic) {
  std::vector<std::string> names;
  const json::Array *arguments = list ? list->getArray("args") : nullptr;
  if (!arguments)
    return names;
  for (const json::Value &argument : *arguments) {
    const json::Array &pair = *argument.getAsArray();
    llvm::StringRef type = *pair[0].getAsObject()->getString("def");
    if (!derivesFrom(records, type, "TypeConstraint"))
      continue;
    names.push_back(pair[1].getAsString()->str());
    isLastVariadic = derivesFrom(records, type, "Variadic");
  }
  return names;
}

/// `text` without the indentation that all of its lines have.
static std::string unindent(llvm::StringRef text) {
  text = text.trim("\n").rtrim();
  size_t indent = text.size();
  for (llvm::StringRef line : llvm::split(text, '\n'))
    if (!line.trim().empty())
      indent = std::min(indent, line.find_first_not_of(' '));
  std::string result;
  for (llvm::StringRef line : llvm::split(text, '\n'))
    result +=
        line.drop_front(std::min(indent, line.size())).rtrim().str() + "\n";
  return llvm::StringRef(result).rtrim().str();
}

static OpRecord readOp(const json::Object &records, const json::Object &op) {
  OpRecord record;
  record.name = op.getString("opName")->str();
  record.summary = op.getString("summary")->str();
  record.description = unindent(*op.getString("description"));
  record.operands = readNames(records, op.getObject("arguments"),
                              record.isLastOperandVariadic);
  record.results =
      readNames(records, op.getObject("results"), record.isLastResultVariadic);
  return record;
}

llvm::Expected<std::vector<OpRecord>> readOpRecords(const std::string &path) {
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!file)
    return llvm::createStringError(file.getError(), path);
  llvm::Expected<json::Value> value = json::parse((*file)->getBuffer());
  if (!value)
    return value.takeError();
  const json::Object *records = value->getAsObject();
  const json::Object *classes =
      records ? records->getObject("!instanceof") : nullptr;
  const json::Array *ops = classes ? classes->getArray("Op") : nullptr;
  if (!ops)
    return llvm::createStringError(path + ": no records of ops");
  std::vector<std::pair<int, OpRecord>> found;
  for (const json::Value &name : *ops) {
    const json::Object &op = *records->getObject(*name.getAsString());
    const json::Array *places = op.getArray("!locs"); // "Pointwise.td:19"
    int line = 0;
    if (places && !places->empty())
      (void)places->front().getAsString()->rsplit(':').second.getAsInteger(
          10, line);
    found.emplace_back(line, readOp(*records, op));
  }
  llvm::sort(found,
             [](const auto &a, const auto &b) { return a.first < b.first; });
  std::vector<OpRecord> result;
  for (auto &[line, record] : found)
    result.push_back(std::move(record));
  return result;
}

} // namespace meshc
