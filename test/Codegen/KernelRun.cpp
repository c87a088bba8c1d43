//===- KernelRun.cpp - a kernel compiled, run, and compared ---------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Codegen/KernelRun.h"
#include "dialects/Exec/AttentionCall.h"
#include "dialects/Nd/NdInterfaces.h"
#include "dialects/Spmd/SpmdOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "runtime/Device/Emulation.h"
#include "test/Codegen/BufferElements.h"
#include "test/Codegen/GuardedArena.h"
#include "test/Codegen/PtxRun.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/xxhash.h"
#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>
#include <numeric>
#include <random>

using namespace mlir;

namespace meshc::codegen {

//===----------------------------------------------------------------------===//
// The program in this process
//===----------------------------------------------------------------------===//

static RuntimeCalls runtimeCalls;

const RuntimeCalls &getRuntimeCalls() { return runtimeCalls; }

void forgetRuntimeEvents() { runtimeCalls.events.clear(); }

static void launchInPieces(MeshcContext *context, const MeshcKernel *kernel,
                           void *const *buffers) {
  for (int64_t begin = 0, size = 1; begin < kernel->extent;
       begin += size, size += 2)
    kernel->function(context, buffers, begin,
                     std::min(kernel->extent, begin + size));
}

static void multiplyPlain(MeshcContext *, const MeshcGemm *gemm, const void *a,
                          const void *b, void *c) {
  runtimeCalls.gemm = *gemm;
  const auto *fa = static_cast<const float *>(a);
  const auto *fb = static_cast<const float *>(b);
  auto *fc = static_cast<float *>(c);
  for (int64_t i = 0; i < gemm->m; ++i)
    for (int64_t j = 0; j < gemm->n; ++j) {
      float sum = gemm->accumulate ? fc[i * gemm->ldc + j] : 0;
      for (int64_t k = 0; k < gemm->k; ++k)
        sum += (gemm->transA ? fa[k * gemm->lda + i] : fa[i * gemm->lda + k]) *
               (gemm->transB ? fb[j * gemm->ldb + k] : fb[k * gemm->ldb + j]);
      fc[i * gemm->ldc + j] = sum;
    }
}

static void receiveOnes(MeshcContext *, const MeshcCollective *collective,
                        void *const *send, void *const *recv) {
  runtimeCalls.events.push_back({collective, send[0], recv[0]});
  runtimeCalls.collective = *collective;
  runtimeCalls.send.assign(send, send + collective->itemCount);
  runtimeCalls.recv.assign(recv, recv + collective->itemCount);
  for (uint32_t item = 0; item < collective->itemCount; ++item) {
    auto *values = static_cast<float *>(recv[item]);
    const MeshcCollectiveItem &sizes = collective->items[item];
    int64_t count = sizes.recvOuter * sizes.recvEntries * sizes.recvInner;
    for (int64_t i = 0; i < count; ++i)
      values[i] = 1;
  }
}

static void waitForNothing(MeshcContext *, const MeshcCollective *collective) {
  runtimeCalls.events.push_back({collective});
  runtimeCalls.waited = *collective;
}

static llvm::orc::SymbolMap getRuntime(llvm::orc::LLJIT &jit) {
  llvm::orc::SymbolMap symbols;
  auto add = [&](StringRef name, auto *function) {
    symbols[jit.mangleAndIntern(name)] = {
        llvm::orc::ExecutorAddr::fromPtr(function),
        llvm::JITSymbolFlags::Exported};
  };
  add("meshc_launch", launchInPieces);
  add("meshc_gemm", multiplyPlain);
  add("meshc_collective", receiveOnes);
  add("meshc_wait", waitForNothing);
  add("meshc_emulate", meshc_emulate);
  add("meshc_emulated_barrier", meshc_emulated_barrier);
  add("meshc_emulated_shuffle", meshc_emulated_shuffle);
  add("meshc_emulated_or", meshc_emulated_or);
  add("meshc_emulated_memory", meshc_emulated_memory);
  add("meshc_emulated_access", meshc_emulated_access);
  add("meshc_emulated_fence", meshc_emulated_fence);
  return symbols;
}

static ProgramOptions getProgramOptions(StringRef march,
                                        std::optional<GpuOptions> gpu) {
  ProgramOptions options;
  options.march = march.str();
  options.emulated = gpu;
  options.name = "test";
  options.manifest = "{}";
  return options;
}

std::unique_ptr<LoadedProgram>
LoadedProgram::load(ModuleOp module, StringRef march,
                    std::optional<GpuOptions> gpu) {
  return load(module, getProgramOptions(march, gpu));
}

std::unique_ptr<LoadedProgram>
LoadedProgram::load(ModuleOp module, const ProgramOptions &options,
                    const std::map<std::string, void *> &functions) {
  auto generated = Program::generate(module, options);
  EXPECT_TRUE(succeeded(generated));
  if (failed(generated))
    return nullptr;
  SmallVector<char> object;
  llvm::cantFail((*generated)->emit(llvm::CodeGenFileType::ObjectFile, object));
  auto loaded = std::make_unique<LoadedProgram>();
  loaded->jit = llvm::cantFail(llvm::orc::LLJITBuilder().create());
  auto &library = loaded->jit->getMainJITDylib();
  llvm::orc::SymbolMap symbols = getRuntime(*loaded->jit);
  for (auto [name, function] : functions)
    symbols[loaded->jit->mangleAndIntern(name)] = {
        llvm::orc::ExecutorAddr::fromPtr(function),
        llvm::JITSymbolFlags::Exported};
  llvm::cantFail(library.define(llvm::orc::absoluteSymbols(symbols)));
  library.addGenerator(llvm::cantFail(
      llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
          loaded->jit->getDataLayout().getGlobalPrefix())));
  llvm::cantFail(
      loaded->jit->addObjectFile(llvm::MemoryBuffer::getMemBufferCopy(
          StringRef(object.data(), object.size()))));
  auto address = loaded->jit->lookup("meshc_program");
  EXPECT_TRUE(bool(address)) << llvm::toString(address.takeError());
  if (!address)
    return nullptr;
  loaded->program = address->toPtr<const MeshcProgram *>();
  return loaded;
}

//===----------------------------------------------------------------------===//
// Values in buffers
//===----------------------------------------------------------------------===//

namespace {
/// A kernel, its buffers in an arena, and its expected results.
struct Comparison {
  exec::KernelOp kernel;
  const KernelCase &options;
  nd::MeshAttr mesh;
  SmallVector<exec::BufferType> buffers = {}; // inputs, then outputs
  SmallVector<int64_t> offsets = {};
  int64_t scratchOffset = 0, scratchBytes = 0; ///< for the code on the host
  GuardedArena arena{};
  unsigned inputCount = 0;
  std::vector<nd::HostTensor> inputs = {};
  nd::EvaluationContext context = {}; ///< of the rank that runs
  size_t paddings = 0; ///< elements of padding that were filled so far

  void placeBuffers();
  void addFunctions(ModuleOp module);
  SmallVector<SmallVector<int64_t>> getRanks() const;
  nd::HostTensor drawInput(unsigned input, std::mt19937 &generator);
  std::vector<bool> findPadding(nd::TensorType type);
  void spoilPadding(nd::HostTensor &tensor);
  void fillInputs();
  void runRank(const MeshcProgram &program, ArrayRef<int64_t> coordinates,
               PtxRun *ptx);
  void expectOutputs();
  void expectSamePtx(PtxRun &ptx, const MeshcContext &ofProgram,
                     const std::vector<std::string> &before);
  std::vector<std::string> copyBuffers();
  SmallVector<nd::HostTensor> evaluate();
};
} // namespace

void Comparison::placeBuffers() {
  auto add = [&](Value tensor, Attribute order) {
    buffers.push_back(exec::BufferType::get(
        kernel.getContext(), cast<nd::TensorType>(tensor.getType()),
        llvm::to_vector(cast<ArrayAttr>(order).getAsRange<StringAttr>())));
  };
  Block &body = kernel.getBody().front();
  inputCount = body.getNumArguments();
  for (auto [value, order] :
       llvm::zip(body.getArguments(), kernel.getInputOrders()))
    add(value, order);
  for (auto [value, order] :
       llvm::zip(body.getTerminator()->getOperands(), kernel.getOutputOrders()))
    add(value, order);
  for (unsigned buffer = 0; buffer < buffers.size(); ++buffer) {
    auto isReplaced = [&](auto pair) {
      return buffer == inputCount + pair.second;
    };
    const auto *replaced = llvm::find_if(options.inPlace, isReplaced);
    offsets.push_back(
        replaced != options.inPlace.end()
            ? offsets[replaced->first]
            : arena.add(buffers[buffer].getTensor().getLocalBytes(mesh)));
  }
  if (!options.hostFunctions.empty()) {
    scratchBytes =
        exec::describeAttentionSizes(exec::getAttention(kernel)).scratchBytes;
    scratchOffset = arena.add(scratchBytes);
  }
}

void Comparison::addFunctions(ModuleOp module) {
  auto builder = OpBuilder::atBlockEnd(module.getBody());
  module->setAttr("exec.arena_bytes", builder.getI64IntegerAttr(arena.size()));
  auto addFunction = [&](StringRef name) {
    auto function = exec::FuncOp::create(builder, module.getLoc(), name);
    function.getBody().emplaceBlock();
    return OpBuilder::atBlockEnd(&function.getBody().front());
  };
  addFunction("initialize");
  OpBuilder inner = addFunction("eval_step");
  SmallVector<Value> values;
  for (auto [buffer, offset] : llvm::zip(buffers, offsets))
    values.push_back(
        exec::BufferOp::create(inner, module.getLoc(), buffer, offset));
  Value scratch;
  if (scratchBytes)
    scratch = exec::ScratchOp::create(
        inner, module.getLoc(),
        exec::ScratchType::get(module.getContext(), scratchBytes),
        scratchOffset);
  exec::LaunchOp::create(inner, module.getLoc(), kernel.getSymName(),
                         ArrayRef(values).take_front(inputCount),
                         ArrayRef(values).drop_front(inputCount), scratch);
}

nd::HostTensor Comparison::drawInput(unsigned input, std::mt19937 &generator) {
  std::uniform_real_distribution<double> numbers(options.low, options.high);
  nd::TensorType type = buffers[input].getTensor();
  Type element = type.getElementType();
  nd::HostTensor tensor(type, mesh);
  for (double &value : tensor.data) {
    value = isa<FloatType>(element)
                ? nd::roundToElementType(numbers(generator), element)
                : double(generator() %
                         (element.isInteger(1) ? 2 : options.integers));
    if (!options.specials.empty() && generator() % 2)
      value = options.specials[generator() % options.specials.size()];
  }
  if (options.change)
    options.change(input, tensor);
  spoilPadding(tensor);
  return tensor;
}

SmallVector<SmallVector<int64_t>> Comparison::getRanks() const {
  if (!options.coordinates.empty())
    return {options.coordinates};
  int64_t count = 1;
  for (nd::AxisAttr axis : mesh.getAxes())
    count *= axis.getSize();
  SmallVector<SmallVector<int64_t>> ranks;
  for (int64_t rank = 0; rank < count; ++rank)
    ranks.push_back(mesh.getCoordinates(rank));
  return ranks;
}

/// Which elements of a rank's block are padding.
std::vector<bool> Comparison::findPadding(nd::TensorType type) {
  nd::HostTensor marked(type, mesh);
  context.spoilPadding(marked);
  std::vector<bool> isPadding;
  for (double value : marked.data)
    isPadding.push_back(value != 0);
  return isPadding;
}

/// Fills padding with values that show where it leaks.
void Comparison::spoilPadding(nd::HostTensor &tensor) {
  context.spoilPadding(tensor);
  if (!tensor.type.getElementType().isInteger(32))
    return;
  for (auto [value, isPadding] :
       llvm::zip(tensor.data, findPadding(tensor.type)))
    if (isPadding)
      value = options.padding[paddings++ % options.padding.size()];
}

/// Fills the rows of `order` with the stable orders of those of `numbers`.
static void sortRows(nd::HostTensor &order, const nd::HostTensor &numbers) {
  auto length = static_cast<size_t>(order.sizes.back());
  for (size_t row = 0; row < order.data.size(); row += length) {
    auto begin = order.data.begin() + row;
    std::iota(begin, begin + length, 0);
    std::sort(begin, begin + length, [&](double a, double b) {
      double first = numbers.data[row + size_t(a)];
      double second = numbers.data[row + size_t(b)];
      return first < second || (first == second && a < b);
    });
  }
}

void Comparison::fillInputs() {
  std::mt19937 generator(1);
  inputs.clear();
  for (unsigned input = 0; input < inputCount; ++input)
    inputs.push_back(drawInput(input, generator));
  for (auto [order, numbers] : options.orders) {
    sortRows(inputs[order], inputs[numbers]);
    spoilPadding(inputs[order]);
  }
  for (unsigned input = 0; input < inputCount; ++input) {
    nd::HostTensor tensor = inputs[input];
    if (options.hide)
      options.hide(input, tensor);
    Type element = tensor.type.getElementType();
    forEachPlace(tensor, buffers[input], mesh, [&](int64_t from, int64_t to) {
      writeElement(arena.data() + offsets[input] + to * getBytes(element),
                   element, tensor.data[from]);
    });
  }
}

SmallVector<nd::HostTensor> Comparison::evaluate() {
  DenseMap<Value, const nd::HostTensor *> values;
  std::vector<std::unique_ptr<nd::HostTensor>> owned;
  Block &body = kernel.getBody().front();
  for (auto [argument, input] : llvm::zip(body.getArguments(), inputs))
    values[argument] = &input;
  for (Operation &op : body.without_terminator()) {
    SmallVector<const nd::HostTensor *> operands;
    for (Value operand : op.getOperands())
      operands.push_back(values[operand]);
    auto results = cast<nd::NamedOpInterface>(op).evaluate(operands, context);
    for (auto [value, result] : llvm::zip(op.getResults(), results)) {
      owned.push_back(std::make_unique<nd::HostTensor>(std::move(result)));
      spoilPadding(*owned.back());
      values[value] = owned.back().get();
    }
  }
  SmallVector<nd::HostTensor> results;
  for (Value value : body.getTerminator()->getOperands())
    results.push_back(*values[value]);
  return results;
}

std::vector<std::string> Comparison::copyBuffers() {
  std::vector<std::string> copies;
  for (auto [buffer, offset] : llvm::zip(buffers, offsets))
    copies.emplace_back(arena.data() + offset,
                        buffer.getTensor().getLocalBytes(mesh));
  return copies;
}

/// Runs the PTX on the buffers as they were before the emulation, and expects
/// the outputs of the latter, padding aside.
void Comparison::expectSamePtx(PtxRun &ptx, const MeshcContext &ofProgram,
                               const std::vector<std::string> &before) {
  std::vector<std::string> emulated = copyBuffers();
  SmallVector<PtxRun::Buffer> places;
  for (auto [offset, bytes] : llvm::zip(offsets, before)) {
    std::memcpy(arena.data() + offset, bytes.data(), bytes.size());
    places.push_back({arena.data() + offset, int64_t(bytes.size())});
  }
  if (!ptx.run(ofProgram, places, int64_t(context.coordinates.size())))
    return;
  for (size_t buffer = inputCount; buffer < buffers.size(); ++buffer) {
    nd::TensorType type = buffers[buffer].getTensor();
    Type element = type.getElementType();
    std::vector<bool> isPadding = findPadding(type);
    int failures = 0;
    forEachPlace(nd::HostTensor(type, mesh), buffers[buffer], mesh,
                 [&](int64_t from, int64_t to) {
                   const char *got =
                       places[buffer].data + to * getBytes(element);
                   const char *want = &emulated[buffer][to * getBytes(element)];
                   if (!isPadding[from] && !ptx.isEqual(got, want, element) &&
                       ++failures <= 3)
                     ADD_FAILURE()
                         << "output " << buffer - inputCount << ", element "
                         << from << ": PTX " << readElement(got, element)
                         << ", emulation " << readElement(want, element);
                 });
    EXPECT_EQ(failures, 0) << "elements differ between PTX and emulation";
  }
}

void Comparison::runRank(const MeshcProgram &program,
                         ArrayRef<int64_t> coordinates, PtxRun *ptx) {
  context.mesh = mesh;
  context.coordinates.assign(coordinates.begin(), coordinates.end());
  context.seed = 0x123456789abcdefULL;
  context.step = 3;
  fillInputs();
  MeshcContext ofProgram{arena.data(), coordinates.data(), context.seed,
                         context.step, nullptr};
  auto before = ptx ? copyBuffers() : std::vector<std::string>();
  program.evalStep(&ofProgram);
  expectOutputs();
  if (ptx)
    expectSamePtx(*ptx, ofProgram, before);
}

void Comparison::expectOutputs() {
  auto expected = evaluate();
  for (auto [output, tensor] : llvm::enumerate(expected)) {
    unsigned buffer = inputCount + output;
    Type element = buffers[buffer].getTensor().getElementType();
    int failures = 0;
    std::vector<bool> isPadding = findPadding(tensor.type);
    double largest = 0;
    for (auto [want, ignored] : llvm::zip(tensor.data, isPadding))
      if (options.isRelativeToLargest && std::isfinite(want) && !ignored)
        largest = std::max(largest, std::abs(want));
    forEachPlace(tensor, buffers[buffer], mesh, [&](int64_t from, int64_t to) {
      if (isPadding[from])
        return;
      double got = readElement(
          arena.data() + offsets[buffer] + to * getBytes(element), element);
      double want = tensor.data[from];
      double bound =
          isa<FloatType>(element) && std::isfinite(want)
              ? options.tolerance * (1 + std::max(largest, std::abs(want)))
              : 0;
      bool equal = got == want || (std::isnan(got) && std::isnan(want)) ||
                   std::abs(got - want) <= bound;
      if (!equal && ++failures <= 3)
        ADD_FAILURE() << "output " << output << ", element " << from << ": got "
                      << got << ", want " << want;
    });
    EXPECT_EQ(failures, 0) << "elements of output " << output << " are wrong";
  }
}

void expectKernel(StringRef text, const KernelCase &options) {
  MLIRContext context;
  context.loadDialect<nd::NdDialect, spmd::SpmdDialect, exec::ExecDialect>();
  std::string source = "module attributes {nd.mesh = " + options.mesh +
                       "} {\n" + text.str() + "\n}";
  auto module = parseSourceString<ModuleOp>(source, &context);
  ASSERT_TRUE(module) << source;
  auto kernel = *module->getOps<exec::KernelOp>().begin();
  Comparison comparison{kernel, options, nd::MeshAttr::of(kernel)};
  comparison.placeBuffers();
  comparison.addFunctions(*module);
  ASSERT_TRUE(succeeded(verify(*module)));
  ASSERT_TRUE(comparison.arena.data());
  auto expectOn = [&](const char *target, std::optional<GpuOptions> gpu) {
    SCOPED_TRACE(std::string(target) + ", MESHC_EMULATION_SEED=" +
                 std::to_string(meshc_emulation_seed()));
    ProgramOptions program = getProgramOptions(options.march, gpu);
    program.lanes = options.lanes;
    auto loaded = LoadedProgram::load(*module, program, options.hostFunctions);
    if (!loaded)
      return;
    auto ptx = gpu ? PtxRun::make(*module, *gpu) : nullptr;
    for (ArrayRef<int64_t> coordinates : comparison.getRanks()) {
      std::string rank;
      for (int64_t coordinate : coordinates)
        rank += " " + std::to_string(coordinate);
      SCOPED_TRACE("rank at" + rank);
      comparison.arena.clear();
      comparison.runRank(**loaded, coordinates, ptx.get());
    }
  };
  bool isForGpusOnly = kernel.getParts() ||
                       (options.isLibraryCall && options.hostFunctions.empty());
  if (!isForGpusOnly)
    expectOn("on the host", std::nullopt);
  // As good as full with one thread to a point.
  GpuOptions small;
  small.threadsToFill = 1;
  GpuOptions huge;
  huge.leastSteps = 1;
  const std::pair<const char *, GpuOptions> grids[] = {
      {"on a large GPU, emulated", GpuOptions()},
      {"on a small GPU, emulated", small},
      {"on a huge GPU, emulated", huge}};
  if (options.isLibraryCall)
    return expectOn(grids[0].first, grids[0].second);
  const char *seed = std::getenv("MESHC_RANDOM_SEED");
  if (seed) {
    auto [target, gpu] = grids[llvm::xxh3_64bits(source + seed) % 3];
    return expectOn(target, gpu);
  }
  for (auto [target, gpu] : grids)
    expectOn(target, gpu);
}

} // namespace meshc::codegen
