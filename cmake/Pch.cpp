// Compiled once: the precompiled header of the compiler (cmake/Compiler.cmake).
