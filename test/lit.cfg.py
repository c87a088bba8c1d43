# Tests that are a text with its RUN and CHECK lines: passes (mesh-opt) and the
# command line (meshc). `lit -Dbuild=BUILD_FOLDER test`; CTest runs one folder as
# `lit_FOLDER`, and `test/run FILE` one file.
import os

import lit.formats

config.name = "meshc"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".mesh", ".test"]
config.excludes = ["Inputs", "corpus", "bench", "models"]
config.test_source_root = os.path.dirname(__file__)

build = os.path.abspath(lit_config.params.get("build", os.path.join(config.test_source_root, "..", "build")))
llvm = lit_config.params.get("llvm", "/usr/lib/llvm-22/bin")
config.test_exec_root = os.path.join(build, "test", "lit")
config.environment["PATH"] = os.pathsep.join([os.path.join(build, "bin"), llvm, os.environ["PATH"]])
if "MESHC_RANDOM_SEED" in os.environ:  # of tests that are samples
    config.environment["MESHC_RANDOM_SEED"] = os.environ["MESHC_RANDOM_SEED"]
config.substitutions.append(("%{build}", build))
