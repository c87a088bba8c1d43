#include "dialects/Nd/NdOps.h"
#define GET_OP_CLASSES
#include "dialects/Nd/Ops/Shape.cpp.inc"
void meshc::nd::NdDialect::registerShape() {
  addOperations<
#define GET_OP_LIST
#include "dialects/Nd/Ops/Shape.cpp.inc"
      >();
}
