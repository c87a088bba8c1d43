//===- BlockSearchTest.cpp - the choice for a block is the cheapest -------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Compares the beam search with an exhaustive one over all choices of all ops,
/// on random blocks of up to eight ops and meshes of up to three axes.
/// MESHC_SEARCH_SEED and MESHC_SEARCH_BLOCKS choose others, and more. With
/// MESHC_RANDOM_SEED, every eighth of the blocks is compared, and the seed says
/// which eighth.
///
//===----------------------------------------------------------------------===//

#include "lib/Partition/BlockSearch.h"
#include "dialects/Nd/NdOps.h"
#include "dialects/Spmd/SpmdOps.h"
#include "lib/Partition/OpCuts.h"
#include "lib/Partition/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <set>

using namespace mlir;
using namespace meshc;
using namespace meshc::partition;

namespace {

using nd::TensorType;

/// A value of the block that is drawn.
struct Drawn {
  std::string name;
  std::vector<char> dims; ///< each a dim of size 16, in alphabetical order
};

/// Draws the text of a module with one function.
class BlockDraw {
public:
  explicit BlockDraw(std::mt19937_64 &random) : random(random) {}

  std::string run() {
    axes = 1 + draw(3);
    std::string mesh;
    for (size_t axis = 0; axis < axes; ++axis)
      mesh += (axis ? ", " : "") + getAxis(axis) + " = " +
              std::to_string(draw(3) ? 2 : 4);
    std::string arguments, body;
    for (size_t i = 0, count = 2 + draw(2); i < count; ++i) {
      values.push_back({"%a" + std::to_string(i), drawDims()});
      arguments += (i ? ", " : "") + values.back().name + ": " +
                   printType(values.back().dims) +
                   " {nd.sharding = " + drawSharding(values.back().dims) + "}";
    }
    for (size_t i = 0, count = 3 + draw(6); i < count; ++i)
      body += drawOp("%" + std::to_string(i));
    const Drawn &last = values.back();
    return "module attributes {nd.mesh = #nd.mesh<" + mesh +
           ">} {\n  func.func @f(" + arguments + ") -> (" +
           printType(last.dims) + " {nd.sharding = " + drawSharding(last.dims) +
           "}) {\n" + body + "    return " + last.name + " : " +
           printType(last.dims) + "\n  }\n}\n";
  }

private:
  size_t draw(size_t count) { return random() % count; }
  static std::string getAxis(size_t axis) { return {char('x' + axis)}; }

  std::vector<char> drawDims() {
    std::vector<char> dims;
    for (char dim : {'b', 'd', 'h', 's'})
      if (draw(2))
        dims.push_back(dim);
    if (dims.empty())
      dims.push_back('b');
    return dims;
  }

  static std::string printType(const std::vector<char> &dims,
                               const std::vector<std::string> &cuts = {}) {
    std::string text = "!nd.tensor<f32, [";
    for (size_t i = 0; i < dims.size(); ++i)
      text += (i ? ", " : "") + std::string(1, dims[i]) + " = 16" +
              (cuts.empty() || cuts[i].empty() ? "" : " on {" + cuts[i] + "}");
    return text + "]>";
  }

  /// Each axis cuts one dim or none.
  std::string drawSharding(const std::vector<char> &dims) {
    std::vector<std::string> cuts(dims.size());
    for (size_t axis = 0; axis < axes; ++axis)
      if (size_t dim = draw(dims.size() + 1); dim < dims.size())
        cuts[dim] += (cuts[dim].empty() ? "" : ", ") + getAxis(axis);
    return dims.empty() ? printType(dims) : printType(dims, cuts);
  }

  /// Most results have open dims only; a rule places the others.
  std::string drawAttributes(const std::vector<char> &dims) {
    if (draw(4) == 0)
      return "nd.sharding = [" + drawSharding(dims) + "]";
    std::string names;
    for (char dim : dims)
      names += (names.empty() ? "\"" : ", \"") + std::string(1, dim) + "\"";
    return "nd.sharding = [" + printType(dims) + "], nd.open_dims = [[" +
           names + "]]";
  }

  std::string add(const std::string &name, const std::string &op,
                  const std::string &attributes,
                  const std::vector<const Drawn *> &operands,
                  std::vector<char> dims) {
    std::string text = "    " + name + " = nd." + op + " ", types;
    for (size_t i = 0; i < operands.size(); ++i) {
      text += (i ? ", " : "") + operands[i]->name;
      types += (i ? ", " : "") + printType(operands[i]->dims);
    }
    text += " {" + attributes + (attributes.empty() ? "" : ", ") +
            drawAttributes(dims) + "} : (" + types + ") -> " + printType(dims) +
            "\n";
    values.push_back({name, std::move(dims)});
    return text;
  }

  std::string drawOp(const std::string &name) {
    // Copies: the list of values grows.
    Drawn a = values[draw(2) ? values.size() - 1 : draw(values.size())];
    Drawn b = values[draw(values.size())];
    std::vector<char> both = a.dims;
    both.insert(both.end(), b.dims.begin(), b.dims.end());
    std::sort(both.begin(), both.end());
    std::vector<char> shared;
    std::set_intersection(a.dims.begin(), a.dims.end(), b.dims.begin(),
                          b.dims.end(), std::back_inserter(shared));
    both.erase(std::unique(both.begin(), both.end()), both.end());
    switch (draw(5)) {
    case 0:
      return add(name, "exp", "", {&a}, a.dims);
    case 1:
      if (both.size() <= 3)
        return add(name, draw(2) ? "add" : "mul", "", {&a, &b}, both);
      return add(name, "neg", "", {&a}, a.dims);
    case 2:
      if (a.dims.size() > 1) {
        char gone = a.dims[draw(a.dims.size())];
        std::vector<char> rest = a.dims;
        rest.erase(std::find(rest.begin(), rest.end(), gone));
        return add(name, "reduce_sum",
                   "dims = [\"" + std::string(1, gone) + "\"]", {&a}, rest);
      }
      return add(name, "abs", "", {&a}, a.dims);
    case 3: {
      char from = a.dims[draw(a.dims.size())];
      std::vector<char> renamed = a.dims;
      std::replace(renamed.begin(), renamed.end(), from, 'm');
      std::sort(renamed.begin(), renamed.end());
      bool isTwice = std::count(renamed.begin(), renamed.end(), 'm') > 1;
      if (isTwice || from == 'm')
        return add(name, "neg", "", {&a}, a.dims);
      return add(name, "rename",
                 "from = [\"" + std::string(1, from) + "\"], to = [\"m\"]",
                 {&a}, renamed);
    }
    default: {
      if (shared.empty() || both.size() > 4 || both.size() < 2)
        return add(name, "exp", "", {&a}, a.dims);
      char gone = shared[draw(shared.size())];
      both.erase(std::find(both.begin(), both.end(), gone));
      return add(name, "einsum", "reduced = [\"" + std::string(1, gone) + "\"]",
                 {&a, &b}, both);
    }
    }
  }

  std::mt19937_64 &random;
  size_t axes = 0;
  std::vector<Drawn> values;
};

/// Forms that can be taken back.
class Forms final : public AvailableForms {
public:
  explicit Forms(const AvailableForms &built) : built(built) {}
  llvm::SmallVector<TensorType> get(Value value) const override {
    auto types = built.get(value);
    for (auto [other, type] : added)
      if (other == value)
        types.push_back(type);
    return types;
  }
  void add(Value value, TensorType type) override {
    added.emplace_back(value, type);
  }
  std::vector<std::pair<Value, TensorType>> added;

private:
  const AvailableForms &built;
};

/// The least cost over all choices, found by trying them.
class Exhaustive {
public:
  Exhaustive(BlockPlanner &blockPlanner, ArrayRef<Operation *> ops,
             ArrayRef<TensorType> ends, reshard::ReshardPlanner &planner,
             nd::MeshAttr mesh, AxisMoves moves, double known)
      : blockPlanner(blockPlanner), ops(ops), ends(ends), planner(planner),
        mesh(mesh), moves(moves), forms(blockPlanner.getPlanned()),
        best(known) {}

  /// `known` if nothing is cheaper; nothing if there are too many to try.
  std::optional<double> run() {
    visit(0, 0);
    return tried <= mostTried ? std::optional(best) : std::nullopt;
  }

private:
  static constexpr size_t mostTried = 300000;
  struct KnownOp {
    llvm::SmallVector<WantedResult> results;
    std::optional<OpCuts> cuts;
  };

  void visit(size_t index, double cost) {
    if (cost >= best || ++tried > mostTried)
      return;
    size_t count = forms.added.size();
    if (index == ops.size()) {
      Operation *terminator = blockPlanner.getTerminator();
      for (auto [operand, type] : llvm::zip(terminator->getOperands(), ends))
        cost += blockPlanner.obtain(operand, type, forms);
      best = std::min(best, cost);
    } else {
      Operation *op = ops[index];
      for (const FactorChoice &choice : list(op)) {
        visit(index + 1, cost + take(op, choice));
        forms.added.resize(count, {Value(), TensorType()});
      }
    }
    forms.added.resize(count, {Value(), TensorType()});
  }

  llvm::SmallVector<FactorChoice> list(Operation *op) {
    llvm::SmallVector<OperandForms> operands;
    for (Value operand : op->getOperands())
      operands.push_back(blockPlanner.describe(operand, forms));
    return findFactorChoices(getCuts(op), operands, planner, mesh,
                             blockPlanner.getLinkedCuts(), moves, SIZE_MAX);
  }

  OpCuts &getCuts(Operation *op) {
    KnownOp &known = knownOps[op];
    if (!known.cuts) {
      for (Value result : op->getResults())
        known.results.emplace_back().desired = blockPlanner.getDesired(result);
      known.cuts.emplace(op, known.results, mesh);
    }
    return *known.cuts;
  }

  /// The cost of the choice, whose forms it enters.
  double take(Operation *op, const FactorChoice &choice) {
    double cost = choice.work;
    for (auto [operand, type] :
         llvm::zip(op->getOperands(), choice.operandTypes))
      cost += blockPlanner.obtain(operand, type, forms);
    for (auto [result, made] :
         llvm::zip(op->getResults(), choice.resultTypes)) {
      forms.add(result, made);
      if (!made.isPartial())
        cost += blockPlanner.obtain(
            result, blockPlanner.getDesired(result).settle(made), forms);
    }
    return cost;
  }

  BlockPlanner &blockPlanner;
  ArrayRef<Operation *> ops;
  ArrayRef<TensorType> ends;
  reshard::ReshardPlanner &planner;
  nd::MeshAttr mesh;
  AxisMoves moves;
  Forms forms;
  std::map<Operation *, KnownOp> knownOps;
  double best;
  size_t tried = 0;
};

size_t readNumber(const char *name, size_t otherwise) {
  const char *text = std::getenv(name);
  return text ? std::stoul(text) : otherwise;
}

/// What the searches of one block found.
struct Compared {
  double beam = 0;
  std::optional<double> exhaustive;
};

Compared compare(func::FuncOp function, AxisMoves moves) {
  nd::MeshAttr mesh = nd::MeshAttr::of(function);
  reshard::ReshardPlanner planner(mesh);
  Block &block = function.getBody().front();
  MoveLimit limit{PlanOptions()};
  BlockPlanner blockPlanner(block, planner, mesh, limit);
  for (BlockArgument argument : block.getArguments())
    blockPlanner.addArgument(
        argument, getSharding(function.getArgAttr(argument.getArgNumber(),
                                                  "nd.sharding")));
  TensorType end = getSharding(function.getResultAttr(0, "nd.sharding"));
  blockPlanner.setEnds(end);
  EXPECT_TRUE(succeeded(blockPlanner.prepare()));
  llvm::SmallVector<Operation *> ops;
  for (Operation &op : block.without_terminator())
    ops.push_back(&op);
  BlockSearch search(blockPlanner, planner, mesh, moves);
  EXPECT_EQ(search.run(ops).size(), ops.size());
  Exhaustive exhaustive(blockPlanner, ops, end, planner, mesh, moves,
                        search.getCost());
  return {search.getCost(), exhaustive.run()};
}

/// Compares `blocks` blocks with all choices that `moves` allows.
void compareAll(AxisMoves moves, size_t blocks) {
  MLIRContext context;
  context.loadDialect<func::FuncDialect, nd::NdDialect, spmd::SpmdDialect>();
  size_t seed = readNumber("MESHC_SEARCH_SEED", 1);
  size_t compared = 0, tooMany = 0;
  bool isSample = std::getenv("MESHC_RANDOM_SEED");
  size_t step = isSample ? 8 : 1;
  size_t first = readNumber("MESHC_RANDOM_SEED", 0) % step;
  for (size_t i = first; i < blocks; i += step) {
    std::mt19937_64 random(seed * 1000003 + i);
    std::string text = BlockDraw(random).run();
    auto module = parseSourceString<ModuleOp>(text, &context);
    ASSERT_TRUE(module) << text;
    Compared found = compare(*module->getOps<func::FuncOp>().begin(), moves);
    if (!found.exhaustive) {
      ++tooMany;
      continue;
    }
    ++compared;
    EXPECT_LE(found.beam, *found.exhaustive * (1 + 1e-9))
        << "block " << i << ":\n"
        << text;
  }
  llvm::outs() << compared << " blocks compared, " << tooMany
               << " with too many choices to try all\n";
  EXPECT_GE(compared, (compared + tooMany) * 5 / 6);
}

TEST(BlockSearch, FindsTheCheapestChoice) {
  compareAll(AxisMoves::None, readNumber("MESHC_SEARCH_BLOCKS", 600));
}

TEST(BlockSearch, FindsTheCheapestMoves) {
  compareAll(AxisMoves::One, readNumber("MESHC_SEARCH_BLOCKS", 600) / 6);
}

/// The text with one cut of one sharding left out; unchanged if it has none.
std::string dropCut(std::string text, std::mt19937_64 &random) {
  std::vector<size_t> places;
  for (size_t at = text.find(" on {"); at != std::string::npos;
       at = text.find(" on {", at + 1))
    places.push_back(at);
  if (places.empty())
    return text;
  size_t at = places[random() % places.size()];
  return text.erase(at, text.find('}', at) + 1 - at);
}

/// The program on blocks, in a context that may know other programs.
std::string partitionText(const std::string &text, MLIRContext &context) {
  auto module = parseSourceString<ModuleOp>(text, &context);
  EXPECT_TRUE(module) << text;
  PassManager passes(&context);
  passes.addPass(createChoosePlan());
  passes.addPass(createPartitionProgram());
  EXPECT_TRUE(module && succeeded(passes.run(*module))) << text;
  std::string result;
  if (module)
    llvm::raw_string_ostream(result) << *module;
  return result;
}

/// Searches that a context has done for other programs, which differ in one
/// sharding, change no program.
TEST(BlockSearch, RemembersWhatASearchDependsOn) {
  std::mt19937_64 random(readNumber("MESHC_SEARCH_SEED", 20261127));
  auto load = [](MLIRContext &context) {
    context.loadDialect<nd::NdDialect, spmd::SpmdDialect, func::FuncDialect>();
  };
  MLIRContext shared;
  load(shared);
  std::set<std::string> programs;
  for (int trial = 0; trial < 100 && !testing::Test::HasFailure(); ++trial) {
    std::string text = BlockDraw(random).run();
    for (int variant = 0; variant < 6; ++variant) {
      MLIRContext fresh;
      load(fresh);
      std::string alone = partitionText(text, fresh);
      EXPECT_EQ(partitionText(text, shared), alone) << text;
      programs.insert(std::move(alone));
      text = dropCut(std::move(text), random);
    }
  }
  EXPECT_GT(programs.size(), 200u);
}

} // namespace
