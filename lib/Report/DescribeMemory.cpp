//===- DescribeMemory.cpp - shardings and places of tensors ---------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/Exec.h"
#include "lib/Report/Dims.h"
#include "lib/Report/Place.h"
#include "lib/Report/Report.h"
#include "llvm/ADT/DenseMap.h"

using namespace mlir;

namespace meshc::report {

Json describeMesh(nd::MeshAttr mesh) {
  Json axes = Json::array();
  for (nd::AxisAttr axis : mesh.getAxes())
    axes.push_back({{"axis", axis.getName().str()}, {"size", axis.getSize()}});
  return axes;
}

Json describeDims(nd::TensorType type, ArrayRef<StringAttr> order) {
  Json dims = Json::array();
  for (StringAttr name : order)
    for (nd::DimAttr dim : type.getDims()) {
      if (dim.getName() != name)
        continue;
      Json axes = Json::array();
      for (StringAttr axis : dim.getAxes())
        axes.push_back(axis.getValue().str());
      dims.push_back({{"dim", name.getValue().str()},
                      {"size", dim.getSize()},
                      {"axes", std::move(axes)}});
    }
  return dims;
}

/// The value's name in the model, or "".
static std::string getName(Location location) {
  auto name = dyn_cast<NameLoc>(location);
  return name ? name.getName().str() : "";
}

static int64_t getBytes(exec::BufferType type, nd::MeshAttr mesh) {
  return static_cast<int64_t>(type.getTensor().getLocalBytes(mesh));
}

static Json describeCall(exec::StepOpInterface step, int64_t calls) {
  exec::CallDescription description = step.describe();
  Json call = {
      {"location", ""}, {"kind", description.kind.str()}, {"calls", calls}};
  if (!description.name.empty())
    call["name"] = description.name;
  for (Location location : description.locations)
    if (std::string place = getPlace(location); !place.empty()) {
      call["location"] = place;
      break;
    }
  return call;
}

/// The class of the program's tensor that a buffer is, or moves through, or
/// "temporary". Inputs and metrics may share their room with temporaries of
/// other types.
static StringRef
getClass(exec::BufferOp buffer,
         const llvm::DenseMap<int64_t, exec::TensorOp> &tensors) {
  exec::TensorOp tensor = tensors.lookup(buffer.getOffset());
  if (!tensor)
    return "temporary";
  nd::MeshAttr mesh = nd::MeshAttr::of(buffer);
  auto type = cast<exec::BufferType>(tensor.getType());
  auto piece = exec::ArenaPiece::of(buffer, mesh);
  bool isWhole = piece.end - piece.begin == getBytes(type, mesh);
  return type == buffer.getType() || (!buffer.getStrides().empty() && isWhole)
             ? nd::stringifyTensorRole(tensor.getRole())
             : "temporary";
}

namespace {
/// Numbers of calls, both included.
struct CallRange {
  size_t first, last;

  void extend(CallRange other) {
    first = std::min(first, other.first);
    last = std::max(last, other.last);
  }
};

/// The calls of a function, those of loops once.
class CallNumbers {
public:
  explicit CallNumbers(exec::FuncOp function)
      : mesh(nd::MeshAttr::of(function)) {
    add(function.getSteps(), 1);
  }

  Json list = Json::array();
  SmallVector<exec::StepOpInterface> steps; ///< without loops

  /// From the first to the last use of a buffer, nothing if it has none. Sets
  /// `origin` to the place of what is read there, if an earlier loop stacked
  /// it.
  std::optional<CallRange> getRange(exec::BufferOp buffer,
                                    Location &origin) const;

private:
  void add(ArrayRef<exec::StepOpInterface> calls, int64_t count);
  bool isWrittenIn(exec::BufferOp buffer, Operation *user) const;

  nd::MeshAttr mesh;
  llvm::DenseMap<Operation *, CallRange> ranges; ///< of calls and loops
  /// What calls write, in order.
  struct Write {
    size_t call;
    exec::ArenaPiece piece;
    Location location;
  };
  SmallVector<Write> writes;
  /// Pieces whose contents an iteration gets from before.
  llvm::DenseMap<Operation *, SmallVector<exec::ArenaPiece>> entering;
};
} // namespace

void CallNumbers::add(ArrayRef<exec::StepOpInterface> calls, int64_t count) {
  for (exec::StepOpInterface step : calls) {
    size_t number = steps.size();
    if (auto loop = dyn_cast<exec::LoopOp>(step.getOperation())) {
      add(loop.getSteps(), count * static_cast<int64_t>(loop.getSize()));
      ranges[loop] = {number, std::max(number + 1, steps.size()) - 1};
      loop.walk([&](exec::BufferOp buffer) {
        if (llvm::none_of(buffer->getUsers(), [&](Operation *user) {
              return isWrittenIn(buffer, user);
            }))
          entering[loop].push_back(exec::ArenaPiece::of(buffer, mesh));
      });
      continue;
    }
    ranges[step] = {number, number};
    steps.push_back(step);
    list.push_back(describeCall(step, count));
    for (Value buffer : step.getAccesses().writes)
      writes.push_back(
          {number, exec::ArenaPiece::of(buffer, mesh), buffer.getLoc()});
  }
}

bool CallNumbers::isWrittenIn(exec::BufferOp buffer, Operation *user) const {
  auto step = dyn_cast<exec::StepOpInterface>(user);
  return step &&
         llvm::is_contained(step.getAccesses().writes, buffer.getResult());
}

std::optional<CallRange> CallNumbers::getRange(exec::BufferOp buffer,
                                               Location &origin) const {
  CallRange range = {steps.size(), 0};
  bool isWritten = false;
  for (Operation *user : buffer->getUsers()) {
    range.extend(ranges.lookup(user));
    isWritten |= isWrittenIn(buffer, user);
    // A collective uses its buffers until it is waited for, perhaps in the
    // next iteration.
    for (Operation *wait : user->getUsers())
      range.extend(ranges.lookup(wait));
    if (auto collective = dyn_cast<exec::CollectiveOp>(user);
        collective && collective.goesOn())
      range.extend(ranges.lookup(collective->getParentOp()));
  }
  if (range.first > range.last)
    return std::nullopt;
  auto piece = exec::ArenaPiece::of(buffer, mesh);
  bool moves = !buffer.getStrides().empty();
  for (exec::LoopOp loop : exec::getLoopsAround(buffer)) {
    auto pieces = entering.find(loop);
    bool lasts =
        pieces != entering.end() && llvm::is_contained(pieces->second, piece);
    if (moves || !isWritten || lasts)
      range.extend(ranges.lookup(loop));
  }
  // What an earlier loop stacked is in use since then.
  if (moves && !isWritten)
    for (const Write &write : llvm::reverse(writes))
      if (write.call < range.first && write.piece.overlaps(piece)) {
        range.first = write.call;
        origin = write.location;
        break;
      }
  return range;
}

/// The calls of a function in order, and its buffers with the first and the
/// last call that uses each. Scratch memory is a buffer without dims that
/// only its call uses.
static void
describeFunction(Json &report, exec::FuncOp function,
                 const llvm::DenseMap<int64_t, exec::TensorOp> &tensors) {
  nd::MeshAttr mesh = nd::MeshAttr::of(function);
  CallNumbers calls(function);
  report["calls"] = std::move(calls.list);
  report["buffers"] = Json::array();
  function.walk([&](exec::BufferOp buffer) {
    Location origin = buffer.getLoc();
    std::optional<CallRange> range = calls.getRange(buffer, origin);
    if (!range)
      return;
    auto type = cast<exec::BufferType>(buffer.getType());
    auto piece = exec::ArenaPiece::of(buffer, mesh);
    report["buffers"].push_back(
        {{"offset", piece.begin},
         {"bytes", piece.end - piece.begin},
         {"first", range->first},
         {"last", range->last},
         {"class", getClass(buffer, tensors).str()},
         {"dims", describeDims(type.getTensor(), type.getOrder())},
         {"location", getPlace(origin)},
         {"name", getName(origin)}});
  });
  for (auto [call, step] : llvm::enumerate(calls.steps))
    for (Value scratch : step.getAccesses().scratch) {
      auto piece = exec::ArenaPiece::of(scratch, mesh);
      report["buffers"].push_back({{"offset", piece.begin},
                                   {"bytes", piece.end - piece.begin},
                                   {"first", call},
                                   {"last", call},
                                   {"class", "scratch"},
                                   {"dims", Json::array()},
                                   {"location", getPlace(step->getLoc())},
                                   {"name", ""}});
    }
}

void addMemory(Json &report, ModuleOp module) {
  nd::MeshAttr mesh = nd::MeshAttr::of(module);
  report["mesh"] = describeMesh(mesh);
  report["tensors"] = Json::array();
  llvm::DenseMap<int64_t, exec::TensorOp> tensors; // by offset
  for (auto tensor : module.getOps<exec::TensorOp>()) {
    auto type = cast<exec::BufferType>(tensor.getType());
    tensors[tensor.getOffset()] = tensor;
    report["tensors"].push_back(
        {{"name", tensor.getTensorName().str()},
         {"class", nd::stringifyTensorRole(tensor.getRole()).str()},
         {"type", getTypeName(type.getTensor().getElementType())},
         {"dims",
          describeDims(
              type.getTensor(),
              llvm::to_vector(tensor.getOrder().getAsRange<StringAttr>()))},
         {"offset", tensor.getOffset()},
         {"bytes", getBytes(type, mesh)},
         {"location", getPlace(tensor.getLoc())}});
  }
  for (auto function : module.getOps<exec::FuncOp>())
    for (Json &known : report["functions"])
      if (known["name"] == function.getSymName().str())
        describeFunction(known, function, tensors);
}

} // namespace meshc::report
