//===- KernelElements.cpp - elements of a kernel's values
//------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Codegen/KernelElements.h"
#include "dialects/Nd/NdInterfaces.h"
#include "dialects/Nd/Ops/IndexingOps.h"
#include "dialects/Nd/Ops/ModelOps.h"
#include "dialects/Nd/Ops/Philox.h"
#include "lib/Codegen/Divisibility.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/EquivalenceClasses.h"

using namespace mlir;

namespace meshc::codegen {

Type getStorageType(Type elementType) {
  if (elementType.isInteger(1))
    return IntegerType::get(elementType.getContext(), 8);
  // Not every target takes a bf16 out of a vector without a library's function.
  if (elementType.isBF16())
    return IntegerType::get(elementType.getContext(), 16);
  return elementType;
}

/// The type, or vectors of it of the value's shape.
static Type shapeLike(Type type, Value value) {
  auto vector = dyn_cast<VectorType>(value.getType());
  return vector ? VectorType::get(vector.getShape(), type) : type;
}

//===----------------------------------------------------------------------===//
// Context and buffers
//===----------------------------------------------------------------------===//

KernelElements::KernelElements(OpBuilder &builder, exec::KernelOp kernel,
                               Value context, ValueRange buffers, int64_t lanes,
                               ArrayRef<std::pair<unsigned, unsigned>> inPlace)
    : ElementEmitter(builder, kernel.getLoc()),
      module(kernel->getParentOfType<ModuleOp>()),
      mesh(nd::MeshAttr::of(kernel)), lanes(lanes),
      inputCount(kernel.getBody().getNumArguments()),
      top(builder.getInsertionBlock()), context(context) {
  // What is not used costs nothing: the optimizer drops it.
  coordinates = loadContext(1, LLVM::LLVMPointerType::get(kernel.getContext()));
  seed = loadContext(2, builder.getI64Type());
  step = loadContext(3, builder.getI64Type());
  makeViews(kernel, buffers, inPlace);
  known.emplace_back();
}

/// Field of MeshcContext, each of 8 bytes (AbiTypes.cpp checks it).
Value KernelElements::loadContext(int field, Type type) {
  Value address =
      LLVM::GEPOp::create(builder, loc, context.getType(), builder.getI64Type(),
                          context, ArrayRef<LLVM::GEPArg>{field});
  auto load = LLVM::LoadOp::create(builder, loc, type, address, 8);
  load.setInvariant(true);
  return load;
}

Value KernelElements::getSetting(StringAttr name, nd::SettingForm form) {
  std::optional<unsigned> index = nd::findRunSetting(module, name);
  if (!index)
    return {};
  // Loaded where it is used: the optimizer moves it out of loops.
  Value settings = loadContext(4, context.getType());
  Type f32 = builder.getF32Type();
  auto entry = static_cast<int32_t>(3 * *index + static_cast<uint32_t>(form));
  Value address = LLVM::GEPOp::create(builder, loc, context.getType(), f32,
                                      settings, ArrayRef<LLVM::GEPArg>{entry});
  auto load = LLVM::LoadOp::create(builder, loc, f32, address, 4);
  load.setInvariant(true);
  return load;
}

/// Sets of buffers that the optimizer knows apart. Each access lists all sets
/// but its own: with one for each buffer, the lists of a kernel of thousands
/// would take more than all of its code.
static constexpr size_t maxScopes = 64;

/// A scope for each set of buffers that may be one, so that the optimizer may
/// move loads over stores to other buffers. Beyond maxScopes, sets share them.
static SmallVector<LLVM::AliasScopeAttr>
makeScopes(exec::KernelOp kernel, unsigned inputCount, unsigned count,
           ArrayRef<std::pair<unsigned, unsigned>> inPlace) {
  llvm::EquivalenceClasses<unsigned> classes;
  for (unsigned buffer = 0; buffer < count; ++buffer)
    classes.insert(buffer);
  for (auto [input, output] : inPlace)
    classes.unionSets(input, inputCount + output);
  MLIRContext *context = kernel.getContext();
  auto domain =
      LLVM::AliasScopeDomainAttr::get(context, kernel.getSymNameAttr());
  DenseMap<unsigned, size_t> ofLeader;
  SmallVector<LLVM::AliasScopeAttr> known, scopes;
  for (unsigned buffer = 0; buffer < count; ++buffer) {
    size_t number =
        ofLeader.try_emplace(classes.getLeaderValue(buffer), ofLeader.size())
            .first->second %
        maxScopes;
    if (number == known.size())
      known.push_back(LLVM::AliasScopeAttr::get(domain));
    scopes.push_back(known[number]);
  }
  return scopes;
}

void KernelElements::makeViews(
    exec::KernelOp kernel, ValueRange buffers,
    ArrayRef<std::pair<unsigned, unsigned>> inPlace) {
  Block &body = kernel.getBody().front();
  auto addView = [&](Value tensor, Attribute order) {
    BufferView view;
    view.type = cast<nd::TensorType>(tensor.getType());
    llvm::append_range(view.order,
                       cast<ArrayAttr>(order).getAsRange<StringAttr>());
    auto buffer =
        exec::BufferType::get(kernel.getContext(), view.type, view.order);
    for (StringAttr dim : view.order)
      view.strides.push_back(buffer.getStride(dim.getValue(), mesh));
    view.pointer = buffers[views.size()];
    view.alignment = kernel.getAlignment(views.size());
    views.push_back(view);
  };
  auto yield = cast<exec::YieldOp>(body.getTerminator());
  for (auto [tensor, order] :
       llvm::zip(body.getArguments(), kernel.getInputOrders()))
    addView(tensor, order);
  for (auto [tensor, order] :
       llvm::zip(yield.getValues(), kernel.getOutputOrders()))
    addView(tensor, order);

  auto scopes = makeScopes(kernel, inputCount, views.size(), inPlace);
  llvm::SmallSetVector<Attribute, 8> distinct(scopes.begin(), scopes.end());
  for (auto [input, output] : inPlace)
    views[input].isReplaced = true;
  for (auto [view, scope] : llvm::zip(views, scopes)) {
    SmallVector<Attribute> others(distinct.getArrayRef());
    llvm::erase(others, scope);
    view.aliasScopes = builder.getArrayAttr({scope});
    view.noaliasScopes = builder.getArrayAttr(others);
  }
}

Value KernelElements::getStream(StringAttr name) {
  if (Value number = streams.lookup(name))
    return number;
  return constant(builder.getI32Type(),
                  static_cast<int32_t>(nd::hashStream(name.getValue())));
}

Value KernelElements::getIndexConstant(int64_t value) {
  Value &constant = constants[value];
  if (!constant) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(top);
    constant = arith::ConstantIndexOp::create(builder, loc, value);
  }
  return constant;
}

/// The rank's coordinate along the axis, as an `index`.
Value KernelElements::loadCoordinate(StringAttr axis) {
  auto number = static_cast<int32_t>(mesh.getAxisIndex(axis));
  Value address = LLVM::GEPOp::create(builder, loc, coordinates.getType(),
                                      builder.getI64Type(), coordinates,
                                      ArrayRef<LLVM::GEPArg>{number});
  auto load =
      LLVM::LoadOp::create(builder, loc, builder.getI64Type(), address, 8);
  load.setInvariant(true);
  return arith::IndexCastOp::create(builder, loc, builder.getIndexType(), load);
}

Value KernelElements::getGlobalOffset(nd::TensorType type, StringRef dim) {
  nd::DimAttr attr = type.getDim(dim);
  Value offset = getIndexConstant(0);
  if (!attr)
    return offset;
  for (auto [axis, step] : llvm::zip(
           attr.getAxes(), type.getBlockSteps(type.getDimIndex(dim), mesh))) {
    Value first = arith::MulIOp::create(builder, loc, loadCoordinate(axis),
                                        getIndexConstant(step));
    offset = arith::AddIOp::create(builder, loc, offset, first);
  }
  return offset;
}

/// Each axis leaves of the entries behind its block's first one as many as its
/// blocks have. Computed once, where the coordinates are known.
Value KernelElements::getEntryCount(nd::TensorType type, StringRef dim) {
  int64_t position = type.getDimIndex(dim);
  if (type.isEven(position, mesh))
    return getIndexConstant(type.getLocalSize(position, mesh));
  nd::DimAttr attr = type.getDims()[position];
  if (Value known = counts.lookup(attr))
    return known;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointAfterValue(coordinates);
  Value count = getIndexConstant(attr.getSize());
  for (auto [axis, step] :
       llvm::zip(attr.getAxes(), type.getBlockSteps(position, mesh))) {
    Value width = getIndexConstant(step);
    Value first =
        arith::MulIOp::create(builder, loc, loadCoordinate(axis), width);
    count = arith::SubIOp::create(builder, loc, count, first);
    count = arith::MaxSIOp::create(builder, loc, count, getIndexConstant(0));
    count = arith::MinSIOp::create(builder, loc, count, width);
  }
  counts[attr] = count;
  return count;
}

//===----------------------------------------------------------------------===//
// Loads and stores
//===----------------------------------------------------------------------===//

static int64_t getBytes(Type storage) {
  return storage.getIntOrFloatBitWidth() / 8;
}

/// Place of the element at the index's bases, `lane` further along its lanes.
KernelElements::Place KernelElements::getPlace(const BufferView &view,
                                               const nd::ElementIndex &index,
                                               int64_t lane) {
  Value offset;
  auto add = [&](Value term) {
    offset = offset ? arith::AddIOp::create(builder, loc, offset, term) : term;
  };
  for (auto [dim, stride] : llvm::zip(view.order, view.strides)) {
    const nd::DimIndex &at = index.at(dim.getValue());
    Value base = at.base;
    if (at.lanes && lane != 0)
      base = arith::AddIOp::create(builder, loc, base, getIndexConstant(lane));
    add(stride == 1 ? base
                    : arith::MulIOp::create(builder, loc, base,
                                            getIndexConstant(stride)));
  }
  if (!offset)
    return {view.pointer, view.alignment};
  Value number =
      arith::IndexCastOp::create(builder, loc, builder.getI64Type(), offset);
  Type storage = getStorageType(view.type.getElementType());
  Value address = LLVM::GEPOp::create(
      builder, loc, view.pointer.getType(), storage, view.pointer,
      ArrayRef<LLVM::GEPArg>{number}, LLVM::GEPNoWrapFlags::inbounds);
  return {address, std::min(view.alignment,
                            getKnownDivisor(offset) * getBytes(storage))};
}

/// Stride along which the index's lanes run in the buffer; 0: no lanes.
static int64_t getLaneStride(const BufferView &view,
                             const nd::ElementIndex &index) {
  for (auto [dim, stride] : llvm::zip(view.order, view.strides))
    if (index.at(dim.getValue()).lanes)
      return stride;
  return 0;
}

template <typename Access>
static void addScopes(Access access, const BufferView &view) {
  access.setAliasScopesAttr(view.aliasScopes);
  if (!view.noaliasScopes.empty())
    access.setNoaliasScopesAttr(view.noaliasScopes);
}

Value fromStorage(nd::ElementEmitter &emitter, Value value, Type elementType) {
  OpBuilder &builder = emitter.builder;
  if (elementType.isInteger(1)) {
    Value zero = arith::ConstantOp::create(
        builder, emitter.loc, builder.getZeroAttr(value.getType()));
    return arith::CmpIOp::create(builder, emitter.loc, arith::CmpIPredicate::ne,
                                 value, zero);
  }
  if (elementType.isBF16())
    value = arith::BitcastOp::create(builder, emitter.loc,
                                     shapeLike(elementType, value), value);
  Type type = emitter.getComputeType(elementType, value);
  if (type == value.getType())
    return value;
  return arith::ExtFOp::create(builder, emitter.loc, type, value);
}

Value toStorage(nd::ElementEmitter &emitter, Value value, Type elementType) {
  OpBuilder &builder = emitter.builder;
  Type type = shapeLike(getStorageType(elementType), value);
  if (type == value.getType())
    return value;
  if (elementType.isInteger(1))
    return arith::ExtUIOp::create(builder, emitter.loc, type, value);
  Type element = shapeLike(elementType, value);
  if (element != value.getType())
    value = arith::TruncFOp::create(builder, emitter.loc, element, value);
  return element == type
             ? value
             : arith::BitcastOp::create(builder, emitter.loc, type, value)
                   .getResult();
}

/// Element(s) as they lie in memory.
Value KernelElements::loadStored(const BufferView &view,
                                 const nd::ElementIndex &index) {
  Type storage = getStorageType(view.type.getElementType());
  int64_t laneStride = getLaneStride(view, index);
  auto loadAs = [&](Type type, int64_t lane) -> Value {
    Place place = getPlace(view, index, lane);
    auto load = LLVM::LoadOp::create(builder, loc, type, place.address,
                                     place.alignment);
    addScopes(load, view);
    return load;
  };
  if (laneStride == 0)
    return loadAs(storage, 0);
  auto vector = VectorType::get({lanes}, storage);
  if (laneStride == 1)
    return loadAs(vector, 0);
  SmallVector<Value> elements;
  for (int64_t lane = 0; lane < lanes; ++lane)
    elements.push_back(loadAs(storage, lane));
  return vector::FromElementsOp::create(builder, loc, vector, elements);
}

Value KernelElements::load(const BufferView &view,
                           const nd::ElementIndex &index) {
  Type elementType = view.type.getElementType();
  Value isNeeded =
      view.isReplaced && needsElements ? needsElements(view.type) : Value();
  if (!isNeeded)
    return fromStorage(*this, loadStored(view, index), elementType);
  Type stored = getStorageType(elementType);
  if (getLaneStride(view, index) != 0)
    stored = VectorType::get({lanes}, stored);
  auto branch = scf::IfOp::create(builder, loc, stored, isNeeded,
                                  /*withElse=*/true);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(branch.thenBlock());
    scf::YieldOp::create(builder, loc, loadStored(view, index));
    builder.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(
        builder, loc,
        arith::ConstantOp::create(builder, loc, builder.getZeroAttr(stored))
            .getResult());
  }
  return fromStorage(*this, branch.getResult(0), elementType);
}

void KernelElements::store(const BufferView &view, Value element,
                           const nd::ElementIndex &index) {
  int64_t laneStride = getLaneStride(view, index);
  if (laneStride != 0 && !isa<VectorType>(element.getType()))
    element = vector::BroadcastOp::create(
        builder, loc, VectorType::get({lanes}, element.getType()), element);
  element = toStorage(*this, element, view.type.getElementType());
  auto storeOne = [&](Value value, int64_t lane) {
    Place place = getPlace(view, index, lane);
    auto store = LLVM::StoreOp::create(builder, loc, value, place.address,
                                       place.alignment);
    addScopes(store, view);
  };
  if (laneStride <= 1)
    return storeOne(element, 0);
  for (int64_t lane = 0; lane < lanes; ++lane)
    storeOne(vector::ExtractOp::create(builder, loc, element, lane), lane);
}

void KernelElements::store(unsigned output, Value element,
                           const nd::ElementIndex &index) {
  store(getOutput(output), element, index);
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

KernelElements::Key
KernelElements::makeKey(Value tensor, const nd::ElementIndex &index) const {
  Key key{tensor.getAsOpaquePointer()};
  for (nd::DimAttr dim : cast<nd::TensorType>(tensor.getType()).getDims()) {
    const nd::DimIndex &at = index.at(dim.getName().getValue());
    key.push_back(at.base.getAsOpaquePointer());
    key.push_back(at.lanes ? this : nullptr);
  }
  return key;
}

/// An element of the right shape for code that will be thrown away.
Value KernelElements::makeDefault(Value tensor, const nd::ElementIndex &index) {
  auto type = cast<nd::TensorType>(tensor.getType());
  Type shape = getComputeType(type.getElementType());
  for (nd::DimAttr dim : type.getDims())
    if (index.at(dim.getName().getValue()).lanes)
      shape = VectorType::get({lanes}, shape);
  return arith::ConstantOp::create(builder, loc, builder.getZeroAttr(shape));
}

/// The element as its tensor holds it. Short floats are computed in f32;
/// rounded where they are made, they have one value whether they go through
/// memory or not, and a maximum equals the element that it is.
Value KernelElements::round(Value tensor, Value element) {
  Type type = cast<nd::TensorType>(tensor.getType()).getElementType();
  if (!isa<FloatType>(type) || type.getIntOrFloatBitWidth() >= 32)
    return element;
  return fromStorage(*this, toStorage(*this, element, type), type);
}

Value KernelElements::compute(Value tensor, const nd::ElementIndex &index) {
  if (auto argument = dyn_cast<BlockArgument>(tensor))
    return load(views[argument.getArgNumber()], index);
  auto op = dyn_cast<nd::ElementOpInterface>(tensor.getDefiningOp());
  if (!op) {
    withoutElement = tensor.getDefiningOp();
    return makeDefault(tensor, index);
  }
  Value element = op.emitElement(*this, index);
  if (!element) {
    withoutLanes = op;
    return makeDefault(tensor, index);
  }
  return round(tensor, element);
}

Value KernelElements::getElement(Value tensor, const nd::ElementIndex &index) {
  Key key = makeKey(tensor, index);
  for (auto &scope : llvm::reverse(known))
    if (auto entry = scope.find(key); entry != scope.end())
      return entry->second;
  Value element = compute(tensor, index);
  known.back()[key] = element;
  return element;
}

void KernelElements::setElement(Value tensor, const nd::ElementIndex &index,
                                Value element) {
  known.back()[makeKey(tensor, index)] = round(tensor, element);
}

//===----------------------------------------------------------------------===//
// Lanes
//===----------------------------------------------------------------------===//

bool supportsLanes(exec::KernelOp kernel, int64_t lanes) {
  nd::MeshAttr mesh = nd::MeshAttr::of(kernel);
  StringAttr dim = kernel.getPlan().getLanes();
  llvm::DenseSet<std::pair<Value, StringAttr>> seen;
  SmallVector<std::pair<Value, StringAttr>> pending;
  auto add = [&](Value value, StringAttr along) {
    if (along && nd::getTensorType(value).hasDim(along.getValue()) &&
        seen.insert({value, along}).second)
      pending.push_back({value, along});
  };
  for (Operation &op : kernel.getBody().front()) {
    if (Value table = nd::getChangedTable(&op))
      add(table, dim);
    if (isa<nd::ReduceOpInterface>(op))
      add(op.getOperand(0), dim);
    else if (auto scatter = dyn_cast<nd::ScatterOpInterface>(op))
      add(scatter.getUpdates(), dim);
    else if (auto insert = dyn_cast<nd::InsertOpInterface>(op))
      add(insert.getUpdates(), dim);
    else if (isa<nd::PrefixOpInterface>(op))
      add(op.getOperand(0), dim);
    else if (isa<exec::YieldOp>(op))
      for (Value output : op.getOperands())
        add(output, dim);
  }
  while (!pending.empty()) {
    auto [value, along] = pending.pop_back_val();
    auto op = value.getDefiningOp<nd::ElementOpInterface>();
    if (!op)
      continue;
    if (!op.supportsLanes(along.getValue(), lanes, mesh))
      return false;
    for (auto [index, operand] : llvm::enumerate(op->getOperands()))
      add(operand, op.getOperandDim(index, along.getValue()).dim);
  }
  return true;
}

} // namespace meshc::codegen
