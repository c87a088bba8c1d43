//===- FoldWindows.cpp - windows of windows are windows -------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Collectives/Passes.h"
#include "lib/Collectives/Windows.h"
#include "llvm/ADT/MapVector.h"
#include <limits>

using namespace mlir;

namespace meshc::collectives {

#define GEN_PASS_DEF_FOLDWINDOWS
#include "lib/Collectives/Passes.h.inc"

using nd::Segment;
using spmd::WindowOp;

std::optional<reshard::WindowPlan> plan(WindowOp op, ValueRange operands,
                                        const spmd::WindowSegments &segments) {
  return reshard::planWindow(llvm::map_to_vector(operands, nd::getTensorType),
                             nd::getTensorType(op.getResult()), op.getDim(),
                             segments, nd::MeshAttr::of(op));
}

bool isFilled(WindowOp op, const spmd::WindowSegments &segments) {
  auto type = nd::getTensorType(op.getResult());
  if (segments.repeat)
    return !segments.isWidening(
        spmd::getBlockSize(type, op.getDim(), nd::MeshAttr::of(op)));
  int64_t count = 0;
  for (const Segment &segment : segments.list)
    count += segment.size;
  return count < type.getSize(op.getDim());
}

//===----------------------------------------------------------------------===//
// Windows of windows
//===----------------------------------------------------------------------===//

namespace {
/// A window that takes entries from the operands of windows.
struct Composition {
  llvm::SmallVector<Value> operands;
  llvm::SmallVector<Segment, 1> segments;

  void add(Value operand, Segment segment) {
    auto *known = llvm::find(operands, operand);
    segment.operand = known - operands.begin();
    if (known == operands.end())
      operands.push_back(operand);
    segments.push_back(segment);
  }
};
} // namespace

/// Adds the entries that `segment` takes from `inner`. False if some of them
/// are filled with a value that is not `fill`.
static bool addThrough(WindowOp inner, const Segment &segment,
                       const llvm::APFloat &fill, Composition &into) {
  int64_t end = segment.from + segment.size, count = 0;
  for (const Segment &part : inner.getWindowSegments().list) {
    int64_t low = std::max(segment.from, part.at);
    int64_t size = std::min(end, part.at + part.size) - low;
    if (size <= 0)
      continue;
    into.add(
        inner.getInputs()[part.operand],
        {0, segment.at + low - segment.from, part.from + low - part.at, size});
    count += size;
  }
  return count == segment.size || inner.getFill().bitwiseIsEqual(fill);
}

/// Takes entries from the operand of `inner` instead of from its result, if
/// this moves no more bytes.
static bool foldInto(WindowOp op, WindowOp inner) {
  if (!inner || inner.getDim() != op.getDim() || inner.getRepeat() ||
      op.getRepeat())
    return false;
  Composition composed;
  llvm::SmallVector<Segment, 1> segments = op.getWindowSegments().list;
  FloatAttr fill =
      isFilled(op, {segments}) ? op.getFillAttr() : inner.getFillAttr();
  for (const Segment &segment : segments) {
    Value operand = op.getInputs()[segment.operand];
    if (operand != inner.getResult())
      composed.add(operand, segment);
    else if (!addThrough(inner, segment, fill.getValue(), composed))
      return false;
  }
  if (composed.segments.empty())
    return false; // nothing but fill: the padding of a padding
  auto through = plan(op, op.getInputs(), {segments});
  auto first = plan(inner, inner.getInputs(), inner.getWindowSegments());
  auto straight = plan(op, composed.operands, {composed.segments});
  bool isAlone = llvm::all_of(inner->getUsers(),
                              [&](Operation *user) { return user == op; });
  if (!straight || !through || !first ||
      straight->bytes > through->bytes + (isAlone ? first->bytes : 0))
    return false;
  llvm::SmallVector<int64_t> numbers;
  for (const Segment &segment : composed.segments)
    numbers.append({segment.operand, segment.at, segment.from, segment.size});
  op.setSegments(numbers);
  op.setFillAttr(fill);
  op.getInputsMutable().assign(composed.operands);
  return true;
}

/// Folds until no operand of the window can be folded.
static void fold(WindowOp op) {
  bool isChanged = true;
  while (isChanged)
    isChanged = llvm::any_of(llvm::to_vector(op.getInputs()), [&](Value input) {
      return foldInto(op, input.getDefiningOp<WindowOp>());
    });
}

//===----------------------------------------------------------------------===//
// Windows of sums of windows
//===----------------------------------------------------------------------===//

namespace {
/// Takes a window of a sum of windows as a sum of windows of these. So ends the
/// gradient of several slices of one padded tensor: the gradient of each slice
/// is padded, they are added, and what was padding is sliced off.
class SumOfWindows {
public:
  explicit SumOfWindows(WindowOp op) : op(op), builder(op) {}

  /// Rewrites if this moves no more bytes. The window is then without users.
  void run();

private:
  bool collect(Value value);
  Value rebuild(Value value);
  bool cutsSum();

  WindowOp op;
  OpBuilder builder;
  llvm::MapVector<Value, WindowOp> windowOf; ///< of each window that is added
};
} // namespace

/// Whether the op adds its operands entry by entry.
static bool isSum(Operation *op) {
  auto named = dyn_cast_or_null<nd::NamedOpInterface>(op);
  if (!named || op->getNumResults() != 1 || op->getNumRegions() != 0)
    return false;
  nd::PartitionRule rule = named.getPartitionRule();
  return rule.jointlyLinear &&
         llvm::all_of(
             rule.factors,
             [](const nd::Factor &factor) { return factor.isLocal(); }) &&
         llvm::all_of(op->getOperandTypes(), [&](Type type) {
           return type == op->getResult(0).getType();
         });
}

/// Whether the value is a window, or a sum of them, with one user.
bool SumOfWindows::collect(Value value) {
  if (!value.hasOneUse())
    return false;
  Operation *producer = value.getDefiningOp();
  if (auto window = dyn_cast_or_null<WindowOp>(producer)) {
    windowOf[value] = {};
    return window.getDim() == op.getDim() && !window.getRepeat();
  }
  return isSum(producer) &&
         llvm::all_of(producer->getOperands(),
                      [&](Value operand) { return collect(operand); });
}

/// Whether the window has no more entries than the sum, and fills others with
/// what the sum of fillings is.
bool SumOfWindows::cutsSum() {
  Value whole = op.getInputs().front();
  auto getSize = [&](Value value) {
    return nd::getTensorType(value).getSize(op.getDim());
  };
  return !op.getRepeat() && op.getInputs().size() == 1 &&
         isSum(whole.getDefiningOp()) &&
         (!isFilled(op, op.getWindowSegments()) || op.getFill().isPosZero()) &&
         getSize(op.getResult()) <= getSize(whole);
}

static double getBytes(WindowOp window) {
  auto known = plan(window, window.getInputs(), window.getWindowSegments());
  return known ? known->bytes : std::numeric_limits<double>::infinity();
}

Value SumOfWindows::rebuild(Value value) {
  if (auto *known = windowOf.find(value); known != windowOf.end())
    return known->second;
  llvm::SmallVector<Value> operands;
  for (Value operand : value.getDefiningOp()->getOperands())
    operands.push_back(rebuild(operand));
  Operation *sum = builder.clone(*value.getDefiningOp());
  sum->setOperands(operands);
  sum->getResult(0).setType(op.getType());
  return sum->getResult(0);
}

void SumOfWindows::run() {
  if (!cutsSum() || !collect(op.getInputs().front()))
    return;
  double before = getBytes(op), after = 0;
  for (auto &[value, window] : windowOf) {
    auto summand = value.getDefiningOp<WindowOp>();
    before += getBytes(summand);
    window = cast<WindowOp>(builder.clone(*op));
    window->setOperands(value);
    fold(window);
    after += getBytes(window);
    if (llvm::is_contained(window.getInputs(), value))
      after += getBytes(summand);
  }
  if (after <= before)
    op.replaceAllUsesWith(rebuild(op.getInputs().front()));
}

namespace {
struct FoldWindows : impl::FoldWindowsBase<FoldWindows> {
  void runOnOperation() override {
    llvm::SmallVector<WindowOp> windows;
    getOperation().walk([&](WindowOp op) { windows.push_back(op); });
    for (WindowOp op : windows) {
      fold(op);
      SumOfWindows(op).run();
    }
    eraseUnused();
  }

  /// Windows that were folded, and sums of them.
  void eraseUnused() {
    llvm::SmallVector<Operation *> candidates;
    getOperation().walk([&](Operation *op) {
      if (isa<WindowOp>(op) || isSum(op))
        candidates.push_back(op);
    });
    for (Operation *op : llvm::reverse(candidates))
      if (op->use_empty())
        op->erase();
  }
};
} // namespace

} // namespace meshc::collectives
