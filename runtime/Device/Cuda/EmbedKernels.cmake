# Gives the array that bin2c wrote the name that the plugin knows it by.
file(READ ${INPUT} array)
file(WRITE ${OUTPUT} "#include \"runtime/Device/Cuda/Gpu.h\"\n${array}
const unsigned char *const meshc::cuda::ownKernelCode =
    reinterpret_cast<const unsigned char *>(ownKernelBytes);\n")
