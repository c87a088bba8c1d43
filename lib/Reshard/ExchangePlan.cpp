//===- ExchangePlan.cpp - what the blocks of an op lack -------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Reshard/ExchangePlan.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

using namespace mlir;

namespace meshc::reshard {

using nd::Access;
using nd::Factor;
using nd::TensorType;
using spmd::areEquidistant;
using spmd::AxisList;
using spmd::getAxesOf;
using spmd::getBlockSize;
using spmd::Repeat;
using spmd::resize;
using spmd::WindowSegments;

/// More permutes are not planned for an access in windows, as for one window.
static constexpr int64_t mostPermutes = 8;

namespace {
/// Numbers of entries of a value along an access in windows.
struct Shape {
  int64_t own;     ///< of a block
  int64_t step;    ///< from the first one that a rank needs to that of the next
  int64_t widened; ///< of a widened block
  int64_t low;     ///< where the first rank's widened block begins
  int64_t ranks;
};
} // namespace

static bool fitsIn32Bits(int64_t number) {
  return number >= std::numeric_limits<int32_t>::min() &&
         number <= std::numeric_limits<int32_t>::max();
}

/// `line`: the entries of the factor that a rank has. `size`: those of the
/// value. Nothing if 32 bits do not number all entries, or if a widened block
/// is as large as the value, which each rank may as well have.
static std::optional<Shape> getShape(const Access &access, int64_t own,
                                     int64_t line, int64_t ranks,
                                     int64_t size) {
  int64_t step = 0, span = 0, total = 0;
  if (llvm::MulOverflow(line, access.stride, step) ||
      llvm::MulOverflow(line - 1, access.stride, span) ||
      llvm::AddOverflow(span, access.high - access.low + 1, span) || step < 1 ||
      span < 1 || span >= size || llvm::MulOverflow(span, ranks, total) ||
      !llvm::all_of(
          ArrayRef<int64_t>{total, step, access.low, access.low + span},
          fitsIn32Bits))
    return std::nullopt;
  return Shape{own, step, span, access.low, ranks};
}

/// Adds windows that take entries low … end - 1 of each widened block to their
/// places in the value. A window takes at most `step` entries of each block, so
/// that no two blocks have the same entry of the value.
static void addParts(const Shape &shape, int64_t low, int64_t end,
                     SmallVectorImpl<WindowSegments> &windows) {
  for (int64_t from = low; from < end; from += shape.step) {
    int64_t size = std::min(shape.step, end - from);
    windows.push_back({{{0, shape.low + from, from, size}},
                       Repeat{shape.step, shape.widened}});
  }
}

/// Adds the windows of a result. They divide a rank's widened block into what
/// belongs to ranks before it, to itself, and to ranks after it. So the middle
/// part, which is most of the block, does not move.
static void addNarrowing(const Shape &shape,
                         SmallVectorImpl<WindowSegments> &windows) {
  // Where the rank's own block begins and ends, on the first and the last rank.
  int64_t drift = (shape.ranks - 1) * (shape.own - shape.step);
  int64_t begin = std::max<int64_t>(0, drift) - shape.low;
  int64_t end = std::min<int64_t>(0, drift) - shape.low + shape.own;
  begin = std::clamp<int64_t>(begin, 0, shape.widened);
  end = std::clamp<int64_t>(end, 0, shape.widened);
  if (begin >= end)
    return addParts(shape, 0, shape.widened, windows);
  addParts(shape, 0, begin, windows);
  addParts(shape, begin, end, windows);
  addParts(shape, end, shape.widened, windows);
}

namespace {

/// Plans one factor after another.
class ExchangePlanner {
public:
  ExchangePlanner(const nd::PartitionRule &rule,
                  ArrayRef<AxisList> axesOfFactor,
                  ArrayRef<TensorType> operands, ArrayRef<TensorType> results,
                  nd::MeshAttr mesh)
      : rule(rule), axesOfFactor(axesOfFactor), mesh(mesh) {
    plan.operandTypes.assign(operands.begin(), operands.end());
    plan.resultTypes.assign(results.begin(), results.end());
    plan.traffic.resize(rule.factors.size());
  }

  std::optional<ExchangePlan> run();

private:
  bool agrees(const Factor &factor, ArrayRef<StringAttr> axes) const;
  std::optional<int64_t> getLine(const Factor &factor) const;
  bool addSegments(unsigned number);
  bool addFactor(unsigned number);
  bool addValue(unsigned number, unsigned value, bool isOperand, int64_t line);
  bool addGroups(BlockExchange exchange, const Access &access, bool isOperand,
                 int64_t line);
  bool addWindows(BlockExchange exchange, const Access &access, bool isOperand,
                  int64_t line);
  bool addTraffic(BlockExchange &exchange);

  const nd::PartitionRule &rule;
  ArrayRef<AxisList> axesOfFactor;
  nd::MeshAttr mesh;
  ExchangePlan plan;
};

} // namespace

/// Whether the axes of the factor, and no others, cut each dim along it. So no
/// other factor along one of these dims is cut.
bool ExchangePlanner::agrees(const Factor &factor,
                             ArrayRef<StringAttr> axes) const {
  auto isCutSo = [&](TensorType type, StringAttr dim) {
    return !dim || (type && type.hasDim(dim.getValue()) &&
                    getAxesOf(type, dim.getValue()) == axes);
  };
  auto areCutSo = [&](ArrayRef<TensorType> types, ArrayRef<StringAttr> dims) {
    return types.size() == dims.size() &&
           llvm::all_of(llvm::zip(types, dims), [&](auto pair) {
             return isCutSo(std::get<0>(pair), std::get<1>(pair));
           });
  };
  return areCutSo(plan.operandTypes, factor.operandDims) &&
         areCutSo(plan.resultTypes, factor.resultDims);
}

/// The entries of the factor that a rank has: those of a value that has one for
/// each. Nothing if the blocks of such a value do not begin at equal distances,
/// or if there is none.
std::optional<int64_t> ExchangePlanner::getLine(const Factor &factor) const {
  std::optional<int64_t> line;
  bool isKnown = true;
  auto visit = [&](TensorType type, StringAttr dim, const Access &access) {
    if (!dim || access.isWindows() || access.isGroups())
      return;
    isKnown &= type.getSize(dim.getValue()) == factor.size &&
               areEquidistant(type, dim.getValue(), mesh);
    line = getBlockSize(type, dim.getValue(), mesh);
  };
  for (auto [i, dim] : llvm::enumerate(factor.operandDims))
    visit(plan.operandTypes[i], dim, factor.getOperandAccess(i));
  for (auto [i, dim] : llvm::enumerate(factor.resultDims))
    visit(plan.resultTypes[i], dim, factor.getResultAccess(i));
  return isKnown ? line : std::nullopt;
}

/// Enters what the windows send. Drops those that have no entry of the value.
bool ExchangePlanner::addTraffic(BlockExchange &exchange) {
  FactorTraffic &traffic = plan.traffic[exchange.factor];
  for (const WindowSegments &window : std::exchange(exchange.windows, {})) {
    auto known = planWindow({exchange.from}, exchange.to,
                            exchange.dim.getValue(), window, mesh);
    if (!known)
      return false;
    if (!known->pieces.empty()) // else all of it is beyond the value
      exchange.windows.push_back(window);
    exchange.bytes += known->bytes;
    traffic.bytes += known->bytes;
    traffic.permutes += llvm::count_if(
        known->pieces, [](const WindowPiece &piece) { return !piece.isOwn(); });
  }
  return !exchange.windows.empty();
}

/// Plans the exchange for a value with a group of entries (or one entry) for
/// each entry of the factor. Padding makes its size a multiple of the ranks. A
/// window adds or removes the padding and moves the entries that blocks lack.
bool ExchangePlanner::addGroups(BlockExchange exchange, const Access &access,
                                bool isOperand, int64_t line) {
  StringRef dim = exchange.dim.getValue();
  TensorType &local =
      (isOperand ? plan.operandTypes : plan.resultTypes)[exchange.value];
  TensorType known = local;
  int64_t ranks = mesh.getProduct(getAxesOf(known, dim)), size = 0;
  if (llvm::MulOverflow(line * ranks, access.stride, size))
    return false;
  local = resize(known, dim, size);
  exchange.from = isOperand ? known : local;
  exchange.to = isOperand ? local : known;
  exchange.windows = {{{getCommonSegment(known.getSize(dim), size)}}};
  if (!addTraffic(exchange))
    return false;
  if (local != known)
    (isOperand ? plan.operands : plan.results).push_back(std::move(exchange));
  return true;
}

bool ExchangePlanner::addWindows(BlockExchange exchange, const Access &access,
                                 bool isOperand, int64_t line) {
  StringRef dim = exchange.dim.getValue();
  TensorType &local =
      (isOperand ? plan.operandTypes : plan.resultTypes)[exchange.value];
  TensorType known = local;
  int64_t ranks = mesh.getProduct(getAxesOf(known, dim));
  auto shape = getShape(access, getBlockSize(known, dim, mesh), line, ranks,
                        known.getSize(dim));
  // Of each window of a result, a part moves. Only a rank's own part does not.
  if (!shape || (!isOperand && shape->widened / shape->step > mostPermutes + 2))
    return false;
  local = resize(known, dim, shape->widened * ranks);
  exchange.from = isOperand ? known : local;
  exchange.to = isOperand ? local : known;
  if (isOperand)
    exchange.windows = {{{{0, 0, shape->low, shape->widened}},
                         Repeat{shape->widened, shape->step}}};
  else
    addNarrowing(*shape, exchange.windows);
  if (!addTraffic(exchange) ||
      plan.traffic[exchange.factor].permutes > mostPermutes)
    return false;
  (isOperand ? plan.operands : plan.results).push_back(std::move(exchange));
  return true;
}

bool ExchangePlanner::addValue(unsigned number, unsigned value, bool isOperand,
                               int64_t line) {
  const Factor &factor = rule.factors[number];
  StringAttr dim =
      isOperand ? factor.operandDims[value] : factor.resultDims[value];
  if (!dim)
    return true;
  Access access = isOperand ? factor.getOperandAccess(value)
                            : factor.getResultAccess(value);
  BlockExchange exchange = {number, value, dim, {}, {}, {}};
  if (access.isWindows())
    return addWindows(std::move(exchange), access, isOperand, line);
  // Beside windows, entries stay where they are: blocks may be of any size.
  return factor.needsNeighbours() ||
         addGroups(std::move(exchange), access, isOperand, line);
}

bool ExchangePlanner::addFactor(unsigned number) {
  const Factor &factor = rule.factors[number];
  auto line = getLine(factor);
  if (!line || (factor.indices && *factor.indices >= plan.operandTypes.size()))
    return false;
  for (unsigned i = 0; i < plan.operandTypes.size(); ++i)
    if (!addValue(number, i, /*isOperand=*/true, *line))
      return false;
  for (unsigned i = 0; i < plan.resultTypes.size(); ++i)
    if (!addValue(number, i, /*isOperand=*/false, *line))
      return false;
  return true;
}

bool ExchangePlanner::addSegments(unsigned number) {
  const Factor &factor = rule.factors[number];
  if (plan.inSegments || plan.resultTypes.size() != 1 || !factor.resultDims[0])
    return false;
  auto window =
      planWindow(plan.operandTypes, plan.resultTypes[0],
                 factor.resultDims[0].getValue(), {factor.segments}, mesh);
  if (!window)
    return false;
  plan.inSegments = number;
  plan.traffic[number] = {
      window->bytes,
      llvm::count_if(window->pieces,
                     [](const WindowPiece &piece) { return !piece.isOwn(); })};
  return true;
}

std::optional<ExchangePlan> ExchangePlanner::run() {
  if (axesOfFactor.size() != rule.factors.size())
    return std::nullopt;
  AxisList used;
  for (auto [number, factor] : llvm::enumerate(rule.factors)) {
    ArrayRef<StringAttr> axes = axesOfFactor[number];
    if (llvm::any_of(axes, [&](StringAttr axis) {
          return llvm::is_contained(used, axis);
        }))
      return std::nullopt;
    used.append(axes.begin(), axes.end());
    if (!isExchanged(factor, axes, mesh))
      continue;
    if (!agrees(factor, axes) ||
        !(factor.segments.empty() ? addFactor(number) : addSegments(number)))
      return std::nullopt;
  }
  if (plan.inSegments && !(plan.operands.empty() && plan.results.empty()))
    return std::nullopt;
  // The last factor's entries of a result were widened last.
  std::reverse(plan.results.begin(), plan.results.end());
  return std::move(plan);
}

bool isExchanged(const Factor &factor, ArrayRef<StringAttr> axes,
                 nd::MeshAttr mesh) {
  return !axes.empty() &&
         (factor.needsNeighbours() ||
          (factor.isGrouped() && factor.size % mesh.getProduct(axes) != 0));
}

nd::Segment getCommonSegment(int64_t a, int64_t b) {
  return {0, 0, 0, std::min(a, b)};
}

std::optional<ExchangePlan> planExchange(const nd::PartitionRule &rule,
                                         ArrayRef<AxisList> axesOfFactor,
                                         ArrayRef<TensorType> operands,
                                         ArrayRef<TensorType> results,
                                         nd::MeshAttr mesh) {
  return ExchangePlanner(rule, axesOfFactor, operands, results, mesh).run();
}

} // namespace meshc::reshard
