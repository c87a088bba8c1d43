//===- OptionsTest.cpp - tests of wrong command lines ---------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Subprocess.h"

using namespace meshc::test;

/// One line each, which names the option, the value found and the expected one.
TEST(Options, wrongValuesAreToldInOneLine) {
  const char *const steps = "a whole number from 0 to 1000000000000000";
  const std::string cases[][2] = {
      {"--seed -1", "'--seed' is '-1'; expected a whole number from 0 to "
                    "18446744073709551615"},
      {"--seed 18446744073709551616", "'--seed' is '18446744073709551616'"},
      {"--seed 1.5", "'--seed' is '1.5'"},
      {"--seed 0x10", "'--seed' is '0x10'"},
      {"--seed=", "--seed"},
      {"--steps 99999999999999999999",
       std::string("'--steps' is '99999999999999999999'; expected ") + steps},
      {"--steps -3", "'--steps' is '-3'"},
      {"--steps 3x", "'--steps' is '3x'"},
      {"--steps 1e3", "'--steps' is '1e3'"},
      {"--epochs nan",
       "'--epochs' is 'nan'; expected a number above 0, at most "
       "1e9"},
      {"--epochs inf", "'--epochs' is 'inf'"},
      {"--epochs 0", "'--epochs' is '0'"},
      {"--epochs -0.5", "'--epochs' is '-0.5'"},
      {"--epochs 1e400", "'--epochs' is '1e400'"},
      {"--epochs 0x1p3", "'--epochs' is '0x1p3'"},
      {"--epochs 1e", "'--epochs' is '1e'"},
      {"--threads 0", "'--threads' is '0'; expected a whole number from 1 to "
                      "4096"},
      {"--threads 4294967297", "'--threads' is '4294967297'"},
      {"--ranks 0", "'--ranks' is '0'"},
      {"--log-every 0", "'--log-every' is '0'"},
      {"--checkpoint c --save-every 0", "'--save-every' is '0'"},
      {"--trace t --trace-steps 0", "'--trace-steps' is '0'; expected a whole "
                                    "number from 1 to 1000"},
      {"--checkpoint c --eval-data x=a --keep-best loss --stop-after 2 "
       "--least-improvement 1e301",
       "'--least-improvement' is '1e301'; expected a number above 0, at most "
       "1e300"},
      {"--comm pigeon", "'--comm' is 'pigeon'"},
  };
  for (const auto &[options, message] : cases)
    expectError(
        run(line("1x1") + " train --data x=a --data target=b " + options), 2,
        message);
}

TEST(Options, takesEveryValueInItsRange) {
  Folder folder;
  std::string data = writeLineData(folder);
  for (const char *options :
       {"--steps 0 --seed 18446744073709551615", "--epochs 1e-2",
        "--epochs .5 --log-every 1000000000000000", "--steps 001"})
    EXPECT_EQ(run(line("1x1") + " train --quiet " + options + data).code, 0)
        << options;
}

TEST(Options, wrongUseIsToldInOneLine) {
  std::string name = line("1x1"), train = name + " train";
  std::string help = "; see '" + name + " --help'\n",
              trainHelp = "; see '" + train + " --help'\n";
  expectError(run(name), 2,
              "line: error: there is no command; expected 'train', 'eval', "
              "'generate', 'export' or 'info'" +
                  help);
  expectError(run(name + " fly"), 2,
              "'fly' is not a command; expected 'train'");
  expectError(run(train), 2, "line: error: '--data' is required" + trainHelp);
  expectError(run(train + " --data a --flag"), 2, "'--flag'" + trainHelp);
  expectError(
      run(train + " --stepz 4"), 2,
      "line: error: unknown option '--stepz' (did you mean '--steps'?)" +
          trainHelp);
  expectError(run(train + " a --data b --stps=1 --xyz 1 2 -- c"), 2,
              "unexpected argument 'a', unknown option '--stps=1' (did you "
              "mean '--steps'?), unknown option '--xyz', "
              "unexpected argument '2', unexpected argument 'c'" +
                  trainHelp);
  expectError(run(name + " --versoin"), 2,
              "unknown option '--versoin' (did you mean '--version'?)" + help);
  expectError(run(train + " --data a --steps 1 --epochs 1"), 2, trainHelp);
  expectError(run(train + " --data a --save-every 1"), 2, "--checkpoint");
  for (const char *option : {"--checkpoint", "--weights", "--log"})
    expectError(run(train + " --data a " + option + " ''"), 2,
                std::string("the value of '") + option + "' is empty");
  expectError(run(train + " --data a --trace-steps 1"), 2, "--trace");
  expectError(run(name + " eval --data a --checkpoint c --trace t"), 2,
              "--trace");
  for (const char *other : {"--eval-data a", "--checkpoint c"})
    expectError(run(train + " --data a --hold-batch " + other), 2,
                "--hold-batch");
  expectError(run(train + " --data a --resume"), 2,
              "'--resume' names no file, and there is no '--checkpoint'");
  expectError(run(name + " info --jso"), 2, "see '" + name + " info --help'");
}

/// The parser's own words would be "At Most 1 required but received 2".
TEST(Options, repeatedOptionsAndMissingValuesAreToldPlainly) {
  const std::string train = " train --data a ";
  const std::string cases[][2] = {
      {train + "--seed", "'--seed' has no value; expected '--seed N'"},
      {" train --data", "'--data' has no value; expected '--data TEXT'"},
      {train + "--seed 1 --seed 2", "'--seed' was given twice; give it once"},
      {train + "--log a --log b --log=c",
       "'--log' was given 3 times; give it once"},
      {" eval --data a --checkpoint c --weights w",
       "'--checkpoint' or '--weights' was given twice; give it once"},
      {train + "--resume c d", "'--resume' was given more than once, or with "
                               "more than one value; give it once"},
      {train + "--quiet=maybe", "'--quiet' is 'maybe'; it takes no value"},
      {train + "--steps 1 --epochs 1", "'--steps' excludes '--epochs'"}};
  for (const auto &[options, message] : cases)
    expectError(run(line("1x1") + options), 2,
                "line: error: " + message + "; see '");
}

/// However long an argument is.
TEST(Options, longArgumentsAreToldInOneLine) {
  const std::string text(100000, 'x'), train = line("1x1") + " train ";
  for (const std::string &options :
       {"--quiet=" + text, "--" + text, "--seed " + text, text,
        "--seed=" + text, "--comm " + text + " --data x"}) {
    Outcome outcome = run(train + options);
    EXPECT_EQ(outcome.code, 2) << outcome.err.substr(0, 500);
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1);
  }
}
