//===- Order.cpp - memory orders, and matrix products in them -------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/Order.h"
#include "dialects/Exec/Alignment.h"
#include "dialects/Nd/Ops/ContractionOps.h"
#include "dialects/Nd/Ops/LoopOps.h"
#include "dialects/Nd/TensorAttributes.h"

using namespace mlir;

namespace meshc::exec {

ArrayAttr getOrderAttr(MLIRContext *context, ArrayRef<StringAttr> order) {
  return ArrayAttr::get(context,
                        SmallVector<Attribute>(order.begin(), order.end()));
}

Order getOrder(ArrayAttr attr) {
  return llvm::to_vector<4>(attr.getAsRange<StringAttr>());
}

void setOrders(Operation *op, ArrayRef<Order> orders) {
  SmallVector<Attribute> attributes;
  for (const Order &order : orders)
    attributes.push_back(getOrderAttr(op->getContext(), order));
  op->setAttr(ordersAttrName, ArrayAttr::get(op->getContext(), attributes));
}

LogicalResult verifyOrders(Operation *op) {
  for (OpResult result : op->getResults()) {
    std::optional<Order> order = getOrder(result);
    if (!order)
      return op->emitOpError()
             << "result " << result.getResultNumber() << " has no memory order";
    if (sortDims(*order) != getDims(result))
      return op->emitOpError()
             << "memory order of result " << result.getResultNumber()
             << " must name each dim of " << result.getType() << " once";
  }
  return success();
}

std::optional<Order> getOrder(Value value) {
  if (auto result = dyn_cast<OpResult>(value)) {
    auto orders = result.getOwner()->getAttrOfType<ArrayAttr>(ordersAttrName);
    if (!orders || result.getResultNumber() >= orders.size())
      return std::nullopt;
    return getOrder(cast<ArrayAttr>(orders[result.getResultNumber()]));
  }
  auto argument = cast<BlockArgument>(value);
  Operation *parent = argument.getOwner()->getParentOp();
  if (isa<LibraryOpInterface>(parent))
    return getOrder(parent->getOperand(argument.getArgNumber()));
  if (auto scan = dyn_cast<nd::ScanOp>(parent)) {
    nd::Tie tie = scan.getTie(argument);
    auto order = getOrder(tie.result ? Value(tie.result) : tie.operand);
    if (order && tie.kind == nd::TieKind::StackedOperand)
      llvm::erase(*order, scan.getDimAttr());
    return order;
  }
  auto function = dyn_cast<FunctionOpInterface>(parent);
  if (!function)
    return std::nullopt;
  ArrayAttr order =
      nd::TensorAttributes::ofArgument(function, argument.getArgNumber())
          .getOrder();
  if (!order)
    return std::nullopt;
  return getOrder(order);
}

static int64_t getLocalSize(nd::TensorType type, StringAttr dim,
                            nd::MeshAttr mesh) {
  return type.getLocalSize(type.getDimIndex(dim.getValue()), mesh);
}

int64_t getStride(nd::TensorType type, ArrayRef<StringAttr> order,
                  StringRef dim, nd::MeshAttr mesh) {
  int64_t stride = 1;
  for (StringAttr name : llvm::reverse(order)) {
    if (name.getValue() == dim)
      return stride;
    stride *= getLocalSize(type, name, mesh);
  }
  return 0;
}

Order restrictOrder(ArrayRef<StringAttr> order, ArrayRef<StringAttr> group) {
  Order restricted;
  for (StringAttr dim : order)
    if (llvm::is_contained(group, dim))
      restricted.push_back(dim);
  return restricted;
}

SmallVector<StringAttr, 2> getUnevenDims(nd::TensorType type,
                                         ArrayRef<StringAttr> group,
                                         nd::MeshAttr mesh) {
  SmallVector<StringAttr, 2> uneven;
  for (StringAttr dim : group)
    if (!type.isEven(type.getDimIndex(dim.getValue()), mesh))
      uneven.push_back(dim);
  return uneven;
}

ProductDims ProductDims::of(nd::EinsumOp product) {
  auto a = nd::getTensorType(product.getInputs()[0]);
  auto b = nd::getTensorType(product.getInputs()[1]);
  auto c = nd::getTensorType(product.getResult());
  ProductDims dims;
  for (nd::DimAttr dim : a.getDims()) {
    StringAttr name = dim.getName();
    bool inB = b.hasDim(name.getValue()), inC = c.hasDim(name.getValue());
    (inB ? (inC ? dims.batch : dims.k) : dims.m).push_back(name);
  }
  for (nd::DimAttr dim : b.getDims())
    if (!a.hasDim(dim.getName().getValue()))
      dims.n.push_back(dim.getName());
  return dims;
}

std::optional<ProductDims>
ProductDims::repeatOutside(unsigned operand, ArrayRef<StringAttr> order) const {
  ProductDims dims = *this;
  auto &own = operand == 0 ? dims.m : dims.n;
  auto &repeated = operand == 0 ? dims.repeatedA : dims.repeatedB;
  for (StringAttr dim : order) {
    if (llvm::is_contained(k, dim))
      break;
    if (llvm::is_contained(own, dim))
      repeated.push_back(dim);
  }
  llvm::erase_if(
      own, [&](StringAttr dim) { return llvm::is_contained(repeated, dim); });
  if (!batch.empty() || repeated.empty() || own.empty())
    return std::nullopt;
  return dims;
}

namespace {
/// Several dims walked as one: entries and the elements between neighbours.
struct Walk {
  int64_t size = 1;
  int64_t stride = 1;
};
} // namespace

/// The dims, outermost first, as one strided walk, where they are. Dims of one
/// entry do not matter; without any other, the stride is 1.
static std::optional<Walk> getWalk(nd::TensorType type,
                                   ArrayRef<StringAttr> order,
                                   ArrayRef<StringAttr> group,
                                   nd::MeshAttr mesh) {
  Walk walk;
  bool isEmpty = true;
  for (StringAttr dim : llvm::reverse(group)) {
    int64_t size = getLocalSize(type, dim, mesh);
    if (size == 1)
      continue;
    int64_t stride = getStride(type, order, dim.getValue(), mesh);
    if (isEmpty)
      walk.stride = stride;
    else if (stride != walk.stride * walk.size)
      return std::nullopt;
    walk.size *= size;
    isEmpty = false;
  }
  return walk;
}

namespace {
/// One tensor of a product as a batch of matrices.
struct Matrix {
  Walk batch, rows, columns;
  bool isTransposed = false; ///< the columns are stored one after another
  int64_t leading = 1;       ///< elements between stored rows

  static std::optional<Matrix>
  of(nd::TensorType type, ArrayRef<StringAttr> order,
     ArrayRef<StringAttr> batch, ArrayRef<StringAttr> rows,
     ArrayRef<StringAttr> columns, nd::MeshAttr mesh) {
    auto walkBatch = getWalk(type, order, batch, mesh);
    auto walkRows = getWalk(type, order, rows, mesh);
    auto walkColumns = getWalk(type, order, columns, mesh);
    if (!walkBatch || !walkRows || !walkColumns)
      return std::nullopt;
    Matrix matrix{*walkBatch, *walkRows, *walkColumns, false, 1};
    // A side of one entry may have any stride.
    bool rowMajor = walkColumns->stride == 1 || walkColumns->size == 1;
    bool columnMajor = walkRows->stride == 1 || walkRows->size == 1;
    if (!rowMajor && !columnMajor)
      return std::nullopt;
    matrix.isTransposed = !rowMajor;
    const Walk &outer = matrix.isTransposed ? matrix.columns : matrix.rows;
    const Walk &inner = matrix.isTransposed ? matrix.rows : matrix.columns;
    matrix.leading = outer.size == 1 ? inner.size : outer.stride;
    return matrix;
  }
};
} // namespace

bool isMatrix(nd::TensorType type, ArrayRef<StringAttr> order,
              ArrayRef<StringAttr> batch, ArrayRef<StringAttr> rows,
              ArrayRef<StringAttr> columns, nd::MeshAttr mesh) {
  return Matrix::of(type, order, batch, rows, columns, mesh).has_value();
}

/// Whether the entries of `dim` are parts of a walk along `group`, outermost
/// first, one after another.
static bool isOutermost(nd::TensorType type, StringAttr dim,
                        ArrayRef<StringAttr> group, nd::MeshAttr mesh) {
  if (getLocalSize(type, dim, mesh) == 1)
    return true;
  for (StringAttr other : group) {
    if (other == dim)
      return true;
    if (getLocalSize(type, other, mesh) > 1)
      return false;
  }
  return false;
}

static Order join(Order order, ArrayRef<StringAttr> more) {
  llvm::append_range(order, more);
  return order;
}

/// The shape of a product with these dims.
static std::optional<ProductShape> getShape(nd::EinsumOp product,
                                            const ProductDims &dims,
                                            ArrayRef<StringAttr> orderA,
                                            ArrayRef<StringAttr> orderB,
                                            ArrayRef<StringAttr> orderC) {
  nd::MeshAttr mesh = nd::MeshAttr::of(product);
  Order batch = restrictOrder(orderC, dims.batch);
  Order ofA = join(batch, dims.repeatedA), ofB = join(batch, dims.repeatedB);
  Order ofC = join(ofA, dims.repeatedB);
  Order m = restrictOrder(orderC, dims.m), n = restrictOrder(orderC, dims.n);
  Order k = restrictOrder(orderA, dims.k);
  auto typeOf = [](Value value) { return nd::getTensorType(value); };
  auto a = Matrix::of(typeOf(product.getInputs()[0]), orderA, ofA, m, k, mesh);
  auto b = Matrix::of(typeOf(product.getInputs()[1]), orderB, ofB, k, n, mesh);
  auto c = Matrix::of(typeOf(product.getResult()), orderC, ofC, m, n, mesh);
  nd::TensorType typeA = typeOf(product.getInputs()[0]);
  SmallVector<StringAttr, 2> uneven = getUnevenDims(typeA, k, mesh);
  if (!a || !b || !c || uneven.size() > 1 ||
      (!uneven.empty() && !isOutermost(typeA, uneven.front(), k, mesh)))
    return std::nullopt;
  ProductShape shape;
  if (!uneven.empty())
    shape.cut = uneven.front();
  shape.isSwapped = c->isTransposed;
  // Swapped, c' = b'·a': each matrix is read the other way round.
  shape.transA = shape.isSwapped ? !b->isTransposed : a->isTransposed;
  shape.transB = shape.isSwapped ? !a->isTransposed : b->isTransposed;
  if (shape.isSwapped)
    std::swap(a, b);
  int64_t rows = c->rows.size, columns = c->columns.size;
  if (shape.isSwapped)
    std::swap(rows, columns);
  int64_t depth = shape.isSwapped ? b->columns.size : a->columns.size;
  auto stride = [&](const Matrix &matrix) {
    return matrix.batch.size > 1 ? matrix.batch.stride : 0;
  };
  shape.sizes = {rows,       columns,       depth,      a->leading, b->leading,
                 c->leading, c->batch.size, stride(*a), stride(*b), stride(*c)};
  return shape;
}

std::optional<ProductShape> ProductShape::of(nd::EinsumOp product,
                                             ArrayRef<StringAttr> orderA,
                                             ArrayRef<StringAttr> orderB,
                                             ArrayRef<StringAttr> orderC) {
  ProductDims dims = ProductDims::of(product);
  if (auto shape = getShape(product, dims, orderA, orderB, orderC))
    return shape;
  for (unsigned operand : {0, 1})
    if (auto repeated =
            dims.repeatOutside(operand, operand == 0 ? orderA : orderB))
      if (auto shape = getShape(product, *repeated, orderA, orderB, orderC))
        return shape;
  return std::nullopt;
}

std::optional<ProductShape> ProductShape::of(nd::EinsumOp product) {
  auto orderOf = [](Value value) { return getOrder(value).value_or(Order()); };
  return of(product, orderOf(product.getInputs()[0]),
            orderOf(product.getInputs()[1]), orderOf(product.getResult()));
}

MeshcGemm describeProduct(ArrayRef<int64_t> sizes, bool transA, bool transB,
                          Type factorType, Type resultType) {
  MeshcGemm gemm = {};
  gemm.m = sizes[0];
  gemm.n = sizes[1];
  gemm.k = sizes[2];
  gemm.lda = sizes[3];
  gemm.ldb = sizes[4];
  gemm.ldc = sizes[5];
  gemm.batch = sizes[6];
  gemm.strideA = sizes[7];
  gemm.strideB = sizes[8];
  gemm.strideC = sizes[9];
  gemm.type = getAbiType(factorType);
  gemm.typeC = getAbiType(resultType);
  gemm.transA = transA;
  gemm.transB = transB;
  return gemm;
}

} // namespace meshc::exec
