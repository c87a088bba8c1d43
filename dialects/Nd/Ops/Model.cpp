#include "dialects/Nd/NdOps.h"
#define GET_OP_CLASSES
#include "dialects/Nd/Ops/Model.cpp.inc"
void meshc::nd::NdDialect::registerModel() {
  addOperations<
#define GET_OP_LIST
#include "dialects/Nd/Ops/Model.cpp.inc"
      >();
}
