//===- NdTypes.td - the nd tensor type, mesh and enums --------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_ND_NDTYPES_TD
#define MESHC_DIALECTS_ND_NDTYPES_TD

include "dialects/Nd/NdDialect.td"

def Nd_ReductionKind : I32EnumAttr<"ReductionKind", "how many values become one", [
    I32EnumAttrCase<"Sum", 0, "sum">, I32EnumAttrCase<"Max", 1, "max">,
    I32EnumAttrCase<"Min", 2, "min">, I32EnumAttrCase<"Prod", 3, "prod">]> {
  let cppNamespace = "::meshc::nd";
  let genSpecializedAttr = 0;
}
def Nd_ReductionKindAttr : EnumAttr<Nd_Dialect, Nd_ReductionKind, "reduction">;

def Nd_Predicate : I32EnumAttr<"Predicate", "what a comparison asks", [
    I32EnumAttrCase<"Eq", 0, "eq">, I32EnumAttrCase<"Ne", 1, "ne">,
    I32EnumAttrCase<"Lt", 2, "lt">, I32EnumAttrCase<"Le", 3, "le">,
    I32EnumAttrCase<"Gt", 4, "gt">, I32EnumAttrCase<"Ge", 5, "ge">]> {
  let cppNamespace = "::meshc::nd";
  let genSpecializedAttr = 0;
}
def Nd_PredicateAttr : EnumAttr<Nd_Dialect, Nd_Predicate, "predicate">;

def Nd_Distribution : I32EnumAttr<"Distribution", "uniform on [0, 1), or normal with mean 0 and deviation 1", [
    I32EnumAttrCase<"Uniform", 0, "uniform">,
    I32EnumAttrCase<"Normal", 1, "normal">]> {
  let cppNamespace = "::meshc::nd";
  let genSpecializedAttr = 0;
}
def Nd_DistributionAttr : EnumAttr<Nd_Dialect, Nd_Distribution, "distribution">;

def Nd_SettingForm : I32EnumAttr<"SettingForm", "what is used of a setting v: v, 1 - v or -ln v", [
    I32EnumAttrCase<"Value", 0, "value">, I32EnumAttrCase<"Complement", 1, "complement">,
    I32EnumAttrCase<"NegativeLog", 2, "negative_log">]> {
  let cppNamespace = "::meshc::nd";
  let genSpecializedAttr = 0;
}
def Nd_SettingFormAttr : EnumAttr<Nd_Dialect, Nd_SettingForm, "form">;

def Nd_TensorRole : I32EnumAttr<"TensorRole", "what an argument or result of a step function is to the program", [
    I32EnumAttrCase<"Parameter", 0, "parameter">,
    I32EnumAttrCase<"Optimizer", 1, "optimizer">,
    I32EnumAttrCase<"Input", 2, "input">,
    I32EnumAttrCase<"Metric", 3, "metric">,
    I32EnumAttrCase<"Cache", 4, "cache">,
    I32EnumAttrCase<"Token", 5, "token">,
    I32EnumAttrCase<"Position", 6, "position">,
    I32EnumAttrCase<"Logits", 7, "logits">,
    I32EnumAttrCase<"TrainingMetric", 8, "training_metric">,
    I32EnumAttrCase<"Skipped", 9, "skipped">,
    I32EnumAttrCase<"Average", 10, "average">,
    I32EnumAttrCase<"Statistic", 11, "statistic">,
    I32EnumAttrCase<"Batches", 12, "batches">,
    I32EnumAttrCase<"Rest", 13, "rest">]> {
  let cppNamespace = "::meshc::nd";
  let genSpecializedAttr = 0;
}
def Nd_TensorRoleAttr : EnumAttr<Nd_Dialect, Nd_TensorRole, "role">;

def Nd_TensorClass : I32EnumAttr<"TensorClass", "the classes of tensors that layout rules can name", [
    I32EnumAttrCase<"Activation", 0, "activation">,
    I32EnumAttrCase<"Parameter", 1, "parameter">,
    I32EnumAttrCase<"Gradient", 2, "gradient">,
    I32EnumAttrCase<"Optimizer", 3, "optimizer">]> {
  let cppNamespace = "::meshc::nd";
  let genSpecializedAttr = 0;
}

def Nd_DimAttr : AttrDef<Nd_Dialect, "Dim"> {
  let mnemonic = "dim";
  let summary = "a tensor's dim: name, global size, mesh axes that cut it";
  let description = [{
    `axes` (major first) is empty until the partition phase. The block of a rank
    has size / product(axis sizes) entries.
  }];
  let parameters = (ins "::mlir::StringAttr":$name, "int64_t":$size,
                        OptionalArrayRefParameter<"::mlir::StringAttr">:$axes);
  let assemblyFormat = "`<` $name `=` $size (`on` `{` $axes^ `}`)? `>`";
  let builders = [AttrBuilder<(ins "::llvm::StringRef":$name, "int64_t":$size), [{
    return $_get($_ctxt, ::mlir::StringAttr::get($_ctxt, name), size,
                 ::llvm::ArrayRef<::mlir::StringAttr>());
  }]>];
}

def Nd_AxisAttr : AttrDef<Nd_Dialect, "Axis"> {
  let mnemonic = "axis";
  let summary = "an axis of the mesh: name and size";
  let parameters = (ins "::mlir::StringAttr":$name, "int64_t":$size);
  let assemblyFormat = "`<` $name `=` $size `>`";
}

def Nd_MeshAttr : AttrDef<Nd_Dialect, "Mesh"> {
  let mnemonic = "mesh";
  let summary = "the device mesh: `#nd.mesh<data = 2, tensor = 4>`";
  let description = [{ Ranks are numbered row-major, the last axis fastest. }];
  let parameters = (ins OptionalArrayRefParameter<"::meshc::nd::AxisAttr">:$axes);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Number of ranks: the product of the axis sizes (1 for no axes).
    int64_t getRankCount() const;
    /// Position of the axis in the mesh, or -1.
    int64_t getAxisIndex(::mlir::StringAttr axis) const;
    /// Size of the axis; 1 for an axis that is not in the mesh.
    int64_t getAxisSize(::mlir::StringAttr axis) const;
    /// Product of the sizes of the axes.
    int64_t getProduct(::llvm::ArrayRef<::mlir::StringAttr> axes) const;
    /// Coordinates of a rank, one per axis.
    ::llvm::SmallVector<int64_t> getCoordinates(int64_t rank) const;
    /// The mesh of the module that contains `op`; empty if it has none.
    static MeshAttr of(::mlir::Operation *op);
  }];
}

def Nd_TensorType : TypeDef<Nd_Dialect, "Tensor"> {
  let mnemonic = "tensor";
  let summary = "a tensor with named dims";
  let description = [{
    `!nd.tensor<f32, [batch = 64, model = 32]>`; a scalar has `[]`. Dims are kept
    sorted by name: types that differ only in order are equal. Sizes are global
    and positive. After partitioning, a dim may be cut over mesh axes, and the
    whole tensor may be a partial result over other axes:
    `!nd.tensor<f32, [batch = 64 on {data}, model = 32], sum {tensor}>` means that
    the true value is the sum of the ranks' values along `tensor`.
    Element types: f32, bf16, f16, i32, i1.
  }];
  let parameters = (ins "::mlir::Type":$elementType,
                        OptionalArrayRefParameter<"::meshc::nd::DimAttr">:$dims,
                        "::meshc::nd::ReductionKind":$partialKind,
                        OptionalArrayRefParameter<"::mlir::StringAttr">:$partialAxes);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let skipDefaultBuilders = 1;
  let builders = [
    TypeBuilderWithInferredContext<(ins "::mlir::Type":$elementType,
      "::llvm::ArrayRef<::meshc::nd::DimAttr>":$dims,
      CArg<"::meshc::nd::ReductionKind", "::meshc::nd::ReductionKind::Sum">:$partialKind,
      CArg<"::llvm::ArrayRef<::mlir::StringAttr>", "{}">:$partialAxes), [{
        ::llvm::SmallVector<::mlir::StringAttr> axes(partialAxes);
        return $_get(elementType.getContext(), elementType,
                         sortDims(dims), axes.empty() ? ReductionKind::Sum : partialKind, axes);
      }]>];
  let extraClassDeclaration = [{
    /// The dims in the order in which the type stores them.
    static ::llvm::SmallVector<DimAttr> sortDims(::llvm::ArrayRef<DimAttr> dims);
    int64_t getRank() const { return getDims().size(); }
    /// Position of the dim among the sorted dims, or -1.
    int64_t getDimIndex(::llvm::StringRef name) const;
    bool hasDim(::llvm::StringRef name) const { return getDimIndex(name) >= 0; }
    /// The dim, or null.
    DimAttr getDim(::llvm::StringRef name) const;
    /// Global size of the dim. The type must have it.
    int64_t getSize(::llvm::StringRef name) const { return getDim(name).getSize(); }
    /// Number of elements over all ranks.
    int64_t getElementCount() const;
    /// The entries of a block of the dim (by position) at each of its axes. The
    /// first axis cuts the dim into blocks of ⌈size / axis⌉ entries, each
    /// further axis cuts every such block again in the same way. The last
    /// blocks of each level may have fewer entries that exist, or none; the
    /// others of a block are padding and may hold anything. The block of a rank
    /// begins at the sum of coordinate × step over the axes.
    ::llvm::SmallVector<int64_t> getBlockSteps(int64_t dimIndex, MeshAttr mesh) const;
    /// Entries of the dim (by position) on every rank, padding included: the
    /// last of the steps, ⌈size / product of the axes⌉.
    int64_t getLocalSize(int64_t dimIndex, MeshAttr mesh) const;
    /// Whether no block of the dim (by position) has padding.
    bool isEven(int64_t dimIndex, MeshAttr mesh) const;
    /// Whether blocks of some dim have padding.
    bool hasPadding(MeshAttr mesh) const;
    /// Elements and bytes on one rank (an i1 takes one byte).
    int64_t getLocalElementCount(MeshAttr mesh) const;
    int64_t getLocalBytes(MeshAttr mesh) const;
    bool isPartial() const { return !getPartialAxes().empty(); }
    /// Cut over some axis, or partial.
    bool isDistributed() const;
    /// The same dims and element type, whole on every rank.
    TensorType getGlobal() const;
    TensorType withElementType(::mlir::Type elementType) const;
    TensorType withPartial(ReductionKind kind, ::llvm::ArrayRef<::mlir::StringAttr> axes) const;
    /// Other dims and the same element type; distributed only if `dims` are.
    TensorType withDims(::llvm::ArrayRef<DimAttr> dims) const;
    TensorType withoutDims(::llvm::ArrayRef<::mlir::StringAttr> names) const;
    bool isFloat() const { return ::llvm::isa<::mlir::FloatType>(getElementType()); }
    /// bf16 or f16: each op computes in f32 and rounds its result [L2.7].
    /// Merging several ops into one would therefore change the values.
    bool isShortFloat() const {
      return isFloat() && getElementType().getIntOrFloatBitWidth() < 32;
    }
  }];
}

def Nd_DimNames : TypedArrayAttrBase<StrAttr, "dim names">;

#endif // MESHC_DIALECTS_ND_NDTYPES_TD
