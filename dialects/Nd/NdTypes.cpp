//===- NdTypes.cpp - the nd tensor type, mesh and enums -------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/NdOps.h"
#include "dialects/Nd/TensorSizes.h"
#include "meshc/RuntimeAbi.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallSet.h"
#include "llvm/ADT/TypeSwitch.h"

#include "dialects/Nd/NdEnums.cpp.inc"

#include "dialects/Nd/NdDialect.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Nd/NdAttrs.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/Nd/NdTypes.cpp.inc"

#include "dialects/Nd/Interfaces/OpInterfaces.cpp.inc"

using namespace mlir;

namespace meshc::nd {

void NdDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Nd/NdAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/Nd/NdTypes.cpp.inc"
      >();
  registerPointwise();
  registerContraction();
  registerCumulative();
  registerCustomGradient();
  registerSorting();
  registerReduction();
  registerShape();
  registerWindow();
  registerSource();
  registerIndexing();
  registerNormalization();
  registerAttention();
  registerOptimizer();
  registerModel();
  registerLoop();
  registerStack();
  registerStatistic();
}

Operation *NdDialect::materializeConstant(OpBuilder &builder, Attribute value,
                                          Type type, Location loc) {
  auto typed = dyn_cast<TypedAttr>(value);
  auto tensor = dyn_cast<TensorType>(type);
  if (!typed || !tensor || typed.getType() != tensor.getElementType())
    return nullptr;
  return ConstantOp::create(builder, loc, tensor, typed);
}

//===----------------------------------------------------------------------===//
// MeshAttr
//===----------------------------------------------------------------------===//

LogicalResult MeshAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               ArrayRef<AxisAttr> axes) {
  if (axes.size() > MESHC_MAX_AXES)
    return emitError() << "a mesh has at most " << MESHC_MAX_AXES
                       << " axes, got " << axes.size();
  int64_t ranks = 1;
  llvm::SmallSet<StringRef, 4> names;
  for (AxisAttr axis : axes) {
    if (axis.getSize() < 1)
      return emitError() << "size of mesh axis '" << axis.getName().getValue()
                         << "' must be positive, got " << axis.getSize();
    if (!names.insert(axis.getName().getValue()).second)
      return emitError() << "mesh axis '" << axis.getName().getValue()
                         << "' is given twice";
    if (llvm::MulOverflow(ranks, axis.getSize(), ranks) || ranks > (1 << 30))
      return emitError() << "the mesh has more than 2^30 ranks";
  }
  return success();
}

Attribute MeshAttr::parse(AsmParser &parser, Type) {
  SmallVector<AxisAttr> axes;
  auto parseAxis = [&]() -> ParseResult {
    std::string name;
    int64_t size;
    if (parser.parseKeywordOrString(&name) || parser.parseEqual() ||
        parser.parseInteger(size))
      return failure();
    MLIRContext *context = parser.getContext();
    axes.push_back(
        AxisAttr::get(context, StringAttr::get(context, name), size));
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater,
                                     parseAxis))
    return {};
  return parser.getChecked<MeshAttr>(parser.getContext(), axes);
}

/// Prints a name bare where it is a keyword of MLIR's, quoted otherwise.
static void printName(AsmPrinter &printer, StringRef name) {
  printer.printKeywordOrString(name);
}

void MeshAttr::print(AsmPrinter &printer) const {
  printer << '<';
  llvm::interleaveComma(getAxes(), printer, [&](AxisAttr axis) {
    printName(printer, axis.getName().getValue());
    printer << " = " << axis.getSize();
  });
  printer << '>';
}

int64_t MeshAttr::getRankCount() const {
  int64_t count = 1;
  for (AxisAttr axis : getAxes())
    count *= axis.getSize();
  return count;
}

int64_t MeshAttr::getAxisIndex(StringAttr name) const {
  for (auto [index, axis] : llvm::enumerate(getAxes()))
    if (axis.getName() == name)
      return index;
  return -1;
}

int64_t MeshAttr::getAxisSize(StringAttr name) const {
  int64_t index = getAxisIndex(name);
  return index < 0 ? 1 : getAxes()[index].getSize();
}

int64_t MeshAttr::getProduct(ArrayRef<StringAttr> axes) const {
  int64_t product = 1;
  for (StringAttr axis : axes)
    product *= getAxisSize(axis);
  return product;
}

SmallVector<int64_t> MeshAttr::getCoordinates(int64_t rank) const {
  SmallVector<int64_t> coordinates(getAxes().size());
  for (int64_t i = coordinates.size(); i-- > 0;) {
    coordinates[i] = rank % getAxes()[i].getSize();
    rank /= getAxes()[i].getSize();
  }
  return coordinates;
}

//===----------------------------------------------------------------------===//
// TensorType
//===----------------------------------------------------------------------===//

LogicalResult TensorType::verify(function_ref<InFlightDiagnostic()> emitError,
                                 Type elementType, ArrayRef<DimAttr> dims,
                                 ReductionKind partialKind,
                                 ArrayRef<StringAttr> partialAxes) {
  if (!elementType.isF32() && !elementType.isBF16() && !elementType.isF16() &&
      !elementType.isSignlessInteger(32) && !elementType.isSignlessInteger(1))
    return emitError() << "element type must be f32, bf16, f16, i32 or i1, got "
                       << elementType;
  llvm::SmallSet<StringRef, 4> axes;
  auto claim = [&](StringAttr axis) -> LogicalResult {
    if (!axes.insert(axis.getValue()).second)
      return emitError() << "mesh axis '" << axis.getValue()
                         << "' is used twice in one tensor type";
    return success();
  };
  int64_t count = 1;
  for (auto [index, dim] : llvm::enumerate(dims)) {
    StringRef name = dim.getName().getValue();
    if (index && dims[index - 1].getName().getValue() == name)
      return emitError() << "dim '" << name << "' is given twice";
    if (dim.getSize() < 1)
      return emitError() << "size of dim '" << name
                         << "' must be positive, got " << dim.getSize();
    if (llvm::MulOverflow(count, dim.getSize(), count) || count > maxElements)
      return emitError() << "tensor has more than 2^60 elements";
    for (StringAttr axis : dim.getAxes())
      if (failed(claim(axis)))
        return failure();
  }
  for (StringAttr axis : partialAxes)
    if (failed(claim(axis)))
      return failure();
  return success();
}

static ParseResult parseAxes(AsmParser &parser, SmallVector<StringAttr> &axes) {
  return parser.parseCommaSeparatedList(
      AsmParser::Delimiter::Braces, [&]() -> ParseResult {
        std::string axis;
        if (parser.parseKeywordOrString(&axis))
          return failure();
        axes.push_back(StringAttr::get(parser.getContext(), axis));
        return success();
      });
}

Type TensorType::parse(AsmParser &parser) {
  Type elementType;
  SmallVector<DimAttr> dims;
  auto parseDim = [&]() -> ParseResult {
    std::string name;
    int64_t size;
    SmallVector<StringAttr> axes;
    if (parser.parseKeywordOrString(&name) || parser.parseEqual() ||
        parser.parseInteger(size))
      return failure();
    SMLoc loc = parser.getCurrentLocation();
    if (succeeded(parser.parseOptionalKeyword("on"))) {
      if (parseAxes(parser, axes))
        return failure();
      if (axes.empty())
        return parser.emitError(loc, "expected mesh axes after 'on'");
    }
    MLIRContext *context = parser.getContext();
    dims.push_back(
        DimAttr::get(context, StringAttr::get(context, name), size, axes));
    return success();
  };
  if (parser.parseLess() || parser.parseType(elementType) ||
      parser.parseComma() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseDim))
    return {};
  ReductionKind kind = ReductionKind::Sum;
  SmallVector<StringAttr> partial;
  if (succeeded(parser.parseOptionalComma())) {
    StringRef word;
    SMLoc loc = parser.getCurrentLocation();
    if (parser.parseKeyword(&word))
      return {};
    std::optional<ReductionKind> parsed = symbolizeReductionKind(word);
    if (!parsed) {
      parser.emitError(loc, "expected sum, max, min or prod, got '")
          << word << "'";
      return {};
    }
    kind = *parsed;
    if (parseAxes(parser, partial))
      return {};
  }
  if (parser.parseGreater())
    return {};
  SmallVector<DimAttr> sorted = sortDims(dims);
  SMLoc loc = parser.getNameLoc();
  return parser.getChecked<TensorType>(loc, elementType, sorted, kind, partial);
}

static void printAxes(AsmPrinter &printer, ArrayRef<StringAttr> axes) {
  printer << '{';
  llvm::interleaveComma(axes, printer, [&](StringAttr axis) {
    printName(printer, axis.getValue());
  });
  printer << '}';
}

void TensorType::print(AsmPrinter &printer) const {
  printer << '<' << getElementType() << ", [";
  llvm::interleaveComma(getDims(), printer, [&](DimAttr dim) {
    printName(printer, dim.getName().getValue());
    printer << " = " << dim.getSize();
    if (!dim.getAxes().empty()) {
      printer << " on ";
      printAxes(printer, dim.getAxes());
    }
  });
  printer << ']';
  if (isPartial()) {
    printer << ", " << stringifyReductionKind(getPartialKind()) << ' ';
    printAxes(printer, getPartialAxes());
  }
  printer << '>';
}

SmallVector<DimAttr> TensorType::sortDims(ArrayRef<DimAttr> dims) {
  SmallVector<DimAttr> sorted(dims);
  llvm::sort(sorted, [](DimAttr a, DimAttr b) {
    return a.getName().getValue() < b.getName().getValue();
  });
  return sorted;
}

int64_t TensorType::getDimIndex(StringRef name) const {
  for (auto [index, dim] : llvm::enumerate(getDims()))
    if (dim.getName().getValue() == name)
      return index;
  return -1;
}

DimAttr TensorType::getDim(StringRef name) const {
  int64_t index = getDimIndex(name);
  return index < 0 ? DimAttr() : getDims()[index];
}

int64_t TensorType::getElementCount() const {
  int64_t count = 1;
  for (DimAttr dim : getDims())
    count *= dim.getSize();
  return count;
}

SmallVector<int64_t> TensorType::getBlockSteps(int64_t index,
                                               MeshAttr mesh) const {
  DimAttr dim = getDims()[index];
  SmallVector<int64_t> steps;
  int64_t size = dim.getSize();
  for (StringAttr axis : dim.getAxes()) {
    size = llvm::divideCeil(size, mesh.getAxisSize(axis));
    steps.push_back(size);
  }
  return steps;
}

int64_t TensorType::getLocalSize(int64_t index, MeshAttr mesh) const {
  DimAttr dim = getDims()[index];
  int64_t size = dim.getSize();
  for (StringAttr axis : dim.getAxes())
    size = llvm::divideCeil(size, mesh.getAxisSize(axis));
  return size;
}

bool TensorType::isEven(int64_t index, MeshAttr mesh) const {
  DimAttr dim = getDims()[index];
  return dim.getSize() % mesh.getProduct(dim.getAxes()) == 0;
}

bool TensorType::hasPadding(MeshAttr mesh) const {
  for (int64_t i = 0; i < getRank(); ++i)
    if (!isEven(i, mesh))
      return true;
  return false;
}

int64_t TensorType::getLocalElementCount(MeshAttr mesh) const {
  int64_t count = 1;
  for (int64_t i = 0; i < getRank(); ++i)
    count *= getLocalSize(i, mesh);
  return count;
}

int64_t TensorType::getLocalBytes(MeshAttr mesh) const {
  return getLocalElementCount(mesh) *
         ((getElementType().getIntOrFloatBitWidth() + 7) / 8);
}

bool TensorType::isDistributed() const {
  return isPartial() || llvm::any_of(getDims(), [](DimAttr dim) {
           return !dim.getAxes().empty();
         });
}

TensorType TensorType::getGlobal() const {
  SmallVector<DimAttr> dims;
  for (DimAttr dim : getDims())
    dims.push_back(DimAttr::get(getContext(), dim.getName(), dim.getSize(),
                                ArrayRef<StringAttr>()));
  return TensorType::get(getElementType(), dims);
}

TensorType TensorType::withElementType(Type elementType) const {
  return TensorType::get(elementType, getDims(), getPartialKind(),
                         getPartialAxes());
}

TensorType TensorType::withPartial(ReductionKind kind,
                                   ArrayRef<StringAttr> axes) const {
  return TensorType::get(getElementType(), getDims(), kind, axes);
}

TensorType TensorType::withDims(ArrayRef<DimAttr> dims) const {
  return TensorType::get(getElementType(), dims);
}

TensorType TensorType::withoutDims(ArrayRef<StringAttr> names) const {
  SmallVector<DimAttr> dims;
  for (DimAttr dim : getDims())
    if (!llvm::is_contained(names, dim.getName()))
      dims.push_back(dim);
  return withDims(dims);
}

bool haveSameGlobalType(Type a, Type b) {
  auto ta = dyn_cast<TensorType>(a), tb = dyn_cast<TensorType>(b);
  if (!ta || !tb)
    return a == b;
  return ta.getGlobal() == tb.getGlobal();
}

LogicalResult appendTensorType(std::optional<Location> location,
                               Type elementType, ArrayRef<DimAttr> dims,
                               SmallVectorImpl<Type> &types) {
  MLIRContext *context = elementType.getContext();
  Location loc = location.value_or(UnknownLoc::get(context));
  SmallVector<DimAttr> whole;
  for (DimAttr dim : dims)
    whole.push_back(DimAttr::get(context, dim.getName(), dim.getSize(),
                                 ArrayRef<StringAttr>()));
  auto type = TensorType::getChecked([&] { return emitError(loc); },
                                     elementType, whole);
  if (!type)
    return failure();
  types.push_back(type);
  return success();
}

bool haveSameGlobalTypes(TypeRange a, TypeRange b) {
  return a.size() == b.size() && llvm::all_of(llvm::zip(a, b), [](auto pair) {
           return haveSameGlobalType(std::get<0>(pair), std::get<1>(pair));
         });
}

} // namespace meshc::nd
