//===- ProcessorFeatures.h - what the processor here has -------*- C++ -*--===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A program that was compiled for another processor must not begin: it would
/// end with SIGILL in the middle of a step.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_BASE_PROCESSORFEATURES_H
#define MESHC_RUNTIME_BASE_PROCESSORFEATURES_H

#include <string>

namespace meshc::runtime {

/// Whether the processor and the operating system support a feature, by LLVM's
/// name for it, as in "avx512f". False for names that are not known.
bool hasProcessorFeature(const std::string &name);

/// The first of `features` (MeshcProgram::features; may be null) that `has`
/// denies; empty if there is none.
std::string
findMissingFeature(const char *features,
                   bool (*has)(const std::string &name) = hasProcessorFeature);

/// Throws Failure(Device) that names a missing feature.
void checkProcessor(const char *features);

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_BASE_PROCESSORFEATURES_H
