# What every target of the compiler shares: MLIR, its flags, precompiled headers
# for what nearly every file includes, and the rules for .td files.
find_program(LLVM_CONFIG NAMES llvm-config-22 llvm-config)
if(LLVM_CONFIG) # MLIR lies beside LLVM, which Debian does not put on CMake's path
  execute_process(COMMAND ${LLVM_CONFIG} --cmakedir OUTPUT_VARIABLE llvm_cmake
    OUTPUT_STRIP_TRAILING_WHITESPACE)
endif()
find_package(MLIR 22.1 REQUIRED CONFIG HINTS "${llvm_cmake}/../mlir")
list(APPEND CMAKE_MODULE_PATH "${MLIR_CMAKE_DIR}" "${LLVM_CMAKE_DIR}")
include(TableGen)
include(AddLLVM)
include(AddMLIR)
separate_arguments(LLVM_DEFINITIONS_LIST NATIVE_COMMAND ${LLVM_DEFINITIONS})

add_library(meshc_compiler_options INTERFACE)
target_include_directories(meshc_compiler_options INTERFACE
  ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/include ${CMAKE_BINARY_DIR})
target_include_directories(meshc_compiler_options SYSTEM INTERFACE
  ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
target_compile_definitions(meshc_compiler_options INTERFACE ${LLVM_DEFINITIONS_LIST})
target_compile_features(meshc_compiler_options INTERFACE cxx_std_20)
# Debian's LLVM is built without RTTI, so classes that derive from its classes
# must be too.
target_compile_options(meshc_compiler_options INTERFACE -fno-rtti -fno-exceptions)

# meshc_precompiled_header(NAME headers…): a precompiled header that libraries
# and executables share. Parsing MLIR's headers takes longer than compiling the
# files that include them: without precompiled headers a build takes twice as
# long.
function(meshc_precompiled_header name)
  add_library(${name} OBJECT ${CMAKE_SOURCE_DIR}/cmake/Pch.cpp)
  target_link_libraries(${name} PRIVATE meshc_compiler_options)
  target_precompile_headers(${name} PRIVATE ${ARGN})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    target_compile_options(${name} PRIVATE -fpch-instantiate-templates)
  endif()
  # The headers include what mlir-tblgen generates from these .td files.
  add_dependencies(${name} meshc_nd_types_inc meshc_nd_interfaces_inc)
endfunction()

set(compiler_headers
  <mlir/IR/BuiltinTypes.h> <mlir/IR/BuiltinOps.h> <mlir/IR/BuiltinAttributes.h>
  <mlir/IR/OpImplementation.h> <mlir/IR/OpDefinition.h>
  <mlir/IR/DialectImplementation.h> <mlir/IR/PatternMatch.h>
  <mlir/Dialect/Arith/IR/Arith.h> <mlir/Dialect/Math/IR/Math.h>
  <mlir/Dialect/Func/IR/FuncOps.h> <mlir/Pass/Pass.h>
  <mlir/Interfaces/SideEffectInterfaces.h> <mlir/Interfaces/InferTypeOpInterface.h>
  <llvm/ADT/TypeSwitch.h>
  ${CMAKE_SOURCE_DIR}/dialects/Nd/NdInterfaces.h)
meshc_precompiled_header(meshc_pch ${compiler_headers})
# Code generation uses more of MLIR's dialects than the other phases do.
meshc_precompiled_header(meshc_codegen_pch ${compiler_headers}
  <mlir/Dialect/GPU/IR/GPUDialect.h> <mlir/Dialect/LLVMIR/LLVMDialect.h>
  <mlir/Dialect/LLVMIR/NVVMDialect.h> <mlir/Dialect/SCF/IR/SCF.h>
  <mlir/Dialect/Vector/IR/VectorOps.h>)

# meshc_library(NAME [LINK targets…] [DEPENDS targets…] [SOURCES files…] [PCH
# target]): one folder of the compiler as one static library of all its .cpp
# files, or of SOURCES. PCH is the precompiled header, by default meshc_pch.
function(meshc_library name)
  cmake_parse_arguments(ARG "" "PCH" "LINK;DEPENDS;SOURCES" ${ARGN})
  if(NOT ARG_PCH)
    set(ARG_PCH meshc_pch)
  endif()
  if(NOT ARG_SOURCES)
    file(GLOB_RECURSE ARG_SOURCES CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  endif()
  add_library(${name} STATIC ${ARG_SOURCES})
  target_precompile_headers(${name} REUSE_FROM ${ARG_PCH})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    target_compile_options(${name} PRIVATE -fpch-instantiate-templates)
  endif()
  target_link_libraries(${name} PUBLIC meshc_compiler_options ${ARG_LINK})
  meshc_unity_groups(${name} ${name} ${ARG_SOURCES})
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
endfunction()

# meshc_executable(NAME SOURCES files… [LINK targets…] [PCH target]): a program
# that contains parts of the compiler, in build/bin.
function(meshc_executable name)
  cmake_parse_arguments(ARG "" "PCH" "LINK;SOURCES" ${ARGN})
  if(NOT ARG_PCH)
    set(ARG_PCH meshc_pch)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  # Must match the precompiled header, which is position independent like a
  # library.
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(${name} PRIVATE -fPIC)
  target_precompile_headers(${name} REUSE_FROM ${ARG_PCH})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    target_compile_options(${name} PRIVATE -fpch-instantiate-templates)
  endif()
  target_link_libraries(${name} PRIVATE meshc_compiler_options ${ARG_LINK} MLIR LLVM)
endfunction()

# meshc_tool(NAME SOURCES files… [LINK targets…]): a main of the compiler.
function(meshc_tool name)
  meshc_executable(${name} ${ARGN})
  get_target_property(sources ${name} SOURCES)
  meshc_unity_groups(${name} ${name} ${sources})
endfunction()

# meshc_tablegen(file.td target out flags…): runs mlir-tblgen once per
# (output file, flag) pair; `target` builds them all.
function(meshc_tablegen td target)
  set(LLVM_TARGET_DEFINITIONS ${td})
  set(pairs ${ARGN})
  set(TABLEGEN_OUTPUT)
  while(pairs)
    list(POP_FRONT pairs out flags)
    separate_arguments(flags UNIX_COMMAND "${flags}")
    mlir_tablegen(${out} ${flags} EXTRA_INCLUDES ${CMAKE_SOURCE_DIR} ${MLIR_INCLUDE_DIRS})
  endwhile()
  add_custom_target(${target} DEPENDS ${TABLEGEN_OUTPUT})
endfunction()
