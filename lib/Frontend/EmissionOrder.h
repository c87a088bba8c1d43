//===- EmissionOrder.h - operands that introduce dims come first *- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_FRONTEND_EMISSIONORDER_H
#define MESHC_FRONTEND_EMISSIONORDER_H

#include "lib/Frontend/NameResolver.h"

namespace meshc::frontend {

/// Which of an operation's operands are emitted before the others, since they
/// introduce a dim that one on their left uses. Null operands are no
/// expressions. [L2.5]
llvm::SmallVector<bool>
findEarly(const NameResolver &names,
          llvm::ArrayRef<const syntax::Expr *> operands);

} // namespace meshc::frontend

#endif // MESHC_FRONTEND_EMISSIONORDER_H
