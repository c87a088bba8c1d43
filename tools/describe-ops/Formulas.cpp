//===- Formulas.cpp - values as formulas -------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/describe-ops/Formulas.h"
#include "dialects/Nd/NdTypes.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Format.h"

using namespace mlir;

namespace meshc {

void Formulas::name(Value value, std::string name) {
  names[value] = std::move(name);
}

void Formulas::add(std::string name, Value value) {
  std::string formula = write(value);
  lines.emplace_back(std::move(name), std::move(formula));
}

std::string Formulas::getText() const {
  std::string text;
  for (const auto &[name, formula] : lines)
    text += "    " + name + " = " + formula + "\n";
  return text;
}

std::string writeType(Type type, const DimSizes *sizes) {
  auto tensor = cast<nd::TensorType>(type);
  SmallVector<std::string> dims;
  for (nd::DimAttr dim : tensor.getDims()) {
    dims.push_back(dim.getName().str());
    if (!sizes)
      continue;
    auto known = sizes->find(dims.back());
    if (known != sizes->end() && !known->second.contains(dim.getSize()))
      dims.back() += " = " + std::to_string(dim.getSize());
  }
  std::string text;
  llvm::raw_string_ostream(text) << tensor.getElementType();
  return text + "[" + llvm::join(dims, ", ") + "]";
}

/// An attribute without quotation marks and the types of numbers.
static std::string writeAttribute(Attribute attribute) {
  if (auto string = dyn_cast<StringAttr>(attribute))
    return string.getValue().str();
  if (auto list = dyn_cast<ArrayAttr>(attribute)) {
    SmallVector<std::string> entries;
    for (Attribute entry : list)
      entries.push_back(writeAttribute(entry));
    return "[" + llvm::join(entries, ", ") + "]";
  }
  if (auto entries = dyn_cast<DictionaryAttr>(attribute)) {
    SmallVector<std::string> texts;
    for (NamedAttribute entry : entries)
      texts.push_back(entry.getName().str() + " = " +
                      writeAttribute(entry.getValue()));
    return "{" + llvm::join(texts, ", ") + "}";
  }
  if (auto integer = dyn_cast<IntegerAttr>(attribute))
    return llvm::toString(integer.getValue(), 10, /*Signed=*/true);
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (auto number = dyn_cast<FloatAttr>(attribute))
    stream << llvm::format("%.7g", number.getValueAsDouble());
  else if (auto list = dyn_cast<DenseI64ArrayAttr>(attribute))
    stream << "["
           << llvm::join(llvm::map_range(list.asArrayRef(),
                                         [](int64_t entry) {
                                           return std::to_string(entry);
                                         }),
                         ", ")
           << "]";
  else
    attribute.print(stream, /*elideType=*/true);
  // An enumerator is printed as `#nd<predicate lt>`.
  if (StringRef word(text);
      word.consume_front("#nd<") && word.consume_back(">"))
    return word.rsplit(' ').second.str();
  return text;
}

/// The sign of an operator; empty for ops that are written as calls.
static StringRef getSign(Operation *op) {
  return llvm::StringSwitch<StringRef>(op->getName().stripDialect())
      .Case("add", " + ")
      .Case("sub", " - ")
      .Case("mul", " * ")
      .Case("div", " / ")
      .Default("");
}

std::string Formulas::writeCall(Operation *op) {
  SmallVector<std::string> arguments;
  for (Value operand : op->getOperands()) {
    std::string text = write(operand);
    // Only operators print a space outside of brackets.
    Operation *from = operand.getDefiningOp();
    if (!getSign(op).empty() && from && !getSign(from).empty() &&
        !names.count(operand))
      text = "(" + text + ")";
    arguments.push_back(std::move(text));
  }
  if (StringRef sign = getSign(op); !sign.empty())
    return llvm::join(arguments, sign);
  if (Type type = op->getResult(0).getType();
      !isa<InferTypeOpInterface>(op) &&
      (op->getNumOperands() == 0 || type != op->getOperand(0).getType()))
    arguments.push_back(writeType(type));
  for (NamedAttribute attribute : op->getAttrDictionary())
    if (attribute.getName() != "operandSegmentSizes")
      arguments.push_back(attribute.getName().str() + " = " +
                          writeAttribute(attribute.getValue()));
  return op->getName().stripDialect().str() + "(" +
         llvm::join(arguments, ", ") + ")";
}

std::string Formulas::write(Value value) {
  if (auto known = names.find(value); known != names.end())
    return known->second;
  Operation *op = value.getDefiningOp();
  Attribute constant;
  if (matchPattern(op, m_Constant(&constant)))
    return writeAttribute(constant);
  if (op->getNumResults() == 1 && (value.use_empty() || value.hasOneUse()))
    return writeCall(op);
  std::string call = writeCall(op);
  SmallVector<std::string> results;
  for (Value result : op->getResults())
    results.push_back(names[result] = "t" + std::to_string(++temporaries));
  lines.emplace_back(llvm::join(results, ", "), std::move(call));
  return names[value];
}

} // namespace meshc
