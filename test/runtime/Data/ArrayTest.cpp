//===- ArrayTest.cpp - tests of IDX and NPY -------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Data/Array.h"

#include "TestFiles.h"
#include "runtime/Data/Convert.h"

using namespace meshc::runtime;
using namespace meshc::test;

static Array read(const Folder &folder, const std::string &content) {
  return readArray(Bytes::open(folder.write("array", content)));
}

/// All elements, converted to f32.
static std::vector<float> floats(const Array &array) {
  int64_t count = 1;
  for (int64_t dim : array.dims)
    count *= dim;
  std::vector<float> values(static_cast<size_t>(count));
  EXPECT_TRUE(findConvert(array.type, array.bigEndian, MESHC_F32)(
      values.data(), 1, array.bytes->data() + array.offset, count));
  return values;
}

static void expectRefused(const std::string &content, const std::string &why) {
  Folder folder;
  std::string message =
      failureOf(ExitCode::Data, [&] { read(folder, content); });
  EXPECT_NE(message.find(why), std::string::npos) << message;
}

TEST(Array, readsIdx) {
  Folder folder;
  Array array = read(folder, idx(0x08, {2, 3}, {0, 1, 2, 3, 4, char(255)}));
  EXPECT_EQ(array.describe(), "2x3 u8");
  EXPECT_EQ(floats(array), (std::vector<float>{0, 1, 2, 3, 4, 255}));
  array = read(folder, idx(0x0b, {2}, {char(0xff), char(0xfe), 1, 0}));
  EXPECT_EQ(floats(array), (std::vector<float>{-2, 256}));
  array = read(folder, idx(0x0d, {1}, {0x3f, char(0xc0), 0, 0}));
  EXPECT_EQ(floats(array), (std::vector<float>{1.5}));
}

TEST(Array, readsNpyOfEachType) {
  Folder folder;
  auto one = [&](const std::string &type, const std::string &content) {
    return floats(read(folder, npy("{'descr': '" + type +
                                       "', 'fortran_order': False, 'shape': "
                                       "(2,), }",
                                   content)));
  };
  const std::vector<float> wanted{1, 0};
  EXPECT_EQ(one("|b1", {1, 0}), wanted);
  EXPECT_EQ(one("|u1", {1, 0}), wanted);
  EXPECT_EQ(one("|i1", {1, 0}), wanted);
  EXPECT_EQ(one("<i2", bytesOf<int16_t>({1, 0})), wanted);
  EXPECT_EQ(one("<i4", bytesOf<int32_t>({1, 0})), wanted);
  EXPECT_EQ(one("<i8", bytesOf<int64_t>({1, 0})), wanted);
  EXPECT_EQ(one("<f2", bytesOf<uint16_t>({0x3c00, 0})), wanted);
  EXPECT_EQ(one("<f4", bytesOf<float>({1, 0})), wanted);
  EXPECT_EQ(one("<f8", bytesOf<double>({1, 0})), wanted);
  EXPECT_EQ(one(">i4", {0, 0, 0, 1, 0, 0, 0, 0}), wanted);
}

TEST(Array, readsNpyShapes) {
  Folder folder;
  Array array = read(folder, npy("{'descr': '|u1', 'fortran_order': False, "
                                 "'shape': (2, 1, 3), }",
                                 "abcdef"));
  EXPECT_EQ(array.describe(), "2x1x3 u8");
  // A vector is the same in both orders.
  array = read(folder, npy("{'descr': '|u1', 'fortran_order': True, 'shape': "
                           "(2,), }",
                           "ab"));
  EXPECT_EQ(array.describe(), "2 u8");
}

/// Headers as other writers and Python 2 write them, which NumPy reads.
TEST(Array, readsNpyHeadersAsNumpyDoes) {
  Folder folder;
  for (const char *header :
       {R"({"descr": "|u1", "fortran_order": False, "shape": (2, 3)})",
        "{'descr': '|u1', 'fortran_order': False, 'shape': (2L, 3L), }",
        "{'shape':(2,3),'fortran_order':False,'descr':u'u1'}",
        "{ 'shape' : ( 2 , 3 , ) , 'descr' : '|u1' ,\n'fortran_order' : False "
        "}"})
    EXPECT_EQ(read(folder, npy(header, "abcdef")).describe(), "2x3 u8")
        << header;
  EXPECT_EQ(floats(read(folder, npy("{'descr': '=i2', 'fortran_order': False, "
                                    "'shape': (1L,)}",
                                    bytesOf<int16_t>({-2})))),
            (std::vector<float>{-2}));
}

TEST(Array, saysWhatIsWrongInNpyHeaders) {
  auto refused = [](const std::string &header, const std::string &why) {
    expectRefused(npy(header, "12"), why);
  };
  const std::string f4 = "{'descr': '<f4', 'fortran_order': False, ";
  refused(f4 + "'shape': (2)}",
          "has (2) as 'shape' in its NPY header, which is a number in Python "
          "and no tuple; expected (2,)");
  refused("{'descr': [('a', '<f4'), ('b', '<i4', (2,))], 'fortran_order': "
          "False, 'shape': (2,)}",
          "is an NPY file of structured type [('a', '<f4'), ('b', '<i4', "
          "(2,))]; expected one of b1, u1, i1, u2, i2, i4, i8, f2, f4, f8: "
          "save each field as a file of its own");
  refused("{\"descr\": \"<U7\", \"fortran_order\": False, \"shape\": (2,)}",
          "is an NPY file of type '<U7'; expected one of b1");
  for (const char *shape : {"[2]", "2", "(2,,)", "(2 3)", "(,)", "(-2,)",
                            "(2.0,)", "(99999999999999999999,)", "((2,),)"})
    refused(f4 + "'shape': " + shape + "}",
            std::string("has ") + shape +
                " as 'shape' in its NPY header; expected a tuple of at most 32 "
                "sizes, such as (60000, 784)");
  refused("{'descr': '<f4', 'fortran_order': 0, 'shape': (2,)}",
          "has 0 as 'fortran_order' in its NPY header; expected True or False");
  refused("{'descr': '<f4', 'shape': (2,)}",
          "has no 'fortran_order' in its NPY header");
  refused(f4 + "'shape': (2,), 'x': 1}",
          "has 'x' in its NPY header; expected 'descr', 'fortran_order' and "
          "'shape'");
  refused(f4 + "'descr': '<f4', 'shape': (2,)}",
          "has 'descr' twice in its NPY header");
  refused(f4 + "'shape': (2,)} 1", "has a damaged NPY header: expected the end "
                                   "at its byte 56");
  refused(f4 + "'shape': (2,}",
          "has a damaged NPY header: expected the value of 'shape' at its byte "
          "53");
  refused("(1, 2)", "has a damaged NPY header: expected '{' at its byte 0");
  refused("{'descr': '<f4, }", "expected the value of 'descr' at its byte 10");
  refused("{'descr' '<f4'}", "expected ':' behind 'descr' at its byte 9");
  refused("{descr: '<f4'}", "expected a key in quotes at its byte 1");
  std::string other = npy(f4 + "'shape': (2,)}", "12");
  other[6] = 4;
  expectRefused(other, "is an NPY file of version 4.0; expected version 1.0, "
                       "2.0 or 3.0");
}

TEST(Array, refusesWhatItCannotRead) {
  expectRefused("text, no array", "is neither IDX nor NPY");
  expectRefused("", "' is empty");
  expectRefused(idx(0x08, {2, 3}, "abcde"), "ends early");
  expectRefused(idx(0x08, {2, 3}, "abcdefgh"),
                "has 2 bytes behind its content: its header says 2x3 u8, 6 "
                "bytes, and 8 follow; fetch it again");
  expectRefused(idx(0x08, {0}, "a"), "has 1 byte behind its content");
  expectRefused(idx(0x08, {2, 3}, "").substr(0, 9), "ends within its IDX");
  expectRefused(idx(0x08, {0xffffffff, 0xffffffff, 0xffffffff}, "a"),
                "impossible dims");
  expectRefused(idx(0x0a, {1}, "a"), "unknown element type 10");
  expectRefused(npy("{'descr': '<c8', 'fortran_order': False, 'shape': (1,)}",
                    "12345678"),
                "NPY file of type '<c8'");
  expectRefused(
      npy("{'descr': '|u1', 'fortran_order': True, 'shape': (1, 2)}", "12"),
      "Fortran order");
  expectRefused(
      npy("{'descr': '|u1', 'fortran_order': False, 'shape': ()}", "1"),
      "a single number");
  expectRefused(npy("{'shape':", ""), "NPY");
  expectRefused(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (3,)}",
                    "12345678"),
                "ends early");
  expectRefused(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}",
                    "12345678"),
                "has 4 bytes behind its content: its header says 1 f32, 4 "
                "bytes, and 8 follow; fetch it again");
}
