#include "dialects/Nd/NdOps.h"
#define GET_OP_CLASSES
#include "dialects/Nd/Ops/Reduction.cpp.inc"
void meshc::nd::NdDialect::registerReduction() {
  addOperations<
#define GET_OP_LIST
#include "dialects/Nd/Ops/Reduction.cpp.inc"
      >();
}
