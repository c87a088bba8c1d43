#include "dialects/Nd/NdOps.h"
#define GET_OP_CLASSES
#include "dialects/Nd/Ops/Indexing.cpp.inc"
void meshc::nd::NdDialect::registerIndexing() {
  addOperations<
#define GET_OP_LIST
#include "dialects/Nd/Ops/Indexing.cpp.inc"
      >();
}
