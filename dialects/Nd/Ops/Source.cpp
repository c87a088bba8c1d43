#include "dialects/Nd/NdOps.h"
#define GET_OP_CLASSES
#include "dialects/Nd/Ops/Source.cpp.inc"
void meshc::nd::NdDialect::registerSource() {
  addOperations<
#define GET_OP_LIST
#include "dialects/Nd/Ops/Source.cpp.inc"
      >();
}
