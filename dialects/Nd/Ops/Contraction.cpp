#include "dialects/Nd/NdOps.h"
#define GET_OP_CLASSES
#include "dialects/Nd/Ops/Contraction.cpp.inc"
void meshc::nd::NdDialect::registerContraction() {
  addOperations<
#define GET_OP_LIST
#include "dialects/Nd/Ops/Contraction.cpp.inc"
      >();
}
