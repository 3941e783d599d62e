# Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The program `attune`, and its errors as exceptions."""

import os
import pathlib
import re
import shutil
import subprocess
from typing import Callable

import _attune
from _attune import Error


def find_attune() -> str:
    """$ATTUNE, or beside the package (of a wheel, as installed, as built), or in PATH."""
    given = os.environ.get("ATTUNE")
    if given:
        return given
    compiled = pathlib.Path(_attune.__file__).resolve().parent
    for place in (compiled / "attune" / "bin" / "attune", compiled.parents[2] / "bin" / "attune",
                  compiled.parent / "tools" / "attune" / "attune"):
        if place.is_file():
            return str(place)
    found = shutil.which("attune")
    if found:
        return found
    raise Error("the program 'attune' is not in PATH; install Attune, or set ATTUNE to its path")


def error_of(stderr: str, status: int) -> Error:
    """The line that the command line prints, without its `error: `."""
    missing = re.search(r"error while loading shared libraries: (\S+):", stderr)
    if missing:
        return Error(f"attune needs {missing[1]}, which belongs to the system: apt-get install libmlir-22 "
                     "libllvm22 (Debian and Ubuntu have them from https://apt.llvm.org)")
    lines = [line for line in stderr.splitlines() if line.startswith("error: ")]
    if lines:
        return Error(lines[-1].removeprefix("error: "))
    last = stderr.strip().splitlines()[-1:] or [f"attune ended with status {status}"]
    return Error(last[0])


def run(*arguments: str | os.PathLike, accept: Callable[[int, str], bool] = lambda status, printed: False) -> str:
    """Runs `attune ARGUMENTS` and gives what it prints. A status that is not 0 is
    an error, unless `accept(status, printed)`."""
    try:
        done = subprocess.run([find_attune(), *map(os.fspath, arguments)], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True)
    except OSError as error:
        raise Error(f"cannot start attune: {error}") from None
    if done.returncode and not accept(done.returncode, done.stdout):
        raise error_of(done.stderr, done.returncode)
    return done.stdout


def main() -> None:
    """`attune` of a wheel: the program itself."""
    import sys
    try:
        os.execv(find_attune(), ["attune", *sys.argv[1:]])
    except (OSError, Error) as error:
        sys.exit(f"error: {error}")
