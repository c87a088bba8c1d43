//===- KernelElements.h - elements of a kernel's values
//--------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The element emitter of kernels on every target. Elements are loaded from
/// buffers through pointers of the LLVM dialect or computed by the ops of the
/// kernel, once per index at which they are requested.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_CODEGEN_KERNELELEMENTS_H
#define MESHC_LIB_CODEGEN_KERNELELEMENTS_H

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
  llvm::SmallVector<int64_t> strides;        ///< in elements, along `order`
  int64_t alignment = exec::kernelAlignment; ///< of the pointer, in bytes
  bool isReplaced = false; ///< an input that an output overwrites
  /// Alias scopes of this buffer and of all buffers that never overlap it.
  mlir::ArrayAttr aliasScopes, noaliasScopes;
};

/// Emits elements of one kernel's values at the builder's insertion point.
/// Floats are computed in f32.
class KernelElements final : public nd::ElementEmitter {
public:
  /// Emits at `builder`'s insertion point, within a function. `context` points
  /// to the MeshcContext of RuntimeAbi.h; `buffers` are the addresses of inputs
  /// and outputs, aligned as the kernel says. Vectors have `lanes` elements.
  /// `inPlace` is the result of getInPlacePairs.
  KernelElements(mlir::OpBuilder &builder, exec::KernelOp kernel,
                 mlir::Value context, mlir::ValueRange buffers, int64_t lanes,
                 llvm::ArrayRef<std::pair<unsigned, unsigned>> inPlace);

  mlir::Value getElement(mlir::Value tensor,
                         const nd::ElementIndex &index) override;
  int64_t getLanes() const override { return lanes; }
  mlir::Value getGlobalOffset(nd::TensorType type,
                              llvm::StringRef dim) override;
  mlir::Value getEntryCount(nd::TensorType type, llvm::StringRef dim) override;
  mlir::Value getSeed() override { return seed; }
  mlir::Value getStream(mlir::StringAttr name) override;
  mlir::Value getStep() override { return step; }
  mlir::Value getSetting(mlir::StringAttr name, nd::SettingForm form) override;
  nd::MeshAttr getMesh() const override { return mesh; }

  /// Sets the numbers of streams that the code receives as arguments.
  void
  setStreams(const llvm::DenseMap<mlir::StringAttr, mlir::Value> &numbers) {
    streams = numbers;
  }

  /// Records the element of a result at an index, such as that of a finished
  /// reduction.
  void setElement(mlir::Value tensor, const nd::ElementIndex &index,
                  mlir::Value element);
  /// Stores element(s) of an output at the index; splats a scalar if needed.
  void store(unsigned output, mlir::Value element,
             const nd::ElementIndex &index);
  /// The input's buffer, and the output's.
  const BufferView &getInput(unsigned input) const { return views[input]; }
  const BufferView &getOutput(unsigned output) const {
    return views[inputCount + output];
  }

  mlir::Value load(const BufferView &view, const nd::ElementIndex &index);
  void store(const BufferView &view, mlir::Value element,
             const nd::ElementIndex &index);

  /// Whether the thread needs elements of a tensor of that type: an i1, or null
  /// for always. Other threads may overwrite an input whose buffer an output
  /// shares; a thread that does not need its elements gets zeros instead of
  /// reading them. An empty function means that elements are always needed.
  std::function<mlir::Value(nd::TensorType)> needsElements;

  /// An `index` constant, created once at the top of the function.
  mlir::Value getIndexConstant(int64_t value);

  /// When a scope ends, the elements emitted within it are forgotten: code
  /// after a loop cannot use values of the loop's body.
  class Scope {
  public:
    explicit Scope(KernelElements &emitter) : emitter(emitter) {
      emitter.known.emplace_back();
    }
    ~Scope() { emitter.known.pop_back(); }

  private:
    KernelElements &emitter;
  };

  /// The op that makes the code unusable, or null: an op without lanes (try
  /// scalar code), or a reduction whose result is requested at an index where
  /// it is not available.
  mlir::Operation *withoutLanes = nullptr, *withoutElement = nullptr;

private:
  using Key = llvm::SmallVector<const void *, 8>;

  Key makeKey(mlir::Value tensor, const nd::ElementIndex &index) const;
  mlir::Value compute(mlir::Value tensor, const nd::ElementIndex &index);
  mlir::Value round(mlir::Value tensor, mlir::Value element);
  mlir::Value makeDefault(mlir::Value tensor, const nd::ElementIndex &index);
  /// An address and its alignment in bytes.
  struct Place {
    mlir::Value address;
    int64_t alignment;
  };
  mlir::Value loadStored(const BufferView &view, const nd::ElementIndex &index);
  Place getPlace(const BufferView &view, const nd::ElementIndex &index,
                 int64_t lane = 0);
  mlir::Value loadContext(int field, mlir::Type type);
  mlir::Value loadCoordinate(mlir::StringAttr axis);
  void makeViews(exec::KernelOp kernel, mlir::ValueRange buffers,
                 llvm::ArrayRef<std::pair<unsigned, unsigned>> inPlace);

  mlir::ModuleOp module;
  nd::MeshAttr mesh;
  int64_t lanes;
  unsigned inputCount;
  mlir::Block *top; ///< the function's first block
  mlir::Value context, seed, step, coordinates;
  llvm::SmallVector<BufferView> views; ///< inputs, then outputs
  llvm::DenseMap<int64_t, mlir::Value> constants;
  llvm::DenseMap<mlir::Attribute, mlir::Value> counts; ///< by DimAttr
  llvm::DenseMap<mlir::StringAttr, mlir::Value> streams;
  std::vector<std::map<Key, mlir::Value>> known;
};

/// Type of elements in memory: an i1 takes a byte, a bf16 16 bits.
mlir::Type getStorageType(mlir::Type elementType);

/// Converts value(s) from the memory type to the type in which elements of
/// `elementType` are computed, and back.
mlir::Value fromStorage(nd::ElementEmitter &emitter, mlir::Value value,
                        mlir::Type elementType);
mlir::Value toStorage(nd::ElementEmitter &emitter, mlir::Value value,
                      mlir::Type elementType);

/// Whether all ops along the kernel's lanes can compute `lanes` elements as one
/// vector.
bool supportsLanes(exec::KernelOp kernel, int64_t lanes);

} // namespace meshc::codegen

#endif // MESHC_LIB_CODEGEN_KERNELELEMENTS_H
