//===- SharedObjects.h - one object of each type ----------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Objects that analyses share. Whoever owns them does not know their types.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_SPMD_SHAREDOBJECTS_H
#define MESHC_DIALECTS_SPMD_SHAREDOBJECTS_H

#include "mlir/Support/TypeID.h"
#include "llvm/ADT/DenseMap.h"
#include <memory>
#include <mutex>

namespace meshc::spmd {

/// One object of each type that is asked for. Several threads may ask.
class SharedObjects {
public:
  /// The object of this type, which the first call makes, without arguments. It
  /// lives as long as `this`, and must allow several threads.
  template <typename Object> Object &get() {
    std::lock_guard lock(mutex);
    std::shared_ptr<void> &object = objects[mlir::TypeID::get<Object>()];
    if (!object)
      object = std::make_shared<Object>();
    return *static_cast<Object *>(object.get());
  }

private:
  std::mutex mutex;
  llvm::DenseMap<mlir::TypeID, std::shared_ptr<void>> objects;
};

} // namespace meshc::spmd

#endif // MESHC_DIALECTS_SPMD_SHAREDOBJECTS_H
