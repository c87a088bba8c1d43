//===- PlanArena.cpp - an offset for every tensor -------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/ArenaAttributes.h"
#include "dialects/Exec/Order.h"
#include "dialects/Exec/Scratch.h"
#include "dialects/Nd/TensorAttributes.h"
#include "lib/Schedule/Passes.h"
#include "lib/Schedule/Residence.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "meshc-plan-arena"

using namespace mlir;

namespace meshc::schedule {

#define GEN_PASS_DEF_PLANARENA
#include "lib/Schedule/Passes.h.inc"

static int64_t align(int64_t bytes) { return (bytes + 63) / 64 * 64; }

//===----------------------------------------------------------------------===//
// Persistent tensors
//===----------------------------------------------------------------------===//

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
    nd::TensorRole::Parameter, nd::TensorRole::Optimizer, nd::TensorRole::Input,
    nd::TensorRole::Metric};

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
      offset = align(offset + resident.type.getLocalBytes(mesh));
      // In memory as declared.
      SmallVector<StringAttr> order(resident.order.getAsRange<StringAttr>());
      exec::TensorOp::create(
          builder, resident.loc, resident.name,
          builder.getStringAttr(nd::stringifyTensorRole(role)), resident.order,
          TypeAttr::get(
              exec::BufferType::get(module.getContext(), resident.type, order)),
          builder.getI64IntegerAttr(resident.offset));
    }
  return offset;
}

//===----------------------------------------------------------------------===//
// Temporaries
//===----------------------------------------------------------------------===//

namespace {
/// Values that share one place in turn, and their live range: the numbers of
/// the first op that writes and the last that reads, both included.
struct Storage {
  int64_t bytes = 0;
  size_t begin = 0, end = 0;
  int64_t offset = 0;

  bool meets(const Storage &other) const {
    return begin <= other.end && other.begin <= end;
  }
};

/// Places the values of one function.
class FunctionPlanner {
public:
  FunctionPlanner(func::FuncOp function, const ResidentTable &residents)
      : function(function), block(function.getBody().front()),
        mesh(nd::MeshAttr::of(function)), residents(residents) {}

  /// Bytes up to the end of the temporaries, which begin at `base`.
  int64_t run(int64_t base);

private:
  void placeResidents();
  void collect();
  std::optional<size_t> findDying(Operation *op, unsigned result,
                                  ArrayRef<size_t> taken);
  int64_t pack(int64_t base);
  void annotate();

  func::FuncOp function;
  Block &block;
  nd::MeshAttr mesh;
  const ResidentTable &residents;
  DenseMap<Operation *, size_t> times;
  DenseMap<Value, int64_t> fixed; ///< offsets of values that stay
  std::vector<Storage> storages;
  DenseMap<Value, size_t> storageOf;
  DenseMap<Operation *, size_t> scratchOf; ///< memory of one op alone
};
} // namespace

void FunctionPlanner::placeResidents() {
  for (BlockArgument argument : block.getArguments())
    fixed[argument] = residents.getOffset(
        nd::TensorAttributes::ofArgument(function, argument.getArgNumber()));
  for (auto [index, value] :
       llvm::enumerate(block.getTerminator()->getOperands()))
    if (!isa<BlockArgument>(value))
      fixed[value] =
          residents.getOffset(nd::TensorAttributes::ofResult(function, index));
}

/// A temporary operand that dies at the op and may be overwritten.
std::optional<size_t> FunctionPlanner::findDying(Operation *op, unsigned result,
                                                 ArrayRef<size_t> taken) {
  for (OpOperand &operand : op->getOpOperands()) {
    auto storage = storageOf.find(operand.get());
    if (storage == storageOf.end() ||
        llvm::is_contained(taken, storage->second))
      continue;
    bool dies = llvm::all_of(operand.get().getUsers(), [&](Operation *user) {
      return times.lookup(user) <= times.lookup(op);
    });
    if (dies && canWriteOver(op, operand.getOperandNumber(), result))
      return storage->second;
  }
  return std::nullopt;
}

void FunctionPlanner::collect() {
  for (Operation &op : block)
    times[&op] = times.size();
  for (Operation &op : block.without_terminator()) {
    if (int64_t bytes = exec::getScratchBytes(&op)) {
      scratchOf[&op] = storages.size();
      storages.push_back({bytes, times[&op], times[&op]});
    }
    SmallVector<size_t> taken;
    for (OpResult result : op.getResults()) {
      if (fixed.contains(result))
        continue;
      std::optional<size_t> place =
          findDying(&op, result.getResultNumber(), taken);
      if (!place) {
        place = storages.size();
        storages.emplace_back();
        storages.back().begin = times[&op];
      }
      taken.push_back(*place);
      storageOf[result] = *place;
      Storage &storage = storages[*place];
      storage.bytes = std::max(storage.bytes,
                               nd::getTensorType(result).getLocalBytes(mesh));
      storage.end = std::max(storage.end, times[&op]);
      for (Operation *user : result.getUsers())
        storage.end = std::max(storage.end, times[user]);
    }
  }
}

/// Places the largest first, each at the lowest offset without overlap with
/// values that live at the same time.
int64_t FunctionPlanner::pack(int64_t base) {
  SmallVector<Storage *> bySize;
  for (Storage &storage : storages)
    bySize.push_back(&storage);
  // Of one size, those that were made first.
  llvm::sort(bySize, [](const Storage *a, const Storage *b) {
    return std::tie(b->bytes, a) < std::tie(a->bytes, b);
  });
  SmallVector<Storage *> placed; ///< by offset
  int64_t end = base;
  for (Storage *storage : bySize) {
    int64_t offset = base;
    for (const Storage *other : placed) {
      if (!storage->meets(*other))
        continue;
      if (offset + storage->bytes <= other->offset)
        break;
      offset = std::max(offset, align(other->offset + other->bytes));
    }
    storage->offset = offset;
    auto *place = llvm::upper_bound(placed, storage,
                                    [](const Storage *a, const Storage *b) {
                                      return a->offset < b->offset;
                                    });
    placed.insert(place, storage);
    end = std::max(end, align(offset + storage->bytes));
    LDBG() << storage->bytes << " bytes at " << offset << " for ops "
           << storage->begin << " to " << storage->end << " of '"
           << function.getName() << "'";
  }
  return end;
}

void FunctionPlanner::annotate() {
  SmallVector<DictionaryAttr> attributes;
  function.getAllArgAttrs(attributes);
  for (BlockArgument argument : block.getArguments()) {
    DictionaryAttr &each = attributes[argument.getArgNumber()];
    NamedAttrList list(each);
    exec::setOffset(list, function.getContext(), fixed.lookup(argument));
    each = list.getDictionary(function.getContext());
  }
  function.setAllArgAttrs(attributes);
  for (Operation &op : block.without_terminator()) {
    SmallVector<int64_t> offsets;
    for (Value result : op.getResults())
      if (auto place = fixed.find(result); place != fixed.end())
        offsets.push_back(place->second);
      else
        offsets.push_back(storages[storageOf.lookup(result)].offset);
    exec::setOffsets(&op, offsets);
    if (auto scratch = scratchOf.find(&op); scratch != scratchOf.end()) {
      const Storage &storage = storages[scratch->second];
      exec::setScratchPlace(&op, {storage.offset, storage.bytes});
    }
  }
}

int64_t FunctionPlanner::run(int64_t base) {
  placeResidents();
  collect();
  int64_t end = pack(base);
  annotate();
  return end;
}

namespace {
struct PlanArena : impl::PlanArenaBase<PlanArena> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto functions = llvm::to_vector(module.getOps<func::FuncOp>());
    // What is trained comes first, so that the loss leads the metrics.
    auto *train = llvm::find_if(functions, [](func::FuncOp function) {
      return function.getName() == "train_step";
    });
    if (train != functions.end())
      std::rotate(functions.begin(), train, train + 1);
    ResidentTable residents(module);
    for (func::FuncOp function : functions)
      if (failed(residents.add(function)))
        return signalPassFailure();
    int64_t base = residents.place(module), end = base;
    for (func::FuncOp function : functions)
      end = std::max(end, FunctionPlanner(function, residents).run(base));
    exec::setArenaBytes(module, end);
  }
};
} // namespace

} // namespace meshc::schedule
