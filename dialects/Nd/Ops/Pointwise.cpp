#include "dialects/Nd/NdOps.h"
#define GET_OP_CLASSES
#include "dialects/Nd/Ops/Pointwise.cpp.inc"
void meshc::nd::NdDialect::registerPointwise() {
  addOperations<
#define GET_OP_LIST
#include "dialects/Nd/Ops/Pointwise.cpp.inc"
      >();
}
