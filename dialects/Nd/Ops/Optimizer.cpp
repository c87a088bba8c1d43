#include "dialects/Nd/NdOps.h"
#define GET_OP_CLASSES
#include "dialects/Nd/Ops/Optimizer.cpp.inc"
void meshc::nd::NdDialect::registerOptimizer() {
  addOperations<
#define GET_OP_LIST
#include "dialects/Nd/Ops/Optimizer.cpp.inc"
      >();
}
