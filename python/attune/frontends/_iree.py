# Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""IREE's own ops (scan, sort, scatter, top-k), which its lowering of StableHLO leaves
behind: upstream has none for them, so that the program they are in goes to buffers
and they become loops."""

import re

from _attune import Error

from . import _tools

OWN = "iree_linalg_ext."
TO_LOOPS = ("--pass-pipeline=builtin.module(func.func(iree-codegen-iree-comprehensive-bufferize,"
            "iree-linalg-ext-to-loops,canonicalize,cse))")


def lower_own_ops(text, name, folder):
    if OWN not in text:
        return text
    program = _tools.find_program("iree-opt", "StableHLO")
    loops = _tools.optimize(program, TO_LOOPS, text, name, folder)
    left = re.search(re.escape(OWN) + r"\w+", loops)
    if left:
        raise Error(f"{name}: {left[0]} has no lowering outside of IREE; replace the op, or tune the program with "
                    "attune tune --backend=iree")
    return re.sub(r"(bufferization\.to_tensor %\S+) (?!restrict)", r"\1 restrict ", loops)
