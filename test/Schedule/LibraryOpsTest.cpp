//===- LibraryOpsTest.cpp - ops that become calls of a library ------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A library op of the test, which the compiler cannot know, goes through the
/// kernels and schedule phases by its interface alone. Matrix products list the
/// implementations that the runtime tries.
///
//===----------------------------------------------------------------------===//

#include "dialects/Exec/ArenaAttributes.h"
#include "dialects/Exec/Holder.h"
#include "dialects/Exec/Library.h"
#include "dialects/Exec/Order.h"
#include "dialects/Nd/Ops/PointwiseOps.h"
#include "meshc/GemmScratch.h"
#include "test/Schedule/ScheduleFixture.h"

using namespace mlir;
using namespace meshc;

namespace {

constexpr int64_t scratchBytes = 192;

/// The step op: the hyperbolic tangent of a buffer, through scratch memory.
class TanhCall
    : public Op<TanhCall, OpTrait::ZeroRegions, OpTrait::ZeroResults,
                OpTrait::NOperands<3>::Impl, exec::StepOpInterface::Trait> {
public:
  using Op::Op;
  static StringRef getOperationName() { return "test.tanh_call"; }
  static ArrayRef<StringRef> getAttributeNames() { return {}; }

  exec::Accesses getAccesses() {
    exec::Accesses accesses;
    accesses.reads = {getOperand(0)};
    accesses.writes = {getOperand(1)};
    accesses.scratch = {getOperand(2)};
    return accesses;
  }
  bool mayWriteOver(unsigned, unsigned) { return true; }
  exec::KernelUse getKernelUse() { return {}; }
  void emitCall(exec::CallEmitter &) {}
  void run(exec::Arenas &arenas) {
    for (int64_t rank = 0; rank < arenas.getRankCount(); ++rank) {
      auto type = cast<exec::BufferType>(getOperand(0).getType());
      nd::HostTensor tensor =
          arenas.read(rank, type, arenas.getOffset(getOperand(0)));
      for (double &value : tensor.data)
        value = std::tanh(value);
      arenas.write(rank, cast<exec::BufferType>(getOperand(1).getType()),
                   arenas.getOffset(getOperand(1)), tensor);
    }
    arenas.spoil(exec::ArenaPiece::of(getOperand(2), arenas.getContext().mesh));
  }
  exec::CallDescription describe() { return {"tanh", "", {getLoc()}}; }
};

/// The library op, which wants its dims in descending order.
class TanhOp
    : public Op<TanhOp, OpTrait::OneRegion, OpTrait::OneResult,
                OpTrait::OneTypedResult<nd::TensorType>::Impl,
                OpTrait::OneOperand, OpTrait::SingleBlock,
                OpTrait::IsIsolatedFromAbove, nd::NamedOpInterface::Trait,
                exec::ScheduledOpInterface::Trait,
                exec::LibraryOpInterface::Trait> {
public:
  using Op::Op;
  static StringRef getOperationName() { return "test.tanh"; }
  static ArrayRef<StringRef> getAttributeNames() { return {}; }

  SmallVector<nd::HostTensor>
  evaluate(ArrayRef<const nd::HostTensor *> operands,
           const nd::EvaluationContext &context) {
    return exec::evaluate((*this)->getRegion(0).front(), operands, context);
  }
  LogicalResult buildGradient(OpBuilder &, ArrayRef<Value>,
                              SmallVectorImpl<Value> &) {
    return exec::reportHolderGradient(*this);
  }
  nd::PartitionRule getPartitionRule() { return exec::getHolderRule(*this); }
  nd::OpCost getCost() { return exec::getHolderCost(*this); }

  static StringRef getHeldName() { return nd::TanhOp::getOperationName(); }
  static bool computes(Operation *, exec::Library) { return true; }
  SmallVector<exec::LibraryImplementation>
  getImplementations(exec::Library library) {
    bool isHost = library == exec::Library::Host;
    // What does not accept the op needs no memory.
    return {{"large", false, 1 << 20},
            {"fast", true, isHost ? scratchBytes : 64},
            {"plain", true, 64}};
  }
  exec::Order getWantedOrder() {
    exec::Order order;
    for (nd::DimAttr dim : nd::getTensorType(getResult()).getDims())
      order.push_back(dim.getName());
    llvm::sort(order, [](StringAttr a, StringAttr b) {
      return a.getValue() > b.getValue();
    });
    return order;
  }
  exec::Order getExpectedOrder(unsigned, exec::DimPrecedence) {
    return getWantedOrder();
  }
  void chooseOrders(exec::OrderChooser &orders) {
    orders.require((*this)->getOpOperand(0), getWantedOrder());
    orders.setOrder(cast<OpResult>(getResult()), getWantedOrder());
  }
  LogicalResult verifyCall() {
    for (Value value : {getOperand(), Value(getResult())})
      if (exec::getOrder(value) != getWantedOrder())
        return emitOpError("wants its dims in descending order");
    return success();
  }
  LogicalResult verifyReady() {
    return exec::verifyHeldOps(cast<exec::LibraryOpInterface>(getOperation()));
  }
  bool mayOverwrite(unsigned, unsigned) { return true; }
  void buildCall(OpBuilder &builder, const exec::ScheduledCall &call) {
    OperationState state(getLoc(), TanhCall::getOperationName());
    state.addOperands(call.inputs);
    state.addOperands(call.results);
    state.addOperands(call.scratch);
    builder.create(state);
  }
};

class TestDialect : public Dialect {
public:
  explicit TestDialect(MLIRContext *context)
      : Dialect("test", context, TypeID::get<TestDialect>()) {
    addOperations<TanhOp, TanhCall>();
  }
  static StringRef getDialectNamespace() { return "test"; }
};

class LibraryOps : public ScheduleFixture {
protected:
  /// Two products with a tanh between, on two ranks.
  OwningOpRef<ModuleOp> parse() {
    return parseSourceString<ModuleOp>(R"(
!x = !nd.tensor<f32, [b = 8 on {data}, i = 6]>
!w = !nd.tensor<f32, [i = 6, j = 10]>
!h = !nd.tensor<f32, [b = 8 on {data}, j = 10]>
module attributes {nd.mesh = #nd.mesh<data = 2>} {
  func.func @eval_step(%x: !x {nd.name = "x", nd.role = "input", nd.order = ["b", "i"]},
                       %w: !w {nd.name = "w", nd.role = "parameter", nd.order = ["i", "j"]})
      -> (!x {nd.name = "y", nd.role = "metric", nd.order = ["b", "i"]}) {
    %0 = nd.einsum %x, %w {reduced = ["i"]} : (!x, !w) -> !h
    %1 = nd.tanh %0 : (!h) -> !h
    %2 = nd.einsum %1, %w {reduced = ["j"]} : (!h, !w) -> !x
    return %2 : !x
  }
}
)",
                                       &context);
  }
};

TEST_F(LibraryOps, PassesKnowThemByTheirInterface) {
  context.loadDialect<TestDialect>();
  OwningOpRef<ModuleOp> module = parse();
  ASSERT_TRUE(module);
  check(*module); // by the interpreter, and on arenas

  ASSERT_TRUE(run(*module, kernels::addKernelsPasses));
  SmallVector<TanhOp> held;
  module->walk([&](TanhOp op) { held.push_back(op); });
  ASSERT_EQ(held.size(), 1u);
  auto library = cast<exec::LibraryOpInterface>(*held.front());
  EXPECT_TRUE(isa<nd::TanhOp>(exec::getHeldOp(library)));
  EXPECT_EQ(exec::getScratchBytes(held.front()), scratchBytes);
  EXPECT_EQ(exec::getOrder(held.front().getResult()),
            held.front().getWantedOrder());

  ASSERT_TRUE(run(*module, schedule::addSchedulePasses));
  SmallVector<TanhCall> calls;
  module->walk([&](TanhCall op) { calls.push_back(op); });
  ASSERT_EQ(calls.size(), 1u);
  nd::MeshAttr mesh = nd::MeshAttr::of(*module);
  exec::Accesses accesses = calls.front().getAccesses();
  exec::ArenaPiece read = exec::ArenaPiece::of(accesses.reads[0], mesh),
                   written = exec::ArenaPiece::of(accesses.writes[0], mesh),
                   scratch = exec::ArenaPiece::of(accesses.scratch[0], mesh);
  EXPECT_TRUE(read == written); // mayOverwrite
  EXPECT_EQ(scratch.end - scratch.begin, scratchBytes);
  EXPECT_FALSE(scratch.overlaps(read));
}

TEST_F(LibraryOps, WithoutTheOpNothingIsHeld) {
  OwningOpRef<ModuleOp> module = parse();
  ASSERT_TRUE(run(*module, kernels::addKernelsPasses));
  unsigned products = 0, fusions = 0;
  module->walk([&](exec::LibraryOpInterface op) {
    ++products;
    EXPECT_TRUE(isa<exec::ProductOp>(op));
  });
  module->walk([&](exec::FusionOp) { ++fusions; });
  EXPECT_EQ(products, 2u);
  EXPECT_EQ(fusions, 1u);
}

/// Their names, in order.
std::vector<std::string>
getNames(ArrayRef<exec::LibraryImplementation> implementations) {
  std::vector<std::string> names;
  for (const exec::LibraryImplementation &one : implementations)
    names.push_back(one.name.str());
  return names;
}

TEST_F(LibraryOps, ProductsListWhatTheRuntimeTries) {
  OwningOpRef<ModuleOp> module = parse();
  ASSERT_TRUE(run(*module, kernels::addKernelsPasses));
  std::vector<std::string> host, cuda;
#define MESHC_HOST_PRODUCT(symbol, name, accepts, scratchBytes)                \
  host.push_back(name);
#define MESHC_CUDA_PRODUCT(symbol, name, accepts) cuda.push_back(name);
#include "meshc/Products.def"
  unsigned count = 0;
  module->walk([&](exec::ProductOp product) {
    ++count;
    auto onHost = product.getImplementations(exec::Library::Host);
    auto onCuda = product.getImplementations(exec::Library::Cuda);
    EXPECT_EQ(getNames(onHost), host);
    EXPECT_EQ(getNames(onCuda), cuda);
    // The last one always accepts, without scratch memory.
    for (const exec::LibraryImplementation &last :
         {onHost.back(), onCuda.back()}) {
      EXPECT_TRUE(last.accepts);
      EXPECT_EQ(last.scratchBytes, 0);
    }
    // As the runtime has it: 4 rows on each rank.
    bool isFirst = nd::getTensorType(product.getResult(0)).hasDim("j");
    MeshcGemm gemm = {};
    gemm.m = 4, gemm.n = isFirst ? 10 : 6, gemm.k = isFirst ? 6 : 10;
    gemm.batch = 1, gemm.type = gemm.typeC = MESHC_F32;
    EXPECT_EQ(exec::getScratchBytes(product), meshcGemmScratchBytes(&gemm));
    exec::setLibraryWorkspace(*module);
    EXPECT_EQ(exec::getScratchBytes(product), 0);
    (*module)->removeAttr("exec.library_workspace");
  });
  EXPECT_EQ(count, 2u);
}

} // namespace
