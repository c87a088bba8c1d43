//===- KernelKey.cpp - kernels of equal code ------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Codegen/KernelKey.h"
#include "dialects/Nd/Ops/SourceOps.h"
#include "dialects/Nd/TensorAttributes.h"
#include "lib/Codegen/LoopNest.h"
#include "mlir/IR/AttrTypeSubElements.h"

using namespace mlir;

namespace meshc::codegen {

namespace {

/// Writes the text of one kernel's key.
class KeyWriter {
public:
  explicit KeyWriter(exec::KernelOp kernel)
      : kernel(kernel), stream(key.text) {}
  KernelKey write();

private:
  void renameDims();
  void writeOp(Operation &op);
  void writeAttribute(Operation &op, NamedAttribute attribute);

  exec::KernelOp kernel;
  KernelKey key;
  llvm::raw_string_ostream stream;
  AttrTypeReplacer replacer;
  DenseMap<StringAttr, StringAttr> newNames;
  DenseMap<Value, size_t> numbers;
};

} // namespace

/// Each dim is named by its position among the sorted names. A dim called like
/// a mesh axis keeps its name: attributes hold names of both.
void KeyWriter::renameDims() {
  nd::MeshAttr mesh = nd::MeshAttr::of(kernel);
  llvm::SmallSetVector<StringAttr, 8> dims;
  auto add = [&](Value value) {
    if (nd::TensorType type = nd::getTensorType(value))
      for (nd::DimAttr dim : type.getDims())
        dims.insert(dim.getName());
  };
  Block &body = kernel.getBody().front();
  llvm::for_each(body.getArguments(), add);
  for (Operation &op : body)
    llvm::for_each(op.getResults(), add);
  SmallVector<StringAttr> sorted(dims.begin(), dims.end());
  llvm::sort(sorted, [](StringAttr a, StringAttr b) {
    return a.getValue() < b.getValue();
  });
  for (auto [position, dim] : llvm::enumerate(sorted))
    if (mesh.getAxisIndex(dim) < 0)
      newNames[dim] =
          StringAttr::get(kernel.getContext(), "%" + Twine(position));
  replacer.addReplacement([this](StringAttr name) -> std::optional<Attribute> {
    StringAttr renamed = newNames.lookup(name);
    return renamed ? renamed : name;
  });
}

void KeyWriter::writeAttribute(Operation &op, NamedAttribute attribute) {
  StringRef name = attribute.getName();
  if (nd::isIdentity(name))
    return;
  stream << ' ' << name << '=';
  auto random = dyn_cast<nd::RandomOp>(op);
  if (!random || attribute.getValue() != random.getStreamAttr()) {
    stream << replacer.replace(attribute.getValue());
    return;
  }
  auto *known = llvm::find(key.streams, random.getStreamAttr());
  stream << known - key.streams.begin();
  if (known == key.streams.end())
    key.streams.push_back(random.getStreamAttr());
}

void KeyWriter::writeOp(Operation &op) {
  stream << '\n' << op.getName();
  for (Value operand : op.getOperands())
    stream << ' ' << numbers.lookup(operand);
  for (NamedAttribute attribute : op.getAttrDictionary())
    writeAttribute(op, attribute);
  // What is inside is not compared.
  if (op.getNumRegions() > 0)
    stream << ' ' << kernel.getSymName();
  for (Value result : op.getResults()) {
    numbers[result] = numbers.size();
    stream << " : " << replacer.replace(result.getType());
  }
}

KernelKey KeyWriter::write() {
  renameDims();
  stream << replacer.replace(kernel.getPlanAttr()) << ' '
         << replacer.replace(kernel.getInputOrdersAttr()) << ' '
         << replacer.replace(kernel.getOutputOrdersAttr());
  if (auto alignments = kernel.getAlignmentsAttr())
    stream << ' ' << alignments;
  for (auto [input, output] : getInPlacePairs(kernel))
    stream << ' ' << input << '=' << output;
  Block &body = kernel.getBody().front();
  for (Value argument : body.getArguments()) {
    numbers[argument] = numbers.size();
    stream << " : " << replacer.replace(argument.getType());
  }
  for (Operation &op : body)
    writeOp(op);
  return std::move(key);
}

KernelKey KernelKey::of(exec::KernelOp kernel) {
  return KeyWriter(kernel).write();
}

} // namespace meshc::codegen
