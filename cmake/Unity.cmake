# meshc_unity_groups(TARGET NAME sources…): with MESHC_UNITY_BUILD, up to 14 of
# these sources of the target are compiled as one translation unit, so that the
# headers and templates that they share are compiled once. This takes half the
# time of compiling each alone. Files with `using namespace llvm` are apart,
# because it makes names of mlir ambiguous. Files with compiler options of their
# own are compiled alone. Names that a file keeps to itself must therefore differ
# from those of its neighbours.
function(meshc_unity_groups target name)
  if(NOT MESHC_UNITY_BUILD)
    return()
  endif()
  foreach(source ${ARGN})
    file(STRINGS ${source} uses_llvm REGEX "^using namespace llvm;")
    string(MAKE_C_IDENTIFIER "${name}_${uses_llvm}" group)
    list(APPEND members_${group} ${source})
    list(LENGTH members_${group} count)
    math(EXPR part "(${count} - 1) / 14")
    set_source_files_properties(${source} TARGET_DIRECTORY ${target}
      PROPERTIES UNITY_GROUP ${group}${part})
  endforeach()
  # Each source with debug output defines DEBUG_TYPE.
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP
    UNITY_BUILD_CODE_AFTER_INCLUDE "#undef DEBUG_TYPE")
endfunction()
