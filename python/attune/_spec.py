# Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Specs: which configuration goes to which dispatches of a program."""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import tempfile
from typing import Any, Iterable

from . import _command, _native  # noqa: F401 (first: it says what is missing)
from ._program import Program, _flags

from _attune_harness import Spec as _Spec  # isort: skip
from _attune_harness import SpecEntry  # isort: skip


@dataclasses.dataclass(frozen=True)
class Check:
    """What one entry does in a program."""

    entry: SpecEntry
    applied: bool  # to every dispatch of its fingerprint, and in the code
    dispatches: tuple[str, ...]
    reason: str  # why it did not apply; empty if it did


class Spec:
    """A spec (docs/commands/spec.md): entries, made from what a tuning found
    (`Spec.read(tuned.spec)`), by hand, or merged from others. A value: nothing changes it."""

    def __init__(self, entries: Iterable[SpecEntry] = (), *, threads: int = 0, target_cpu: str = "host"):
        """`threads`: those of the measurements; 0: not stated."""
        self._spec = _Spec.build(list(entries), threads, target_cpu)

    @classmethod
    def _of(cls, spec: _Spec) -> Spec:
        made = cls.__new__(cls)
        made._spec = spec
        return made

    @classmethod
    def read(cls, path: str | os.PathLike) -> Spec:
        try:
            text = pathlib.Path(path).read_text()
        except OSError as error:
            raise _command.Error(f"{os.fspath(path)}: {error.strerror}") from None
        return cls._of(_Spec.parse(text, os.fspath(path)))

    @classmethod
    def parse(cls, text: str) -> Spec:
        return cls._of(_Spec.parse(text))

    @classmethod
    def merge(cls, *specs: Spec) -> Spec:
        """All entries of all specs. Of two for one dispatch the one that gained
        more stays; two that cannot be compared are an error that shows both."""
        return cls._of(_Spec.merge([spec._spec for spec in specs])[0])

    @property
    def entries(self) -> list[SpecEntry]:
        return self._spec.entries

    @property
    def threads(self) -> int:
        return self._spec.threads

    @property
    def target_cpu(self) -> str | None:
        """LLVM's name of the CPU that it was measured on."""
        return self._spec.target_cpu

    def write(self, path: str | os.PathLike) -> None:
        self._spec.write(os.fspath(path))

    def check(self, program: Any, *, entry: str | None = None, threads: int | None = None) -> list[Check]:
        """Compiles the program with the spec, and says for each entry on which
        dispatches it is."""
        with Program(program).file() as path, tempfile.TemporaryDirectory(prefix="attune-") as folder:
            spec = os.path.join(folder, "spec.mlir")
            self.write(spec)
            printed = _command.run("spec", "check", spec, path, "--json", *_flags(entry=entry, threads=threads),
                                   accept=lambda status, out: bool(out))
        return [Check(known, not row["reason"] and bool(row["dispatches"]), tuple(row["dispatches"]), row["reason"])
                for known, row in zip(self.entries, json.loads(printed)["entries"], strict=True)]

    def __str__(self) -> str:
        """The text of spec.mlir."""
        return str(self._spec)

    def __repr__(self) -> str:
        return f"<Spec: {len(self.entries)} entries>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Spec) and str(self) == str(other)

    __hash__ = None  # type: ignore[assignment]
