# Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The ops of a program that are worth a schedule, and which matchers take them."""

from __future__ import annotations

import dataclasses
import json
import pathlib
import tempfile
from typing import Any

from . import _command
from ._program import Program

# A matcher may be the body of a sequence only.
_SEQUENCE = """module attributes {{transform.with_named_sequence}} {{
  transform.named_sequence @matcher(%op: !transform.any_op {{transform.readonly}}) {{
    {0}
    transform.yield
  }}
}}
"""


@dataclasses.dataclass(frozen=True)
class RootOp:
    """An op that decides how what is around it is scheduled."""

    function: str
    op: str  # linalg.matmul
    op_class: str  # contraction, convolution, reduction, ...
    location: str  # model.mlir:12
    loops: tuple[int, ...]  # trip counts; -1: known at run time only
    # Of contractions: batch, m, n, k; of convolutions: batch, outputImage, outputChannel,
    # window, inputChannel, depth, strides, dilations.
    dimensions: dict[str, tuple[int, ...]]
    matchers: tuple[str, ...]  # names of those that take it


def _matchers_file(matchers: str, folder: str) -> str:
    if "\n" not in matchers and matchers.endswith(".mlir"):
        return matchers
    text = matchers if "named_sequence" in matchers else _SEQUENCE.format(matchers)
    path = pathlib.Path(folder) / "matchers.mlir"
    path.write_text(text)
    return str(path)


def find_root_ops(program: Any, matchers: str | None = None) -> list[RootOp]:
    """The root ops of a program as it is: a path, text or module. `matchers` is a module
    with named sequences of match ops (a path or text), or match ops on `%op` alone."""
    with Program(program).file() as path, tempfile.TemporaryDirectory(prefix="attune-") as folder:
        given = [f"--matchers={_matchers_file(matchers, folder)}"] if matchers else []
        rows = json.loads(_command.run("match", path, "--json", *given))["roots"]
    return [RootOp(row["function"], row["op"], row["class"], row["location"], tuple(row["loops"]),
                   {name: tuple(sizes) for name, sizes in row["dimensions"].items()}, tuple(row["matchers"]))
            for row in rows]


def match(program: Any, matcher: str) -> list[RootOp]:
    """The root ops that a matcher takes:
    match(model, "transform.attune.match.contraction %op {k = [784]} : (!transform.any_op) -> ()")"""
    return [root for root in find_root_ops(program, matcher) if root.matchers]
