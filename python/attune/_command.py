# Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The program `attune`, and its errors as exceptions."""

import os
import pathlib
import shutil
import subprocess

import _attune


def find_attune() -> str:
    """$ATTUNE, or beside the package (as installed, as built), or in PATH."""
    given = os.environ.get("ATTUNE")
    if given:
        return given
    compiled = pathlib.Path(_attune.__file__).resolve().parent
    for place in (compiled / "attune" / "bin" / "attune", compiled.parent / "tools" / "attune" / "attune"):
        if place.is_file():
            return str(place)
    found = shutil.which("attune")
    if found:
        return found
    raise _attune.Error("the program 'attune' is not in PATH; install Attune, or set ATTUNE to its path")


def error_of(stderr: str, status: int) -> _attune.Error:
    """The line that the command line prints, without its `error: `."""
    lines = [line for line in stderr.splitlines() if line.startswith("error: ")]
    if lines:
        return _attune.Error(lines[-1].removeprefix("error: "))
    last = stderr.strip().splitlines()[-1:] or [f"attune ended with status {status}"]
    return _attune.Error(last[0])


def run(*arguments: str) -> str:
    """Runs `attune ARGUMENTS` and gives what it prints."""
    try:
        done = subprocess.run([find_attune(), *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    except OSError as error:
        raise _attune.Error(f"cannot start attune: {error}") from None
    if done.returncode:
        raise error_of(done.stderr, done.returncode)
    return done.stdout
