# Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is compiled, and what to do when it cannot be loaded."""

import os
import re
import sys

try:
    from _attune import Error, Function, Knob, Search, Space
except ImportError as error:
    missing = re.match(r"(lib(?:MLIR|LLVM)\S*): cannot open shared object file", str(error))
    if not missing:
        raise
    raise ImportError(f"attune needs {missing[1]}, which belongs to the system: apt-get install libmlir-22 libllvm22 "
                      "(Debian and Ubuntu have them from https://apt.llvm.org)") from error

from . import _command

__all__ = ["Error", "Function", "Knob", "Search", "Space"]

# What is compiled finds the schedules, the runner and the clients of search engines
# beside the program `attune`; without one it says so when it needs them.
try:
    os.environ.setdefault("ATTUNE", _command.find_attune())
except Error:
    pass
os.environ.setdefault("ATTUNE_PYTHON", sys.executable)
