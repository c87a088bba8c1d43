//===- PlanArena.cpp - an offset for every tensor -------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/ArenaAttributes.h"
#include "dialects/Nd/StepNames.h"
#include "dialects/Nd/TensorAttributes.h"
#include "lib/Schedule/BlockPlanner.h"
#include "lib/Schedule/Passes.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace meshc::schedule {

#define GEN_PASS_DEF_PLANARENA
#include "lib/Schedule/Passes.h.inc"

namespace {
/// A tensor of the program's table.
struct Resident {
  StringAttr name;
  nd::TensorRole role;
  ArrayAttr order;
  nd::TensorType type;
  Location loc;
  int64_t offset = 0;
};

/// The program's table, from the arguments and results of its functions.
class ResidentTable {
public:
  ResidentTable(ModuleOp module) : mesh(nd::MeshAttr::of(module)) {}

  LogicalResult add(func::FuncOp function);
  /// Places all, by role, and makes their ops; bytes of all together.
  int64_t place(ModuleOp module);
  int64_t getOffset(const nd::TensorAttributes &tensor) const {
    return residents.find(getKey(tensor))->second.offset;
  }

private:
  using Key = std::pair<uint32_t, StringAttr>; ///< role, name
  static Key getKey(const nd::TensorAttributes &tensor) {
    return {uint32_t(*tensor.getRole()), tensor.getName()};
  }
  LogicalResult add(func::FuncOp function, const nd::TensorAttributes &tensor,
                    Type type, Location loc);

  nd::MeshAttr mesh;
  llvm::MapVector<Key, Resident> residents;
};
} // namespace

/// In the order of the table.
static constexpr nd::TensorRole roles[] = {
    nd::TensorRole::Parameter, nd::TensorRole::Optimizer,
    nd::TensorRole::Average,   nd::TensorRole::Input,
    nd::TensorRole::Metric,    nd::TensorRole::TrainingMetric,
    nd::TensorRole::Skipped,   nd::TensorRole::Cache,
    nd::TensorRole::Token,     nd::TensorRole::Position,
    nd::TensorRole::Logits,    nd::TensorRole::Statistic,
    nd::TensorRole::Batches,   nd::TensorRole::Rest};

LogicalResult ResidentTable::add(func::FuncOp function,
                                 const nd::TensorAttributes &attributes,
                                 Type type, Location loc) {
  StringAttr name = attributes.getName();
  std::optional<nd::TensorRole> role = attributes.getRole();
  ArrayAttr order = attributes.getOrder();
  auto tensor = dyn_cast<nd::TensorType>(type);
  if (!name || !role || !order || !tensor)
    return emitError(loc) << "arguments and results of '" << function.getName()
                          << "' need nd.name, nd.role and nd.order";
  auto [entry, isNew] = residents.insert(
      {getKey(attributes), Resident{name, *role, order, tensor, loc, 0}});
  if (!isNew && (entry->second.type != tensor || entry->second.order != order))
    return emitError(loc) << nd::stringifyTensorRole(*role) << " '"
                          << name.getValue() << "' is " << tensor << " in '"
                          << function.getName() << "' but "
                          << entry->second.type << " elsewhere";
  return success();
}

LogicalResult ResidentTable::add(func::FuncOp function) {
  if (function.isDeclaration())
    return function.emitError()
           << "'" << function.getName() << "' has no body to be scheduled";
  for (BlockArgument argument : function.getArguments())
    if (failed(add(
            function,
            nd::TensorAttributes::ofArgument(function, argument.getArgNumber()),
            argument.getType(), argument.getLoc())))
      return failure();
  Operation *terminator = function.getBody().front().getTerminator();
  for (auto [index, value] : llvm::enumerate(terminator->getOperands()))
    if (failed(add(function, nd::TensorAttributes::ofResult(function, index),
                   value.getType(), value.getLoc())))
      return failure();
  return success();
}

int64_t ResidentTable::place(ModuleOp module) {
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  int64_t offset = 0;
  for (nd::TensorRole role : roles)
    for (auto &[key, resident] : residents) {
      if (resident.role != role)
        continue;
      resident.offset = offset;
      offset = alignInArena(offset + resident.type.getLocalBytes(mesh));
      // In memory as declared.
      SmallVector<StringAttr> order(resident.order.getAsRange<StringAttr>());
      exec::TensorOp::create(builder, resident.loc, resident.name,
                             nd::TensorRoleAttr::get(module.getContext(), role),
                             resident.order,
                             TypeAttr::get(exec::BufferType::get(
                                 module.getContext(), resident.type, order)),
                             builder.getI64IntegerAttr(resident.offset));
    }
  return offset;
}

/// Places the values of one function: its temporaries begin at `base`. Returns
/// the bytes up to their end.
static int64_t planFunction(func::FuncOp function,
                            const ResidentTable &residents, int64_t base) {
  Block &block = function.getBody().front();
  BlockPlanner planner(block);
  SmallVector<DictionaryAttr> attributes;
  function.getAllArgAttrs(attributes);
  for (BlockArgument argument : block.getArguments()) {
    unsigned number = argument.getArgNumber();
    int64_t offset =
        residents.getOffset(nd::TensorAttributes::ofArgument(function, number));
    planner.place(argument, offset);
    NamedAttrList list(attributes[number]);
    exec::setOffset(list, function.getContext(), offset);
    attributes[number] = list.getDictionary(function.getContext());
  }
  for (auto [index, value] :
       llvm::enumerate(block.getTerminator()->getOperands()))
    if (!isa<BlockArgument>(value))
      planner.place(value, residents.getOffset(nd::TensorAttributes::ofResult(
                               function, index)));
  function.setAllArgAttrs(attributes);
  int64_t bytes = planner.plan();
  planner.annotate(base);
  return base + bytes;
}

namespace {
struct PlanArena : impl::PlanArenaBase<PlanArena> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto functions = llvm::to_vector(module.getOps<func::FuncOp>());
    // What is trained comes first, so that the loss leads the metrics.
    auto *train = llvm::find_if(functions, [](func::FuncOp function) {
      return nd::isStep(function, nd::Step::Train);
    });
    if (train != functions.end())
      std::rotate(functions.begin(), train, train + 1);
    ResidentTable residents(module);
    for (func::FuncOp function : functions)
      if (failed(residents.add(function)))
        return signalPassFailure();
    int64_t base = residents.place(module), end = base;
    for (func::FuncOp function : functions)
      end = std::max(end, planFunction(function, residents, base));
    exec::setArenaBytes(module, end);
  }
};
} // namespace

} // namespace meshc::schedule
