//===- TestFiles.h - data files for tests -----------------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_TEST_RUNTIME_DATA_TESTFILES_H
#define MESHC_TEST_RUNTIME_DATA_TESTFILES_H

#include "runtime/Base/Failure.h"

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <string>
#include <vector>
#include <zlib.h>

namespace meshc::test {

/// A folder that is removed with its contents.
class Folder {
public:
  Folder() {
    std::string name = testing::TempDir() + "meshcXXXXXX";
    path = mkdtemp(name.data());
  }
  ~Folder() {
    if (std::system(("rm -rf '" + path + "'").c_str()) != 0)
      ADD_FAILURE() << "cannot remove " << path;
  }
  /// Writes a file and returns its path.
  std::string write(const std::string &name, const std::string &content) const {
    std::ofstream(path + "/" + name, std::ios::binary) << content;
    return path + "/" + name;
  }
  std::string file(const std::string &name) const { return path + "/" + name; }

private:
  std::string path;
};

/// `content` as one gzip member.
inline std::string gzip(const std::string &content) {
  z_stream stream = {};
  deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, content.size()) + 32, '\0');
  stream.next_in =
      reinterpret_cast<Bytef *>(const_cast<char *>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef *>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

/// An IDX file: type code, dims, then the elements' bytes.
inline std::string idx(uint8_t type, const std::vector<uint32_t> &dims,
                       const std::string &content) {
  std::string out{'\0', '\0', static_cast<char>(type),
                  static_cast<char>(dims.size())};
  for (uint32_t dim : dims)
    for (int shift = 24; shift >= 0; shift -= 8)
      out += static_cast<char>(dim >> shift);
  return out + content;
}

/// An NPY file of version 1 with this header dictionary.
inline std::string npy(const std::string &dictionary,
                       const std::string &content) {
  std::string header = dictionary;
  while ((10 + header.size() + 1) % 64)
    header += ' ';
  header += '\n';
  return std::string("\x93NUMPY\x01\x00", 8) +
         static_cast<char>(header.size() & 255) +
         static_cast<char>(header.size() >> 8) + header + content;
}

/// The bytes of values as they lie in memory.
template <typename T> std::string bytesOf(const std::vector<T> &values) {
  return std::string(reinterpret_cast<const char *>(values.data()),
                     values.size() * sizeof(T));
}

/// The message with which `action` fails; checks the exit code.
template <typename Action>
std::string failureOf(runtime::ExitCode code, Action &&action) {
  try {
    action();
  } catch (const runtime::Failure &failure) {
    EXPECT_EQ(static_cast<int>(failure.code()), static_cast<int>(code));
    return failure.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

} // namespace meshc::test

#endif // MESHC_TEST_RUNTIME_DATA_TESTFILES_H
