//===- KernelEmitter.h - elements of a kernel's values --------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The element emitter of kernels, on every target: elements come from buffers
/// through pointers of the LLVM dialect, or from the ops of the kernel, each
/// computed once per place where it is wanted.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_CODEGEN_KERNELEMITTER_H
#define MESHC_LIB_CODEGEN_KERNELEMITTER_H

#include "dialects/Exec/Exec.h"
#include "dialects/Nd/Interfaces/ElementEmitter.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/DenseMap.h"

namespace meshc::codegen {

/// A buffer of a kernel as its code sees it: dense, row-major in memory order.
struct BufferView {
  mlir::Value pointer;
  nd::TensorType type;
  llvm::SmallVector<mlir::StringAttr> order;
  llvm::SmallVector<int64_t> strides; ///< in elements, along `order`
  bool isReplaced = false;            ///< an input that an output is put over
  /// Scopes of this buffer and of all those that never overlap it.
  mlir::ArrayAttr aliasScopes, noaliasScopes;
};

/// Emits elements of one kernel's values at the builder's place. Floats are
/// computed in f32.
class KernelEmitter final : public nd::ElementEmitter {
public:
  /// Code at `builder`'s place, within a function that gets the MeshcContext of
  /// RuntimeAbi.h at `context` and the inputs and outputs at `buffers`, all 64
  /// bytes aligned. Vectors have `lanes` elements. `inPlace`: getInPlacePairs.
  KernelEmitter(mlir::OpBuilder &builder, exec::KernelOp kernel,
                mlir::Value context, mlir::ValueRange buffers, int64_t lanes,
                llvm::ArrayRef<std::pair<unsigned, unsigned>> inPlace);

  mlir::Value getElement(mlir::Value tensor,
                         const nd::ElementIndex &index) override;
  int64_t getLanes() const override { return lanes; }
  mlir::Value getGlobalOffset(nd::TensorType type,
                              llvm::StringRef dim) override;
  mlir::Value getSeed() override { return seed; }
  mlir::Value getStream(mlir::StringAttr name) override;
  mlir::Value getStep() override { return step; }
  nd::MeshAttr getMesh() const override { return mesh; }

  /// Numbers of streams that the code gets as arguments.
  void
  setStreams(const llvm::DenseMap<mlir::StringAttr, mlir::Value> &numbers) {
    streams = numbers;
  }

  /// Makes a result known at an index, as that of a finished reduction.
  void setElement(mlir::Value tensor, const nd::ElementIndex &index,
                  mlir::Value element);
  /// Stores element(s) of an output, splat or not, at the index.
  void store(unsigned output, mlir::Value element,
             const nd::ElementIndex &index);
  /// The output's buffer.
  const BufferView &getOutput(unsigned output) const {
    return views[inputCount + output];
  }

  mlir::Value load(const BufferView &view, const nd::ElementIndex &index);
  void store(const BufferView &view, mlir::Value element,
             const nd::ElementIndex &index);

  /// Whether the thread needs elements of a tensor of that type (i1; null is
  /// always). One that does not reads nothing of an input that an output is put
  /// over, where another thread may write; it gets zeros. Where the function is
  /// empty, elements are always needed.
  std::function<mlir::Value(nd::TensorType)> needsElements;

  /// An `index` constant, made once at the top of the function.
  mlir::Value getIndexConstant(int64_t value);

  /// Elements emitted while a scope lives are forgotten when it ends: code
  /// after a loop cannot use values of its body.
  class Scope {
  public:
    explicit Scope(KernelEmitter &emitter) : emitter(emitter) {
      emitter.known.emplace_back();
    }
    ~Scope() { emitter.known.pop_back(); }

  private:
    KernelEmitter &emitter;
  };

  /// Why the code so far is not usable, or nothing: an op without lanes (try
  /// scalar code), or a reduction's result wanted at an index where it is not.
  mlir::Operation *withoutLanes = nullptr, *withoutElement = nullptr;

private:
  using Key = llvm::SmallVector<const void *, 8>;

  Key makeKey(mlir::Value tensor, const nd::ElementIndex &index) const;
  mlir::Value compute(mlir::Value tensor, const nd::ElementIndex &index);
  mlir::Value round(mlir::Value tensor, mlir::Value element);
  mlir::Value makeDefault(mlir::Value tensor, const nd::ElementIndex &index);
  /// An address, and of how many bytes it is a multiple.
  struct Place {
    mlir::Value address;
    int64_t alignment;
  };
  mlir::Value loadStored(const BufferView &view, const nd::ElementIndex &index);
  Place getPlace(const BufferView &view, const nd::ElementIndex &index,
                 int64_t lane = 0);
  mlir::Value loadContext(int field, mlir::Type type);
  void makeViews(exec::KernelOp kernel, mlir::ValueRange buffers,
                 llvm::ArrayRef<std::pair<unsigned, unsigned>> inPlace);

  nd::MeshAttr mesh;
  int64_t lanes;
  unsigned inputCount;
  mlir::Block *top; ///< the function's first block
  mlir::Value context, seed, step, coordinates;
  llvm::SmallVector<BufferView> views; ///< inputs, then outputs
  llvm::DenseMap<int64_t, mlir::Value> constants;
  llvm::DenseMap<mlir::StringAttr, mlir::Value> streams;
  std::vector<std::map<Key, mlir::Value>> known;
};

/// Memory type of elements: i1 takes a byte, bf16 is 16 bits.
mlir::Type getStorageType(mlir::Type elementType);

/// Value(s) of the memory type as elements of `elementType` are computed, and
/// the other way.
mlir::Value fromStorage(nd::ElementEmitter &emitter, mlir::Value value,
                        mlir::Type elementType);
mlir::Value toStorage(nd::ElementEmitter &emitter, mlir::Value value,
                      mlir::Type elementType);

/// Whether all ops along which the kernel's lanes run can give `lanes` elements
/// as one vector.
bool supportsLanes(exec::KernelOp kernel, int64_t lanes);

} // namespace meshc::codegen

#endif // MESHC_LIB_CODEGEN_KERNELEMITTER_H
