//===- FunctionPlans.cpp - the plans of a program's functions -------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Spmd/FunctionPlans.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;

namespace meshc::spmd {

static constexpr llvm::StringLiteral planName = "spmd.plan";

void setPlan(Operation *function, PlanAttr plan) {
  function->setAttr(planName, plan);
}

PlanAttr getPlan(Operation *function) {
  return function->getAttrOfType<PlanAttr>(planName);
}

PlanAttr takePlan(Operation *function) {
  PlanAttr plan = getPlan(function);
  function->removeAttr(planName);
  return plan;
}

DictionaryAttr getPlans(ModuleOp module) {
  NamedAttrList plans;
  for (auto function : module.getOps<FunctionOpInterface>())
    if (PlanAttr plan = getPlan(function))
      plans.set(function.getName(), plan);
  return plans.getDictionary(module.getContext());
}

LogicalResult setPlans(ModuleOp module, DictionaryAttr plans) {
  size_t used = 0;
  for (auto function : module.getOps<FunctionOpInterface>()) {
    auto plan = plans.getAs<PlanAttr>(function.getName());
    if (!plan)
      return function->emitError("there is no plan for function '")
             << function.getName() << "'";
    setPlan(function, plan);
    ++used;
  }
  if (used != plans.size())
    return module.emitError("there are ")
           << plans.size() << " plans for " << used << " functions";
  return success();
}

std::string printPlans(DictionaryAttr plans) {
  std::string text;
  llvm::raw_string_ostream out(text);
  out << "{";
  llvm::interleave(
      plans, out,
      [&](NamedAttribute plan) {
        out << '\n' << plan.getName().getValue() << " = ";
        plan.getValue().print(out);
      },
      ",");
  out << "\n}\n";
  return text;
}

LogicalResult readPlans(ModuleOp module, llvm::StringRef file) {
  auto text = llvm::MemoryBuffer::getFile(file, /*IsText=*/true);
  if (!text)
    return module.emitError("cannot read plans from '")
           << file << "': " << text.getError().message();
  MLIRContext *context = module.getContext();
  Attribute parsed;
  // The parser's errors are at places of a text without a name.
  llvm::SmallVector<std::pair<FileLineColLoc, std::string>> errors;
  {
    ScopedDiagnosticHandler handler(context, [&](Diagnostic &diagnostic) {
      auto place = dyn_cast<FileLineColLoc>(diagnostic.getLocation());
      if (!place)
        return failure();
      errors.emplace_back(FileLineColLoc::get(context, file, place.getLine(),
                                              place.getColumn()),
                          diagnostic.str());
      return success();
    });
    parsed = parseAttribute((*text)->getBuffer(), context);
  }
  for (const auto &[place, message] : errors)
    emitError(place) << message;
  if (!parsed)
    return failure();
  auto plans = dyn_cast<DictionaryAttr>(parsed);
  if (!plans)
    return emitError(FileLineColLoc::get(context, file, 1, 1))
           << "expected a dictionary of plans, such as '{train_step = "
              "#spmd.plan<...>}'";
  return setPlans(module, plans);
}

} // namespace meshc::spmd
