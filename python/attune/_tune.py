# Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tuning, in a process of its own that this one watches."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import weakref
from typing import Any, Callable, Iterable

from . import _command
from ._native import Function
from ._program import Program, _flags, compile


class Tuned:
    """What a tuning found. `summary` is summary.json (docs/formats.md); times are
    in seconds."""

    def __init__(self, program: Program, summary: dict[str, Any], folder: pathlib.Path, options: dict[str, Any]):
        self.summary, self.folder = summary, folder
        self._program, self._options = program, options

    @property
    def speedup(self) -> float:
        """Of the whole program: untuned over tuned time."""
        return self.summary["program"]["speedup"]

    @property
    def spec(self) -> pathlib.Path:
        """spec.mlir; spec.json of a program that is commands."""
        path = self.folder / "spec.mlir"
        return path if path.exists() else self.folder / "spec.json"

    def compile(self) -> Function:
        """The tuned program as a function."""
        return compile(self._program, spec=self.spec, **self._options)

    def __repr__(self) -> str:
        return f"<Tuned: {self.speedup:.2f}x, {self.folder}>"


def _inputs_as_flags(inputs: Any, folder: str) -> list[str]:
    """Arrays become files; texts are those of the command line: 4x16xf32."""
    if inputs is None:
        return []
    import numpy
    flags = []
    for number, value in enumerate([inputs] if isinstance(inputs, (str, numpy.ndarray)) else inputs):
        if isinstance(value, str):
            flags.append(f"--input={value}")
        else:
            path = os.path.join(folder, f"input{number}.npy")
            numpy.save(path, numpy.asarray(value))
            flags.append(f"--input=@{path}")
    return flags


class _Events:
    """New lines of a file that another process appends to."""

    def __init__(self, path: str):
        self.path, self.position, self.rest = path, 0, ""

    def take(self) -> Iterable[dict[str, Any]]:
        try:
            with open(self.path) as file:
                file.seek(self.position)
                text = file.read()
                self.position = file.tell()
        except FileNotFoundError:
            return
        *lines, self.rest = (self.rest + text).split("\n")
        yield from (json.loads(line) for line in lines if line)


def _watch(process: subprocess.Popen, events: _Events, on_trial: Callable[[dict], None] | None) -> tuple[str, str]:
    """Waits for the end. Ctrl-C is passed on, so that the tuner writes what it
    has, and then raised here; a second one ends it at once."""
    interrupted = False
    while True:
        try:
            try:
                return process.communicate(timeout=0.1)
            except subprocess.TimeoutExpired:
                pass
            if on_trial:
                for event in events.take():
                    if event["event"] == "trial":
                        on_trial(event)
        except KeyboardInterrupt:
            if interrupted:
                process.kill()
            interrupted = True
            process.send_signal(signal.SIGINT)
        except BaseException:  # of on_trial
            process.kill()
            process.communicate()
            raise
        finally:
            if interrupted and process.poll() is not None:
                raise KeyboardInterrupt


def tune(program: Any, inputs: Any = None, *, budget: str | int = "10m", search: str = "auto", seed: int = 0,
         entry: str | None = None, threads: int | None = None, output: str | os.PathLike | None = None,
         on_trial: Callable[[dict], None] | None = None) -> Tuned:
    """Makes a program (see Program, or a FILE.json of commands) faster on this machine.

    `inputs`: an array or a text (`4x16xf32`, `?x784xf32:1,8`) for each input; not needed where
    shapes are static. `budget`: time (`90s`, `10m`) or a number of trials. `output`: the folder of results, in which
    the same call goes on after an interruption; without it they live as long as the
    returned object. `on_trial` is called with each trial (docs/formats.md, events) in this thread; what it raises ends the tuning.
    """
    loaded = Program(program)
    folder = os.fspath(output) if output else tempfile.mkdtemp(prefix="attune-")
    try:
        tuned = _run_tuner(loaded, inputs, folder, on_trial,
                           [f"--budget={budget}", f"--search={search}", f"--seed={seed}"],
                           {"entry": entry, "threads": threads})
    except BaseException:
        if not output:
            shutil.rmtree(folder, ignore_errors=True)
        raise
    if not output:
        weakref.finalize(tuned, shutil.rmtree, folder, True)
    return tuned


def _run_tuner(loaded: Program, inputs: Any, folder: str, on_trial: Callable[[dict], None] | None,
               flags: list[str], options: dict[str, Any]) -> Tuned:
    with loaded.file() as path, tempfile.TemporaryDirectory(prefix="attune-") as scratch:
        events = os.path.join(scratch, "events")
        command = [_command.find_attune(), "tune", path, "--json", f"--output={folder}", *flags, *_flags(**options),
                   *_inputs_as_flags(inputs, scratch)]
        if on_trial:
            command.append(f"--events={events}")
        # A session of its own: a terminal's Ctrl-C comes to us alone.
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, start_new_session=True)
        seen = _Events(events)
        printed, said = _watch(process, seen, on_trial)
        if on_trial:
            for event in seen.take():
                if event["event"] == "trial":
                    on_trial(event)
        if process.returncode:
            raise _command.error_of(said, process.returncode)
    return Tuned(loaded, json.loads(printed), pathlib.Path(folder), options)
