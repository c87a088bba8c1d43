#include "dialects/Nd/NdOps.h"
#define GET_OP_CLASSES
#include "dialects/Nd/Ops/Normalization.cpp.inc"
void meshc::nd::NdDialect::registerNormalization() {
  addOperations<
#define GET_OP_LIST
#include "dialects/Nd/Ops/Normalization.cpp.inc"
      >();
}
