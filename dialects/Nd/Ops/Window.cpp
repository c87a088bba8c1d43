#include "dialects/Nd/NdOps.h"
#define GET_OP_CLASSES
#include "dialects/Nd/Ops/Window.cpp.inc"
void meshc::nd::NdDialect::registerWindow() {
  addOperations<
#define GET_OP_LIST
#include "dialects/Nd/Ops/Window.cpp.inc"
      >();
}
