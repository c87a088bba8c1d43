//===- StepCheck.cpp - which values of a step are not finite --------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Monitor/StepCheck.h"

#include "meshc/CollectiveBlocks.h"
#include "meshc/Epilogues.h"
#include "runtime/Base/TensorBlock.h"
#include "runtime/Device/Recorder.h"

#include <algorithm>

using namespace meshc::runtime;

StepCheck::StepCheck(Session &session, StepFunction function)
    : session(session), isTraining(function == StepFunction::Train),
      manifest(session.program(), codeOf(session.program(), function).name) {
  session.setObserver(this);
}

StepCheck::~StepCheck() { session.setObserver(nullptr); }

int64_t StepCheck::offsetOf(const void *address) const {
  return static_cast<const char *>(address) - session.context().arena;
}

const char *StepCheck::read(int64_t offset, MeshcType type, int64_t count) {
  MeshcDim dim = {"", count, count, 1, 0, nullptr};
  MeshcTensor tensor = {
      "a value", MESHC_METRIC, static_cast<uint8_t>(type), 0, 1, &dim, offset};
  return session.device().read(tensor);
}

void StepCheck::hold(Range range, size_t value) {
  if (range.begin == range.end)
    return;
  auto at = held.lower_bound(range.begin);
  // If a value begins earlier, its rest behind the range stays, too.
  if (at != held.begin()) {
    auto before = std::prev(at);
    if (before->second.end > range.end)
      held[range.end] = before->second;
    before->second.end = std::min(before->second.end, range.begin);
  }
  while (at != held.end() && at->first < range.end) {
    if (at->second.end > range.end)
      held[range.end] = at->second;
    at = held.erase(at);
  }
  held[range.begin] = {range.end, value};
}

void StepCheck::addOperands(std::vector<size_t> &operands, Range range) const {
  auto at = held.upper_bound(range.begin);
  if (at != held.begin() && std::prev(at)->second.end > range.begin)
    --at;
  for (; at != held.end() && at->first < range.end; ++at)
    operands.push_back(at->second.value);
}

void StepCheck::addOperand(CheckedCall &call, const void *at,
                           int64_t bytes) const {
  addOperands(call.operands, {offsetOf(at), offsetOf(at) + bytes});
}

/// What is not finite in a result at `offset`, without its padding.
uint8_t StepCheck::find(const CallResult &result, int64_t offset) {
  if (result.dims.empty())
    return classify(result.type, read(offset, result.type, result.elements),
                    result.elements);
  std::vector<MeshcDim> dims(result.dims.size());
  int64_t stride = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    const BufferDim &dim = result.dims[i];
    dims[i] = {"",
               dim.size,
               0,
               stride,
               static_cast<uint32_t>(dim.axes.size()),
               dim.axes.data()};
    dims[i].localSize = blockSize(session.program(), dims[i]);
    stride *= dims[i].localSize;
  }
  const MeshcTensor tensor = {"a value",
                              MESHC_METRIC,
                              static_cast<uint8_t>(result.type),
                              0,
                              static_cast<uint32_t>(dims.size()),
                              dims.data(),
                              offset};
  return classify(session.program(), tensor, session.coords(),
                  session.device().read(tensor));
}

/// A value that the last call computed.
void StepCheck::addResult(const CallResult &result, const void *at) {
  int64_t offset = offsetOf(at);
  CheckedValue value;
  value.call = static_cast<int>(allCalls.size()) - 1;
  value.name = result.name;
  value.location = result.location;
  value.found = find(result, offset);
  hold({offset, offset + result.elements * sizeOf(result.type)},
       allValues.size());
  allValues.push_back(std::move(value));
}

/// C, whose rows may have other data between them.
void StepCheck::addProductResult(const CallEntry &entry, const MeshcGemm &gemm,
                                 const void *c) {
  auto type = static_cast<MeshcType>(gemm.typeC);
  int64_t rows = gemm.m * gemm.batch;
  if (rows == 0 || gemm.n == 0)
    return;
  int64_t span =
      (gemm.batch - 1) * gemm.strideC + (gemm.m - 1) * gemm.ldc + gemm.n;
  if (span == rows * gemm.n)
    return addResult({entry.name, entry.location, type, span, entry.dims}, c);
  CheckedValue value;
  value.call = static_cast<int>(allCalls.size()) - 1;
  value.name = entry.name;
  value.location = entry.location;
  const int64_t size = sizeOf(type), offset = offsetOf(c);
  const char *values = read(offset, type, span);
  for (int64_t row = 0; row < rows; ++row) {
    int64_t place =
        (row / gemm.m * gemm.strideC + row % gemm.m * gemm.ldc) * size;
    value.found |= classify(type, values + place, gemm.n);
    hold({offset + place, offset + place + gemm.n * size}, allValues.size());
  }
  allValues.push_back(std::move(value));
}

/// A kernel's results, which come after its inputs.
void StepCheck::addResults(const CallEntry &entry, void *const *buffers) {
  for (size_t i = 0; i < entry.results.size(); ++i)
    addResult(entry.results[i], buffers[entry.inputBytes.size() + i]);
}

//===----------------------------------------------------------------------===//
// A run
//===----------------------------------------------------------------------===//

void StepCheck::run(const std::function<void()> &runStep) {
  allValues.clear();
  allCalls.clear();
  held.clear();
  open.clear();
  stateValues.clear();
  metricValues.clear();
  lossValue.reset();
  nextLaunch = nextProduct = 0;
  hasBegun = false;
  runStep();
  ordering(); // a function without calls
  // Collectives that nobody waited for end with the function.
  for (const OpenCollective &ended : open)
    finish(ended);
  const MeshcTensor *loss = nullptr; // the first metric
  for (uint32_t i = 0; i < session.program().tensorCount; ++i) {
    const MeshcTensor &tensor = session.program().tensors[i];
    if (tensor.role == MESHC_METRIC && !loss)
      loss = &tensor;
    findLast(tensor, &tensor == loss);
  }
}

static int64_t endOf(const MeshcTensor &tensor) {
  return tensor.offsetBytes + blockSpan(tensor) * sizeOf(typeOf(tensor));
}

/// After the last call: the value that a tensor of the program holds now.
void StepCheck::findLast(const MeshcTensor &tensor, bool isLoss) {
  std::vector<size_t> found;
  addOperands(found, {tensor.offsetBytes, endOf(tensor)});
  if (isTraining && isLoss && !found.empty())
    lossValue = found.front();
  if (isState(tensor) || tensor.role == MESHC_STATISTIC)
    add(stateValues, tensor, found);
  if (!isTraining && tensor.role == MESHC_METRIC)
    add(metricValues, tensor, found);
}

/// Adds those of the values that calls have computed.
void StepCheck::add(std::vector<size_t> &to, const MeshcTensor &tensor,
                    const std::vector<size_t> &found) {
  for (size_t value : found)
    if (allValues[value].call >= 0) {
      to.push_back(value);
      if (allValues[value].name.empty() && tensor.role != MESHC_STATISTIC)
        allValues[value].name = tensor.name;
    }
}

/// Before the first call: the values already present.
void StepCheck::ordering() {
  if (hasBegun)
    return;
  hasBegun = true;
  for (uint32_t i = 0; i < session.program().tensorCount; ++i) {
    const MeshcTensor &tensor = session.program().tensors[i];
    if (isStepResult(tensor))
      continue;
    CheckedValue value;
    value.name = tensor.name;
    value.tensor = &tensor;
    value.found = classify(session.program(), tensor, session.coords(),
                           session.device().read(tensor));
    hold({tensor.offsetBytes, endOf(tensor)}, allValues.size());
    allValues.push_back(std::move(value));
  }
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

/// The manifest's entry for the next launch, or null if it has none.
const CallEntry *StepCheck::findLaunch(const MeshcKernel &kernel,
                                       CheckedCall &call) {
  std::optional<CallOrder::Call> known = manifest.launchOrder.find(nextLaunch);
  if (!known)
    return nullptr;
  const CallEntry &entry = manifest.launches[known->entry];
  call.iteration = known->iteration;
  bool isKnown =
      entry.kernel == kernel.name &&
      entry.inputBytes.size() + entry.results.size() == kernel.bufferCount;
  nextLaunch += isKnown;
  return isKnown ? &entry : nullptr;
}

void StepCheck::launched(const MeshcKernel &kernel, void *const *buffers) {
  CheckedCall call;
  const CallEntry *entry = findLaunch(kernel, call);
  if (!entry)
    return;
  call.what = std::string("kernel '") + kernel.name + "'";
  call.ops = entry->ops;
  for (size_t i = 0; i < entry->inputBytes.size(); ++i)
    addOperand(call, buffers[i], entry->inputBytes[i]);
  allCalls.push_back(std::move(call));
  addResults(*entry, buffers);
}

void StepCheck::multiplied(const MeshcGemm &gemm, const MeshcEpilogue *epilogue,
                           const void *a, const void *b, void *c,
                           void *const *buffers) {
  static const CallEntry unknown;
  std::optional<CallOrder::Call> known =
      manifest.productOrder.find(nextProduct++);
  const CallEntry &entry = known ? manifest.products[known->entry] : unknown;
  CheckedCall call;
  if (known)
    call.iteration = known->iteration;
  call.what = "matrix product " +
              describeProduct(gemm, 0, epilogue ? epilogue->kind : 0).name;
  auto span = [&](int64_t stride, int64_t rows, int64_t columns, int64_t ld) {
    return ((gemm.batch - 1) * stride + (rows - 1) * ld + columns) *
           sizeOf(static_cast<MeshcType>(gemm.type));
  };
  if (gemm.m > 0 && gemm.n > 0 && gemm.k > 0) {
    addOperand(call, a,
               gemm.transA ? span(gemm.strideA, gemm.k, gemm.m, gemm.lda)
                           : span(gemm.strideA, gemm.m, gemm.k, gemm.lda));
    addOperand(call, b,
               gemm.transB ? span(gemm.strideB, gemm.n, gemm.k, gemm.ldb)
                           : span(gemm.strideB, gemm.k, gemm.n, gemm.ldb));
  }
  const EpilogueTraits *traits =
      epilogue ? findEpilogue(epilogue->kind) : nullptr;
  bool keepsProduct = !traits || traits->keepsProduct();
  // If D takes the place of C, that is the kernel's first input.
  if (epilogue)
    for (size_t i = keepsProduct ? 0 : 1; i < entry.inputBytes.size(); ++i)
      addOperand(call, buffers[i], entry.inputBytes[i]);
  if (gemm.accumulate)
    addOperand(call, c, 1);
  allCalls.push_back(std::move(call));
  if (keepsProduct)
    addProductResult(entry, gemm, c);
  if (epilogue)
    addResults(entry, buffers);
}

void StepCheck::communicated(const MeshcCollective &collective,
                             void *const *send, void *const *recv) {
  CheckedCall call;
  call.what = "a collective";
  std::string location;
  if (collective.site < session.program().siteCount) {
    const MeshcSite &site = session.program().sites[collective.site];
    call.what = site.description;
    location = site.location;
  }
  const GroupAxes &axes = session.rank().mesh.group(collective.axes).axes;
  int64_t size = sizeOf(static_cast<MeshcType>(collective.type));
  for (uint32_t i = 0; i < collective.itemCount; ++i)
    addOperand(call, send[i],
               size * ItemBlocks(collective.kind, collective.items[i], axes)
                          .getSendSize());
  open.push_back({&collective,
                  location,
                  {recv, recv + collective.itemCount},
                  allCalls.size()});
  allCalls.push_back(std::move(call));
}

/// Enters what a collective received.
void StepCheck::finish(const OpenCollective &ended) {
  const MeshcCollective &collective = *ended.collective;
  const GroupAxes &axes = session.rank().mesh.group(collective.axes).axes;
  auto type = static_cast<MeshcType>(collective.type);
  auto received = manifest.received.find(collective.site);
  for (uint32_t i = 0; i < collective.itemCount; ++i) {
    CallResult result{
        "", ended.location, type,
        ItemBlocks(collective.kind, collective.items[i], axes).getRecvSize()};
    if (received != manifest.received.end() && i < received->second.size())
      result.dims = received->second[i];
    addResult(result, ended.recv[i]);
    allValues.back().call = static_cast<int>(ended.call);
  }
}

/// Those that were started before it have ended, too.
void StepCheck::waited(const MeshcCollective &collective) {
  auto last =
      std::find_if(open.begin(), open.end(), [&](const OpenCollective &one) {
        return one.collective == &collective;
      });
  if (last == open.end())
    return;
  for (auto ended = open.begin(); ended <= last; ++ended)
    finish(*ended);
  open.erase(open.begin(), last + 1);
}

/// The manifest counts the calls of all iterations.
void StepCheck::skipped(const MeshcLoop &loop, int64_t iterations) {
  auto times = static_cast<size_t>(iterations);
  nextLaunch += times * static_cast<size_t>(loop.launches);
  nextProduct += times * static_cast<size_t>(loop.products);
}
