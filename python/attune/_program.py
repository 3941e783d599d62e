# Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs, what they consist of, and what they compile to."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import pathlib
import tempfile
from typing import Any, Iterator

from . import _command
from ._native import Error, Function, Space


@dataclasses.dataclass(frozen=True)
class Dispatch:
    """What is scheduled, compiled and measured as one."""

    name: str
    fingerprint: str  # 16 hexadecimal digits; the same for the same work
    root_op: str  # contraction, convolution, ...
    shapes: str  # 64x128x256xf32
    location: str  # model.mlir:12
    count: int  # call sites in the program
    inputs: tuple[str, ...]  # 64x256xf32
    outputs: tuple[str, ...]


def _is_path(text: str) -> bool:
    return bool(text) and "\n" not in text and not text.lstrip().startswith(("module", "func."))


class Program:
    """An MLIR program: the path of a file, its text, bytecode, or a module of an
    MLIR Python package (anything that prints as MLIR)."""

    def __init__(self, program: Any):
        self.path: str | None = None
        self._content: bytes = b""
        if isinstance(program, Program):
            self.path, self._content = program.path, program._content
        elif isinstance(program, os.PathLike) or (isinstance(program, str) and _is_path(program)):
            self.path = os.fspath(program)
        else:
            self._content = program if isinstance(program, bytes) else str(program).encode()
            if not self._content.strip():
                raise Error("the program is empty")

    @contextlib.contextmanager
    def file(self) -> Iterator[str]:
        """A path of the program while the context lasts."""
        if self.path is not None:
            yield self.path
            return
        with tempfile.TemporaryDirectory(prefix="attune-") as folder:
            path = pathlib.Path(folder) / "program.mlir"
            path.write_bytes(self._content)
            try:
                yield str(path)
            except Error as error:
                # The file is ours: people know the program as a text.
                raise Error(str(error).replace(str(path), "program")) from None

    def dispatches(self, entry: str | None = None) -> list[Dispatch]:
        """What `attune dispatches` lists."""
        with self.file() as path:
            printed = _command.run("dispatches", path, "--json", *_flags(entry=entry))
        return [Dispatch(row["name"], row["fingerprint"], row["rootOp"], row["shapes"], row["location"],
                         int(row["count"]), tuple(row["inputs"]), tuple(row["outputs"]))
                for row in json.loads(printed)["dispatches"]]

    def extract(self, dispatch: str | Dispatch) -> Program:
        """A dispatch (by its name) as a program of its own."""
        name = dispatch.name if isinstance(dispatch, Dispatch) else dispatch
        with self.file() as path, tempfile.TemporaryDirectory(prefix="attune-") as folder:
            printed = _command.run("dispatches", path, "--json", f"--dump-to={folder}")
            part = pathlib.Path(folder) / f"{name}.mlir"
            if not part.exists():
                known = ", ".join(row["name"] for row in json.loads(printed)["dispatches"])
                raise Error(f"there is no dispatch '{name}'; there are: {known}")
            # Its inputs are random here: files of values stay behind.
            return Program(part.read_bytes())

    def dimensions(self, dispatch: str | Dispatch) -> dict[str, list[int]]:
        """Sizes of the loops of a dispatch's root op by the part they play: `batch`,
        `m` and `n` (parallel), `k` and `window` (summed); -1 where a size is open.
        Of a matmul: {"batch": [], "m": [64], "n": [128], "k": [256], "window": []}."""
        import _attune_harness
        return _attune_harness.dimensions_of(self.extract(dispatch)._content.decode())

    def spaces(self, dispatch: str | Dispatch | None = None, *, threads: int | None = None) -> dict[str, Space]:
        """What could be tried on a dispatch: a space for each schedule that fits,
        the best first. Not needed where the program is one dispatch."""
        program = self if dispatch is None else self.extract(dispatch)
        with program.file() as path:
            printed = _command.run("space", path, "--json", *_flags(threads=threads))
        return {space["schedule"]: Space(space, space["schedule"]) for space in json.loads(printed)["spaces"]}

    def compile(self, **options: Any) -> Function:
        return compile(self, **options)


def _flags(**options: Any) -> list[str]:
    return [f"--{name.replace('_', '-')}={value}" for name, value in options.items() if value is not None]


def compile(program: Any, *, spec: str | os.PathLike | None = None, entry: str | None = None,
            threads: int | None = None, target_cpu: str | None = None) -> Function:
    """Compiles a program (see Program) to a function of numpy arrays.

    The function takes an array for each input of `entry` (needed if there are
    several; `function.inputs` has their types) and gives one array, or a tuple of
    as many as there are results. Inputs are not copied and may have any strides; their dtype must
    be that of the program (bf16 is uint16, its raw bits). The interpreter's lock
    is released while it runs, on `threads` threads (default: all cores).

    `spec` is the spec.mlir of a tuning: entries that do not apply are an error.
    """
    options = _flags(spec=spec, threads=threads, target_cpu=target_cpu)
    if spec is not None:
        options.append("--require-spec")
    with Program(program).file() as path, tempfile.TemporaryDirectory(prefix="attune-") as folder:
        library = os.path.join(folder, "program.so")
        _command.run("compile", path, *options, "-o", library)
        # Once loaded, the library needs no file.
        return Function(library, entry or "")
