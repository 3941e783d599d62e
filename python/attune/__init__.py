# Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attune: a tuner for MLIR programs, and for anything that can be built and run.

    import attune
    function = attune.compile("model.mlir")       # or MLIR text, or a module
    y = function(x)                               # numpy arrays, not copied
    tuned = attune.tune("model.mlir", budget="1m")
    y = tuned.compile()(x)

Compiling and measuring happen in processes of their own: nothing that a candidate
does takes the interpreter down. Errors are `attune.Error`, with the text that the
command line prints. docs/python.md has examples.
"""

from _attune import Error, Function, Search, Space

from ._program import Dispatch, Program, compile
from ._tune import Tuned, tune

__all__ = ["Dispatch", "Error", "Function", "Program", "Search", "Space", "Tuned", "compile", "tune"]
