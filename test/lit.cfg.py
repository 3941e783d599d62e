# Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Text in, text out: the FileCheck tests, one folder for each room. In a RUN line
# `attune`, `attune-opt` and `attune-runner` are the ones just built; FileCheck,
# not, count and mlir-opt are LLVM's.

import os

import lit.formats

config.name = "attune"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs", "data", "programs", "CMakeLists.txt"]
config.test_source_root = os.path.dirname(__file__)
# build/NAME/test, given by CMake.
binary = lit_config.params["binary_dir"]
llvm_tools = lit_config.params["llvm_tools_dir"]
config.test_exec_root = os.path.join(binary, "test")

tools = [os.path.join(binary, "tools", t) for t in ("attune", "attune-opt", "attune-runner",
                                                        "attune-lsp-server")]
config.environment["PATH"] = os.pathsep.join(tools + [llvm_tools, os.environ["PATH"]])

# %root is the project; %path what PATH was.
source = os.path.dirname(config.test_source_root)
config.substitutions += [("%" + name, os.path.join(source, folder)) for name, folder in (
    ("root", ""), ("examples", "examples"), ("data", "test/data"), ("schedules", "schedules"))]
config.substitutions.append(("%path", os.environ["PATH"]))
# Python with numpy, which ./dev setup makes.
python = os.path.join(source, ".venv/bin/python")
config.substitutions.append(("%python", python))
if os.path.exists(python):
    config.available_features.add("python")
