# Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs whole programs through the command line and compares what they give.

programs.py --attune=PATH SUITE...          cases, ops, examples, models
programs.py --references SUITE...           only that the references can be made, and agree
    --tune=5s      tune each program first, and run it with its spec
    --filter=RE    only the programs whose name matches
    --folder=DIR   where files go (default build/programs)
"""

import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import time

import numpy as np

from compare import difference, to_file
from suites import ROOT, SUITES, naive
from signature import read_entries


class Failed(Exception):
    """Why a program did not do what it should: one line."""


def invoke(attune, *arguments):
    try:
        return subprocess.run([attune, *map(str, arguments)], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=600)
    except subprocess.TimeoutExpired:
        raise Failed(f"attune {arguments[0]} did not end in 10 minutes") from None


def last_line(done):
    lines = done.stderr.strip().splitlines() or ["nothing on standard error"]
    return next((line for line in lines if line.startswith("error:")), lines[-1])


def succeed(attune, *arguments):
    done = invoke(attune, *arguments)
    if done.returncode:
        raise Failed(f"attune {arguments[0]} ended with {done.returncode}: {last_line(done)}")
    return done


def check_clear_error(done, message):
    """Status not 0, not a signal, and one line for a person."""
    if done.returncode == 0:
        raise Failed("it should have failed, and ended with 0")
    if done.returncode < 0 or done.returncode >= 126:
        raise Failed(f"it died: {done.returncode}: {last_line(done)}")
    for trace in ("Stack dump", "PLEASE submit", "terminate called", "AddressSanitizer"):
        if trace in done.stderr:
            raise Failed(f"'{trace}' in its message")
    errors = [line for line in done.stderr.splitlines() if line.startswith("error:")]
    if len(errors) != 1:
        raise Failed(f"{len(errors)} lines start with 'error:', expected one: {done.stderr[:300]!r}")
    if not re.search(message, errors[0]):
        raise Failed(f"the message has nothing like '{message}': {errors[0]}")


def compile_tuned(options, program, folder, inputs):
    """The library that `attune compile` makes with the spec of a short tuning."""
    tuned, library = folder / "tuned", folder / "tuned.so"
    entry = f"--entry={program.entry}"
    succeed(options.attune, "tune", program.model, entry, *inputs, f"--budget={options.tune}", "-o", tuned)
    succeed(options.attune, "compile", program.model, f"--spec={tuned / 'spec.mlir'}", "-o", library)
    return library


def run(options, program):
    folder = options.folder / "run" / program.name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for i, x in enumerate(program.inputs):
        np.save(folder / f"x{i}.npy", to_file(x))
    inputs = [f"--input=@{folder / f'x{i}.npy'}" for i in range(len(program.inputs))]
    entry = next(e for e in read_entries(program.model.read_text()) if e.name == program.entry)
    outputs = [f"--output=@{folder / f'y{i}.npy'}" for i in range(len(entry.outputs))]
    model = program.model
    if program.expected is None:
        check_clear_error(invoke(options.attune, "run", model, *inputs, *outputs), program.message)
        if list(folder.glob("y*")):
            raise Failed("it failed, and left a result file")
        return
    if options.tune:
        model = compile_tuned(options, program, folder, inputs)
    succeed(options.attune, "run", "--checked", model, f"--entry={program.entry}", *inputs, *outputs)
    for i, want in enumerate(program.expected()):
        why = difference(np.load(folder / f"y{i}.npy"), want, program.tolerance)
        if why:
            raise Failed(f"result {i}: {why}")


def check_reference(options, program):
    """What this suite expects is also what upstream's naive lowering gives."""
    if program.expected is None or not program.is_naive:
        return
    if program.model.parent.name == "filled":  # it has no other reference
        program.expected()
        return
    entry = next(e for e in read_entries(program.model.read_text()) if e.name == program.entry)
    for i, (got, want) in enumerate(zip(naive(program.model, entry, program.inputs, options.folder),
                                        program.expected())):
        why = difference(got, want, program.tolerance)
        if why:
            raise Failed(f"result {i}: {why}")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suites", nargs="+", choices=SUITES)
    parser.add_argument("--attune", type=pathlib.Path)
    parser.add_argument("--references", action="store_true")
    parser.add_argument("--tune", default="")
    parser.add_argument("--filter", default="")
    parser.add_argument("--folder", type=pathlib.Path, default=ROOT / "build" / "programs")
    options = parser.parse_args()
    if not options.references and not options.attune:
        parser.error("--attune=PATH is needed")
    return options


def main():
    options = parse_arguments()
    check = check_reference if options.references else run
    failures = count = 0
    for suite in options.suites:
        for program in SUITES[suite](options.folder / suite):
            if not re.search(options.filter, program.name):
                continue
            count += 1
            start, why = time.monotonic(), ""
            try:
                check(options, program)
            except (Failed, RuntimeError, OSError, ValueError) as error:
                why = str(error)
                failures += 1
            print(f"{'FAIL' if why else 'ok  '} {suite}/{program.name} ({time.monotonic() - start:.1f} s)"
                  + (f": {why}" if why else ""), flush=True)
    print(f"{count - failures} of {count} programs are right")
    return 1 if failures or not count else 0


if __name__ == "__main__":
    sys.exit(main())
