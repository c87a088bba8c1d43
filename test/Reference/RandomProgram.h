//===- RandomProgram.h - random models and layouts ------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_TEST_REFERENCE_RANDOMPROGRAM_H
#define MESHC_TEST_REFERENCE_RANDOMPROGRAM_H

#include "mlir/IR/BuiltinOps.h"
#include <random>

namespace meshc::reference {

/// Draws the text of a model with about a dozen ops of all families on small
/// tensors, with dims of size 1 and of prime sizes, all element types, and a
/// training statement. The model is well conditioned: values stay between about
/// one and a thousand, and discontinuous ops (floor, comparisons …) are not
/// applied to sums, whose last bits depend on their order. For the same reason
/// no entry is chosen (max, min) among the entries of a parameter that begins
/// with equal ones: an optimizer that scales each gradient by its own size
/// moves them by the same amount but for rounding, and rounding would choose.
///
/// With `hasLoops`, a part of the statements, and some parameters, stand in a
/// loop, and some of those in another one within it; the loops carry values,
/// and some end early.
///
/// Every value that nothing else uses enters a metric, weighted by its indices,
/// so that a permuted block changes it.
class RandomProgram {
public:
  explicit RandomProgram(uint64_t seed, bool hasLoops = false)
      : random(seed), hasLoops(hasLoops) {}

  /// The lines of the text, one declaration or statement each.
  std::vector<std::string> write();

private:
  struct Dim {
    std::string name;
    int64_t size;
    bool operator==(const Dim &) const = default;
  };
  enum class Type { F32, BF16, F16, I32, I1 };
  /// A value with known properties of its entries.
  struct Known {
    std::string name;
    Type type;
    std::vector<Dim> dims;
    double size;         ///< order of magnitude of the entries
    bool isExact;        ///< the same to the bit under every layout
    bool mayTie = false; ///< entries may be equal but for rounding
    int uses = 0;
    bool isHidden = false; ///< inside a loop that it does not fit

    bool isFloat() const { return type <= Type::F16; }
    bool isInteger() const { return type == Type::I32; }
    const Dim *find(const std::string &dim) const;
    bool has(const std::string &dim) const { return find(dim); }
    int64_t count() const;
  };
  /// A loop that is open.
  struct Loop {
    Dim dim;
    std::vector<size_t> carried;           ///< numbers of values
    std::vector<std::vector<Dim>> outside; ///< dims of the values before it
    bool endsEarly = false;                ///< and has no gradient
  };
  using Step = bool (RandomProgram::*)();
  using Filter = llvm::function_ref<bool(const Known &)>;
  static constexpr int64_t maxElements = 2048;

  // One op each, or none if no operands fit.
  bool addUnary();
  bool addSafeUnary();
  bool addJump();
  bool addBinary();
  bool addDivision();
  bool addSelect();
  bool addLogic();
  bool addEinsum();
  bool addDot();
  bool addReduction();
  bool addArgmax();
  bool addCumsum();
  bool addSort();
  bool addTopK();
  bool addSoftmax();
  bool addCrossEntropy();
  bool addAttention();
  std::string drawMask(const Known &query, const Dim &key, const Dim &position,
                       const Dim &memory);
  std::string drawBias(const Known &query, const Dim &key, const Dim &position,
                       const Dim &memory);
  bool addRename();
  bool addSplit();
  bool addMerge();
  bool addBroadcast();
  bool addSlice();
  bool addEntry();
  bool addConcat();
  bool addPad();
  bool addSource();
  bool addGather();
  bool addGatherOfWindows();
  bool addOneHot();
  bool addCategorical();
  bool addDropout();
  bool addCast();
  bool addFunction();
  bool addFunctionAlong();
  bool addFunctionOfTwo();
  bool addFunctionWithLoop();

  void addInputs();
  void addParameters(const std::string &letter, size_t count);
  void addSteps(size_t count);
  void addRecomputed(size_t count);
  void addLoops();
  void openLoop(const Dim &dim);
  void enter(Loop &loop);
  void addCarried(Loop &loop);
  std::string drawNext(const Loop &loop, const Known &carried);
  std::string drawCondition(const Loop &loop);
  void closeBlock();
  void addRecurrence(const Dim &dim);
  void closeLoop();
  void stopGradients(const Loop &loop);
  std::string declare(const std::string &arguments, const std::string &body,
                      const std::string &gradient);
  void addMetrics();
  void addTraining();
  void addTrainingOptions();
  std::string drawInitializer(const std::vector<Dim> &dims);
  /// The mean of the value's entries, each weighted by its indices.
  std::string weigh(const Known &value);

  size_t draw(size_t below) { return random() % below; }
  bool flip() { return draw(2) == 0; }
  /// A number of few digits.
  std::string drawNumber(double low, double high);
  /// A value that passes, later ones more often; null if none does. Counts as a
  /// use.
  Known *pick(Filter filter);
  /// Whether the expression has an operand whose entries may tie.
  bool mayTie(llvm::StringRef expression) const;
  /// Assigns an expression to a new name.
  /// The dims and the type behind the name of an assigned value, in some of the
  /// assignments.
  std::string stateType(Type type, const std::vector<Dim> &dims) const;
  bool add(std::string expression, Type type, std::vector<Dim> dims,
           double size, bool isExact);
  bool add(std::string expression, const Known &like) {
    return add(std::move(expression), like.type, like.dims, like.size,
               like.isExact);
  }
  std::vector<Dim> drawDims(size_t most);
  /// Some dims of the value, at least one if it has any.
  std::vector<Dim> drawDimsOf(const Known &value);
  const Dim &drawDimOf(const Known &value) {
    return value.dims[draw(value.dims.size())];
  }
  /// A declared dim of that size that none of `taken` is: of the pool, or new.
  Dim drawDim(int64_t size, const std::vector<Dim> &taken);
  bool isDeclared(const Dim &dim) const;
  /// Whether the dim is that of the examples, or of a micro-batch.
  static bool isBatch(const Dim &dim) { return dim.name == "o"; }
  static bool mayJoin(const Known &a, const Known &b);
  static std::vector<Dim> join(const std::vector<Dim> &a,
                               const std::vector<Dim> &b);
  static std::vector<Dim> without(const std::vector<Dim> &dims,
                                  const std::vector<Dim> &gone);
  static std::string list(const std::vector<Dim> &dims);
  static std::string spell(Type type);
  static int64_t count(const std::vector<Dim> &dims);

  std::mt19937_64 random;
  bool hasLoops;
  std::vector<Dim> pool; ///< as the model sees them
  /// The text's batch, the first dim, has so many times the size.
  int64_t microBatches = 1;
  std::vector<Known> values;
  std::vector<std::string> inputs, statements, functions;
  std::vector<Loop> loops; ///< outermost first
  int numbered = 0;
};

/// A mesh and rules as written on the command line (docs/language.md, section
/// 8).
struct RandomLayout {
  std::string mesh, layout;
};

/// Draws a mesh of at most `mostRanks` ranks (up to four axes of up to six)
/// and rules that the tensors of `steps`, a module after the phase `steps`,
/// allow: no two dims of one on an axis. Some rules are weak or keep a dim
/// whole; some are for single tensors or classes, some for the state of an
/// optimizer, gradients and parameters, over one axis or several.
RandomLayout drawLayout(mlir::ModuleOp steps, std::mt19937_64 &random,
                        int64_t mostRanks);

} // namespace meshc::reference

#endif // MESHC_TEST_REFERENCE_RANDOMPROGRAM_H
