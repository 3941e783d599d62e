# Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""StableHLO files and JAX functions, through IREE's lowering to linalg."""

import os
import pathlib
import tempfile

from _attune import Error

from . import _tools
from ._iree import lower_own_ops

WHAT = "StableHLO"
TO_LINALG = "--iree-stablehlo-input-transformation-pipeline"


def from_stablehlo(program):
    """MLIR text of StableHLO: the path of a file (text, bytecode, or a function of
    jax.export), or its text."""
    if isinstance(program, os.PathLike) or (isinstance(program, str) and "\n" not in program):
        name = os.fspath(program)
        try:
            content = pathlib.Path(program).read_bytes()
        except OSError as error:
            raise Error(f"{name}: {error.strerror}") from None
    else:
        name, content = "the program", program.encode() if isinstance(program, str) else program
    optimizer = _tools.find_program("iree-opt", WHAT)
    with tempfile.TemporaryDirectory(prefix="attune-") as folder:
        text = _tools.optimize(optimizer, TO_LINALG, content, name, folder)
        return lower_own_ops(text, name, folder)


def from_jax(function, *arguments, **named):
    """MLIR text of a function of JAX as it computes with `arguments` (arrays, or
    jax.ShapeDtypeStruct)."""
    jax = _tools.load("jax", "a JAX function")
    _tools.find_program("iree-opt", WHAT)
    try:
        lowered = jax.jit(function).lower(*arguments, **named)
        text = lowered.as_text(dialect="stablehlo")
    except Exception as error:
        raise Error(f"jax.jit does not take the function: {_tools.first_line(str(error))}") from error
    return from_stablehlo(text)


def from_jax_export(path):
    """MLIR text of a file with a function that jax.export serialized."""
    export = _tools.load("jax.export", "a file of jax.export")
    try:
        content = bytearray(pathlib.Path(path).read_bytes())
    except OSError as error:
        raise Error(f"{path}: {error.strerror}") from None
    try:
        text = str(export.deserialize(content).mlir_module())
    except Exception as error:
        raise Error(f"{path}: not a function of jax.export: {_tools.first_line(str(error))}") from None
    return from_stablehlo(text)
