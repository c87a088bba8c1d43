//===- Sharding.cpp - shardings of a tensor and how they differ -----------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Spmd/Sharding.h"

using namespace mlir;

namespace meshc::spmd {

using nd::DimAttr;
using nd::MeshAttr;
using nd::TensorType;

ArrayRef<StringAttr> getAxesOf(TensorType type, llvm::StringRef dim) {
  DimAttr attr = type.getDim(dim);
  return attr ? attr.getAxes() : ArrayRef<StringAttr>();
}

TensorType resize(TensorType type, llvm::StringRef dim, int64_t size) {
  llvm::SmallVector<nd::DimAttr> dims(type.getDims());
  nd::DimAttr &attr = dims[type.getDimIndex(dim)];
  attr =
      nd::DimAttr::get(type.getContext(), attr.getName(), size, attr.getAxes());
  return TensorType::get(type.getElementType(), dims, type.getPartialKind(),
                         type.getPartialAxes());
}

ArrayRef<StringAttr> getAxesBehind(ArrayRef<StringAttr> axes,
                                   ArrayRef<StringAttr> placed) {
  if (placed.empty() || axes.size() < placed.size() ||
      axes.take_front(placed.size()) != placed)
    return {};
  return axes.drop_front(placed.size());
}

TensorType withAxes(TensorType type, ArrayRef<AxisList> ofDims) {
  llvm::SmallVector<DimAttr> dims;
  for (auto [dim, axes] : llvm::zip(type.getDims(), ofDims))
    dims.push_back(
        DimAttr::get(type.getContext(), dim.getName(), dim.getSize(), axes));
  return TensorType::get(type.getElementType(), dims, type.getPartialKind(),
                         type.getPartialAxes());
}

/// `type` with other axes on one dim, unchecked.
static TensorType replaceAxes(TensorType type, llvm::StringRef dim,
                              ArrayRef<StringAttr> axes) {
  llvm::SmallVector<DimAttr> dims(type.getDims());
  DimAttr &attr = dims[type.getDimIndex(dim)];
  attr = DimAttr::get(type.getContext(), attr.getName(), attr.getSize(), axes);
  return TensorType::get(type.getElementType(), dims, type.getPartialKind(),
                         type.getPartialAxes());
}

TensorType addAxes(TensorType type, llvm::StringRef dim,
                   ArrayRef<StringAttr> axes) {
  if (!type.hasDim(dim))
    return {};
  AxisList used = getUsedAxes(type), all(getAxesOf(type, dim));
  for (StringAttr axis : axes) {
    if (llvm::is_contained(used, axis))
      return {};
    used.push_back(axis);
    all.push_back(axis);
  }
  return replaceAxes(type, dim, all);
}

TensorType dropAxes(TensorType type, llvm::StringRef dim,
                    ArrayRef<StringAttr> axes) {
  ArrayRef<StringAttr> present = getAxesOf(type, dim);
  if (present.size() < axes.size() ||
      present.take_back(axes.size()) != ArrayRef(axes))
    return {};
  return replaceAxes(type, dim, present.drop_back(axes.size()));
}

TensorType dropPartial(TensorType type, ArrayRef<StringAttr> axes) {
  AxisList rest;
  for (StringAttr axis : type.getPartialAxes())
    if (!llvm::is_contained(axes, axis))
      rest.push_back(axis);
  if (rest.size() + axes.size() != type.getPartialAxes().size())
    return {};
  return type.withPartial(type.getPartialKind(), rest);
}

TensorType endSums(TensorType type, ArrayRef<StringAttr> axes, TensorType to) {
  TensorType rest = dropPartial(type, axes);
  return !rest || rest.isPartial() ? rest
                                   : rest.withElementType(to.getElementType());
}

bool mayRound(TensorType from, TensorType to) {
  if (from.getElementType() == to.getElementType())
    return true;
  AxisList added = getFurtherPartial(to, from);
  return from.getElementType().isF32() && to.isShortFloat() &&
         from.isPartial() && added.size() == to.getPartialAxes().size() &&
         (from.getPartialKind() == nd::ReductionKind::Sum ||
          from.getPartialKind() == nd::ReductionKind::Prod);
}

AxisList getFurtherPartial(TensorType type, TensorType other) {
  AxisList further;
  for (StringAttr axis : type.getPartialAxes())
    if (!llvm::is_contained(other.getPartialAxes(), axis))
      further.push_back(axis);
  return further;
}

TensorType addPartial(TensorType type, ArrayRef<StringAttr> axes,
                      MeshAttr mesh) {
  AxisList used = getUsedAxes(type);
  if (llvm::any_of(axes, [&](StringAttr axis) {
        return llvm::is_contained(used, axis);
      }))
    return {};
  if (type.isPartial() && type.getPartialKind() != nd::ReductionKind::Sum)
    return {};
  AxisList all(type.getPartialAxes());
  all.append(axes.begin(), axes.end());
  sortByMesh(all, mesh);
  return type.withPartial(nd::ReductionKind::Sum, all);
}

namespace {
/// Axes of senders and receivers on which equally many ranks differ.
struct Part {
  AxisList senders, receivers;
  int64_t ranks = 1;
};
} // namespace

/// Parts of two lists of axes, as small as possible, from the left. Nothing if
/// the two do not cut into equally many blocks.
static std::optional<llvm::SmallVector<Part>>
getParts(ArrayRef<StringAttr> senders, ArrayRef<StringAttr> receivers,
         MeshAttr mesh) {
  llvm::SmallVector<Part> parts;
  while (!senders.empty() || !receivers.empty()) {
    Part part;
    int64_t sending = 1, receiving = 1;
    do {
      bool grows = sending <= receiving ? !senders.empty() : receivers.empty();
      ArrayRef<StringAttr> &from = grows ? senders : receivers;
      if (from.empty())
        return std::nullopt;
      (grows ? part.senders : part.receivers).push_back(from.front());
      (grows ? sending : receiving) *= mesh.getAxisSize(from.front());
      from = from.drop_front();
    } while (sending != receiving);
    part.ranks = sending;
    parts.push_back(std::move(part));
  }
  return parts;
}

/// Whether the blocks that the axes cut, one after the other, are those that
/// one axis of as many ranks would cut.
static bool cutAsOne(ArrayRef<StringAttr> axes, int64_t entries,
                     MeshAttr mesh) {
  int64_t ranks = mesh.getProduct(axes), step = entries;
  int64_t ofOne = llvm::divideCeil(entries, ranks);
  for (StringAttr axis : axes) {
    int64_t size = mesh.getAxisSize(axis);
    ranks /= size;
    int64_t next = llvm::divideCeil(step, size);
    if (size > 1 && step > 1 && next != ofOne * ranks)
      return false;
    step = next;
  }
  return true;
}

/// Whether axes that cut `entries` into a block for each rank may change places
/// without a change of the blocks.
static bool keepsBlocks(const Part &part, int64_t entries, MeshAttr mesh) {
  auto getSizes = [&](ArrayRef<StringAttr> axes) {
    return llvm::map_to_vector(
        axes, [&](StringAttr axis) { return mesh.getAxisSize(axis); });
  };
  return getSizes(part.senders) == getSizes(part.receivers) ||
         (cutAsOne(part.senders, entries, mesh) &&
          cutAsOne(part.receivers, entries, mesh));
}

/// The axes of dim `index` after a permute; nothing if its blocks change.
static std::optional<AxisList> permuteDim(TensorType type, int64_t index,
                                          ArrayRef<Part> parts, MeshAttr mesh) {
  DimAttr dim = type.getDims()[index];
  llvm::SmallVector<int64_t> steps(type.getBlockSteps(index, mesh));
  steps.insert(steps.begin(), dim.getSize());
  ArrayRef<StringAttr> rest = dim.getAxes();
  AxisList axes;
  while (!rest.empty()) {
    const Part *part = llvm::find_if(parts, [&](const Part &candidate) {
      return llvm::is_contained(candidate.senders, rest.front());
    });
    if (part == parts.end()) {
      axes.push_back(rest.front());
      rest = rest.drop_front();
      continue;
    }
    size_t count = part->senders.size();
    if (rest.take_front(count) != ArrayRef(part->senders) ||
        !keepsBlocks(*part, steps[dim.getAxes().size() - rest.size()], mesh))
      return std::nullopt;
    axes.append(part->receivers);
    rest = rest.drop_front(count);
  }
  return axes;
}

TensorType permuteAxes(TensorType type, const AxisOrders &orders,
                       MeshAttr mesh) {
  auto parts = getParts(orders.senders, orders.receivers, mesh);
  if (!parts || llvm::any_of(type.getPartialAxes(), [&](StringAttr axis) {
        return llvm::is_contained(orders.senders, axis);
      }))
    return {};
  for (auto [index, dim] : llvm::enumerate(type.getDims()))
    if ((orders.shift != 0 || orders.round) &&
        !type.isEven(static_cast<int64_t>(index), mesh) &&
        llvm::any_of(dim.getAxes(), [&](StringAttr axis) {
          return llvm::is_contained(orders.senders, axis);
        }))
      return {};
  if (orders.senders == orders.receivers)
    return type; // whatever the sizes of the axes are
  // All dims at once: an axis may go from one dim to another.
  llvm::SmallVector<AxisList> ofDims;
  for (size_t index = 0; index < type.getDims().size(); ++index) {
    std::optional<AxisList> axes =
        permuteDim(type, static_cast<int64_t>(index), *parts, mesh);
    if (!axes)
      return {};
    ofDims.push_back(*axes);
  }
  return withAxes(type, ofDims);
}

/// The axes of `all` that are not in `some`, in the mesh's order.
static AxisList getOthers(ArrayRef<StringAttr> all, ArrayRef<StringAttr> some,
                          MeshAttr mesh) {
  AxisList others;
  for (nd::AxisAttr axis : mesh.getAxes())
    if (llvm::is_contained(all, axis.getName()) &&
        !llvm::is_contained(some, axis.getName()))
      others.push_back(axis.getName());
  return others;
}

std::optional<AxisOrders> findPermute(TensorType from, TensorType to,
                                      MeshAttr mesh) {
  AxisOrders orders;
  for (auto [source, target] : llvm::zip(from.getDims(), to.getDims())) {
    auto parts = getParts(source.getAxes(), target.getAxes(), mesh);
    if (!parts)
      return std::nullopt;
    for (const Part &part : *parts)
      if (part.senders != part.receivers) {
        orders.senders.append(part.senders);
        orders.receivers.append(part.receivers);
      }
  }
  if (orders.senders.empty())
    return std::nullopt;
  // Ranks that have the same block before, or after.
  AxisList before = getOthers(orders.receivers, orders.senders, mesh);
  AxisList after = getOthers(orders.senders, orders.receivers, mesh);
  orders.senders.append(before);
  orders.receivers.append(after);
  if (permuteAxes(from, orders, mesh) != to)
    return std::nullopt;
  return orders;
}

bool areEquidistant(TensorType type, llvm::StringRef dim, MeshAttr mesh) {
  ArrayRef<StringAttr> axes = getAxesOf(type, dim);
  int64_t index = type.getDimIndex(dim);
  int64_t last = type.getLocalSize(index, mesh), ranks = mesh.getProduct(axes);
  if (type.getSize(dim) == 1)
    return true;
  for (auto [axis, step] : llvm::zip(axes, type.getBlockSteps(index, mesh))) {
    int64_t size = mesh.getAxisSize(axis);
    ranks /= size;
    if (size > 1 && step != last * ranks)
      return false;
  }
  return true;
}

bool areInMeshOrder(ArrayRef<StringAttr> axes, MeshAttr mesh) {
  int64_t last = -1;
  for (StringAttr axis : axes) {
    int64_t index = mesh.getAxisIndex(axis);
    if (index <= last)
      return false;
    last = index;
  }
  return true;
}

void sortByMesh(AxisList &axes, MeshAttr mesh) {
  llvm::sort(axes, [&](StringAttr a, StringAttr b) {
    return mesh.getAxisIndex(a) < mesh.getAxisIndex(b);
  });
}

AxisList getUsedAxes(TensorType type) {
  AxisList axes(type.getPartialAxes());
  for (DimAttr dim : type.getDims())
    axes.append(dim.getAxes().begin(), dim.getAxes().end());
  return axes;
}

AxisList getNames(ArrayAttr names) {
  AxisList list;
  for (auto name : names.getAsRange<StringAttr>())
    list.push_back(name);
  return list;
}

static constexpr llvm::StringLiteral sharedAxesName = "spmd.shared_axes";

AxisList getSharedAxes(Operation *loop) {
  auto names = loop->getAttrOfType<ArrayAttr>(sharedAxesName);
  return names ? getNames(names) : AxisList();
}

void addSharedAxis(Operation *loop, StringAttr axis) {
  AxisList axes = getSharedAxes(loop);
  if (llvm::is_contained(axes, axis))
    return;
  axes.push_back(axis);
  llvm::SmallVector<Attribute> names(axes.begin(), axes.end());
  loop->setAttr(sharedAxesName, ArrayAttr::get(loop->getContext(), names));
}

} // namespace meshc::spmd
