//===- Scope.cpp - names of a body and what they mean ---------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "lib/Frontend/Scope.h"

#include "dialects/Nd/Ops/LoopOps.h"

using namespace mlir;
using namespace meshc;
using namespace meshc::frontend;

const Operand *Scope::findValue(std::string_view name) const {
  for (const Scope *each = this; each; each = each->parent)
    if (auto found = each->values.find(name); found != each->values.end())
      return &found->second;
  return nullptr;
}

std::optional<syntax::Span> Scope::findPlace(std::string_view name) const {
  for (const Scope *each = this; each; each = each->parent)
    if (auto found = each->places.find(name); found != each->places.end())
      return found->second;
  return std::nullopt;
}

bool Scope::isCarriedNumber(std::string_view name) const {
  const Scope *owner = this;
  while (owner->parent && !owner->values.count(name))
    owner = owner->parent;
  if (!owner->loop || owner->places.count(name) ||
      !owner->loop->isAssigned(name) || !owner->loop->isCarried(name))
    return false;
  return owner->parent->findValue(name)->constant.has_value();
}

std::string_view Scope::findDim(std::string_view name) const {
  const DimArgument *argument = findDimArgument(name);
  return argument ? argument->name : name;
}

const DimArgument *Scope::findDimArgument(std::string_view name) const {
  for (const Scope *each = this; each; each = each->parent)
    if (auto found = each->dims.find(name); found != each->dims.end())
      return &found->second;
  return nullptr;
}

const Callee *Scope::findFunction(std::string_view name) const {
  for (const Scope *each = this; each; each = each->parent)
    if (auto found = each->functions.find(name); found != each->functions.end())
      return &found->second;
  return nullptr;
}

std::vector<std::string_view> Scope::valueNames() const {
  std::vector<std::string_view> names;
  for (const Scope *each = this; each; each = each->parent)
    for (const auto &entry : each->values)
      names.push_back(entry.first);
  return names;
}

Loop::Loop(const syntax::ForStatement &statement, syntax::Span span,
           nd::DimAttr dim, std::vector<syntax::Name> names, Scope &parent)
    : statement(statement), span(span), dim(dim), assigned(std::move(names)),
      body(&region.emplaceBlock()) {
  scope.parent = &parent;
  scope.loop = this;
  scope.module = parent.module;
  for (const syntax::Name &name : assigned)
    carries[name.text] = false;
}

Value Loop::capture(Value outside) {
  Value &inside = captured[outside];
  if (inside)
    return inside;
  nd::TensorType type = nd::getTensorType(outside);
  if (type.hasDim(dimName())) {
    // Arguments of one kind stand together.
    unsigned index = carried.size() + stacked.size();
    stacked.push_back(outside);
    inside = body->insertArgument(index, nd::getEntryType(type, dimName()),
                                  outside.getLoc());
  } else {
    whole.push_back(outside);
    inside = body->addArgument(type, outside.getLoc());
  }
  return inside;
}

Value Loop::findOperand(unsigned argument) const {
  for (const SmallVector<Value> *kind : {&carried, &stacked, &whole}) {
    if (argument < kind->size())
      return (*kind)[argument];
    argument -= kind->size();
  }
  llvm_unreachable("an argument for each operand");
}

Value Loop::carry(const syntax::Name &name, Value initial) {
  Value argument =
      body->insertArgument(carried.size(), initial.getType(), initial.getLoc());
  carriedNames.push_back(name);
  carried.push_back(initial);
  if (!name.text.empty()) {
    carries[name.text] = true;
    scope.values[name.text] = Operand::of(argument);
  }
  return argument;
}
