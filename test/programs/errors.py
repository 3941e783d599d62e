# Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What people get wrong, and what machines do to them: each must end in one clear
line, a status that is not 0, no half-written file, and no process left behind.

errors.py --attune=PATH [--filter=RE] [--folder=DIR]
"""

import argparse
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time
import uuid

import numpy as np

from faults import fault, list_faults
from programs import Failed, check_clear_error, succeed
from suites import EXAMPLES, ROOT

SMALL = EXAMPLES / "two_entries.mlir"
MATMUL = EXAMPLES / "matmul.mlir"

TESTS = {}


def test(function):
    TESTS[function.__name__] = function
    return function


class Bench:
    """A command line, an empty folder, and a mark that every child inherits."""

    def __init__(self, attune, folder):
        self.attune, self.folder, self.mark = attune, folder, f"attune-{uuid.uuid4()}"
        self.environment = os.environ | {"ATTUNE_TEST_MARK": self.mark}

    def start(self, *arguments, **options):
        return subprocess.Popen([self.attune, *map(str, arguments)], stdin=options.pop("stdin", subprocess.DEVNULL),
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                cwd=options.pop("cwd", self.folder),
                                env=options.pop("env", self.environment), process_group=0, **options)

    def finish(self, process, seconds=120):
        try:
            out, err = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            raise Failed(f"it did not end in {seconds} seconds") from None
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def fails(self, message, *arguments, **options):
        """Runs, and checks that it fails clearly with `message` in its line."""
        done = self.finish(self.start(*arguments, **options))
        check_clear_error(done, message)
        return done

    def write(self, name, content):
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def children(self):
        """Living processes that carry the mark."""
        found = []
        for entry in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if self.mark.encode() in (entry / "environ").read_bytes() and \
                        (entry / "stat").read_text().rsplit(")", 1)[1].split()[0] != "Z":
                    found.append(int(entry.name))
        return found

    def nothing_left(self, seconds=5):
        end = time.monotonic() + seconds
        while self.children():
            if time.monotonic() > end:
                left = [pathlib.Path(f"/proc/{p}/cmdline").read_bytes().replace(b"\0", b" ")[:80]
                        for p in self.children()]
                raise Failed(f"processes are left behind: {left}")
            time.sleep(0.05)

    def files(self):
        return sorted(str(f.relative_to(self.folder)) for f in self.folder.rglob("*") if f.is_file())


# --- files --------------------------------------------------------------------

@test
def no_such_file(bench):
    bench.fails(r"nowhere\.mlir", "run", "nowhere.mlir", "--input=random")


@test
def a_folder_instead_of_a_file(bench):
    bench.fails(re.escape(str(bench.folder)), "run", bench.folder, "--input=random")


@test
def not_mlir(bench):
    bench.fails(r"prose\.mlir:1", "run", bench.write("prose.mlir", "Dear compiler,\n"), "--input=random")


@test
def an_empty_file(bench):
    bench.fails(r"empty\.mlir", "run", bench.write("empty.mlir", ""), "--input=random")


@test
def not_a_library(bench):
    bench.fails(r"text\.so", "run", bench.write("text.so", "no ELF\n"), "--input=random")


@test
def a_spec_that_is_none(bench):
    spec = bench.write("spec.mlir", "module { this is no spec }\n")
    bench.fails(r"spec\.mlir", "compile", SMALL, f"--spec={spec}", "-o", "out.so")
    if (bench.folder / "out.so").exists():
        raise Failed("it failed, and left out.so")


# --- the command line ---------------------------------------------------------

@test
def unknown_flag(bench):
    bench.fails("nonsense", "run", SMALL, "--nonsense=3")


@test
def unknown_command(bench):
    bench.fails("frobnicate", "frobnicate", SMALL)


@test
def no_program(bench):
    bench.fails("(?i)model|program|file", "tune")


@test
def unknown_entry(bench):
    bench.fails("nope", "run", SMALL, "--entry=nope", "--input=random")


@test
def a_budget_that_is_none(bench):
    bench.fails("soon", "tune", SMALL, "--budget=soon", "-o", "out")


@test
def zero_threads(bench):
    bench.fails("threads", "compile", SMALL, "--threads=0", "-o", "out.so")


# --- inputs -------------------------------------------------------------------

ENCODE = ("run", SMALL, "--entry=encode")


@test
def wrong_shape(bench):
    bench.fails("128x64", *ENCODE, "--input=3x3xf32")


@test
def wrong_type(bench):
    bench.fails("f64", *ENCODE, "--input=128x64xf64")


@test
def too_many_inputs(bench):
    bench.fails("(?i)input", *ENCODE, "--input=128x64xf32", "--input=128x64xf32")


@test
def not_an_input(bench):
    bench.fails("banana", *ENCODE, "--input=banana")


@test
def input_file_missing(bench):
    bench.fails(r"x0\.npy", *ENCODE, "--input=@x0.npy")


@test
def input_file_cut_short(bench):
    np.save(bench.folder / "x0.npy", np.zeros((128, 64), np.float32))
    whole = (bench.folder / "x0.npy").read_bytes()
    bench.write("x0.npy", whole[:5000])
    bench.fails(r"x0\.npy", *ENCODE, "--input=@x0.npy")


@test
def input_file_of_another_kind(bench):
    bench.write("x0.npy", "these are no numbers")
    bench.fails(r"x0\.npy", *ENCODE, "--input=@x0.npy")


@test
def dynamic_size_not_given(bench):
    bench.fails(r"--input=\?x784xf32:", "tune", EXAMPLES / "dynamic_mlp.mlir", "--budget=5s", "-o", "out")


@test
def result_unlike_the_reference(bench):
    """No error of the command line: the comparison is its result, on standard output."""
    np.save(bench.folder / "ref.npy", np.full((128, 16), 7, np.float32))
    done = bench.finish(bench.start(*ENCODE, "--input=128x64xf32=1.0", "--check=@ref.npy"))
    if done.returncode != 1 or not re.search(r"differs.*ref\.npy", done.stdout):
        raise Failed(f"status {done.returncode}, output {done.stdout!r}, {done.stderr!r}")


# --- writing ------------------------------------------------------------------

@test
def output_folder_missing(bench):
    bench.fails(r"no/such", "compile", SMALL, "-o", "no/such/out.so")


@test
def output_below_a_file(bench):
    bench.write("file", "")
    bench.fails(r"file/out", "compile", SMALL, "-o", "file/out.so")
    bench.fails(r"file/out", "tune", SMALL, "--budget=5s", "-o", "file/out")
    bench.fails(r"file/y0\.npy", *ENCODE, "--input=random", "--output=@file/y0.npy")


@contextlib.contextmanager
def mounted(bench, options):
    place = bench.folder / "mounted"
    place.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", place], capture_output=True, text=True)
    if done.returncode:
        raise NotImplementedError("this machine does not let us mount a file system")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", place], check=True)


@fault("Disk", "read-only file system", "results go to a tmpfs mounted read-only",
       "error", "...: Read-only file system")
@test
def no_permission_to_write(bench):
    with mounted(bench, "ro") as place:
        bench.fails(r"mounted/out\.so.*(?i:read-only)", "compile", SMALL, "-o", place / "out.so")
        bench.fails(r"mounted/out", "tune", SMALL, "--budget=5s", "-o", place / "out")
        bench.fails(r"mounted/y0\.npy.*(?i:read-only)", *ENCODE, "--input=random", f"--output=@{place / 'y0.npy'}")


@fault("Disk", "full disk", "results go to a file system of 8 KiB",
       "error", "...: No space left on device")
@test
def disk_full(bench):
    with mounted(bench, "size=8k") as place:
        for arguments in (("compile", SMALL, "-o", place / "out.so"),
                          (*ENCODE, "--input=random", f"--output=@{place / 'y0.npy'}"),
                          ("tune", SMALL, "--budget=5s", "-o", place / "out")):
            bench.fails(r"(?i)no space|disk is full", *arguments)
            results = [f.name for f in place.rglob("*") if f.suffix in (".so", ".npy", ".json", ".html", ".mlir")]
            # What a session needs to go on when there is room again is written first, and is whole.
            for name in {"machine.json", "session.json"} & set(results):
                json.loads((place / "out" / name).read_text())
                results.remove(name)
            if results:
                raise Failed(f"attune {arguments[0]} left {results} on the full disk")


# --- tools, signals -----------------------------------------------------------

@fault("Command line", "attune-runner is missing", "the main program alone is copied elsewhere",
       "error", "...not found...")
@test
def runner_missing(bench):
    """Only the main program was copied to another machine."""
    alone = bench.folder / "attune"
    shutil.copy2(bench.attune, alone)
    process = subprocess.Popen([alone, *map(str, ENCODE), "--input=random"], stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env=bench.environment | {"PATH": "/nowhere"})
    check_clear_error(bench.finish(process), "attune-runner|schedules|runtime|lld|not found|No such file")


def start_tuning(bench):
    """A tuner that has begun to compile or run candidates."""
    process = bench.start("tune", MATMUL, "--budget=10m", "--threads=1", "-o", "out")
    end = time.monotonic() + 60
    while len(bench.children()) < 2:
        if process.poll() is not None:
            raise Failed(f"tuning ended early: {process.communicate()[1][-300:]}")
        if time.monotonic() > end:
            os.killpg(process.pid, signal.SIGKILL)
            raise Failed("no worker was started in a minute")
        time.sleep(0.05)
    return process


def nothing_half_written(bench):
    left = [f for f in bench.files() if re.search(r"\.(tmp|part)|~$", f)]
    if left:
        raise Failed(f"half-written files: {left}")


@fault("Session", "Ctrl-C once", "SIGINT while candidates are measured",
       "error", "...interrupted...")
@test
def interrupted_while_tuning(bench):
    process = start_tuning(bench)
    time.sleep(5)
    os.killpg(process.pid, signal.SIGINT)
    done = bench.finish(process, 15)
    if done.returncode not in (130, 1):
        raise Failed(f"status {done.returncode}, expected 130: {done.stderr[-300:]}")
    if not re.search(r"(?i)interrupt", done.stderr) or "Stack dump" in done.stderr:
        raise Failed(f"it does not say that it was interrupted: {done.stderr[-300:]!r}")
    bench.nothing_left()
    nothing_half_written(bench)


@test
def terminated_while_tuning(bench):
    process = start_tuning(bench)
    process.terminate()
    if bench.finish(process, 15).returncode == 0:
        raise Failed("status 0")
    bench.nothing_left()
    nothing_half_written(bench)


@fault("Session", "the tuner is killed", "kill -9 while candidates are measured, then the same command",
       "goes on", "nothing; the trials so far are used again")
@test
def killed_while_tuning(bench):
    """Nothing outlives a tuner that could not say goodbye, and the same command goes on."""
    process = start_tuning(bench)
    time.sleep(8)
    process.kill()
    process.communicate()
    bench.nothing_left()
    succeed(bench.attune, "tune", MATMUL, "--budget=5s", "--threads=1", "-o", bench.folder / "out")


@test
def interrupted_while_compiling(bench):
    process = bench.start("compile", EXAMPLES / "text_direction.mlir", "-o", "out.so")
    time.sleep(0.5)
    os.killpg(process.pid, signal.SIGINT)
    done = bench.finish(process, 15)
    if done.returncode == 0:
        return  # it was quicker than we
    if "Stack dump" in done.stderr:
        raise Failed("a stack trace")
    bench.nothing_left()
    if bench.files():
        raise Failed(f"files are left: {bench.files()}")


def run_tests(tests, description):
    """The main function of a driver: those of `tests` that --filter names, each with a bench of its own."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    if "--list-faults" in sys.argv:
        return list_faults()
    parser.add_argument("--attune", type=pathlib.Path, required=True)
    parser.add_argument("--filter", default="")
    parser.add_argument("--folder", type=pathlib.Path, default=ROOT / "build" / "programs" / "errors")
    options = parser.parse_args()
    failures = count = 0
    for name, function in tests.items():
        if not re.search(options.filter, name):
            continue
        folder = options.folder / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        count += 1
        bench = Bench(options.attune.resolve(), folder.resolve())
        word, why, start = "ok  ", "", time.monotonic()
        try:
            function(bench)
            bench.nothing_left()
        except Failed as error:
            word, why, failures = "FAIL", f": {error}", failures + 1
        except NotImplementedError as error:
            word, why = "skip", f": {error}"
        finally:
            for pid in bench.children():
                os.kill(pid, signal.SIGKILL)
        print(f"{word} {name} ({time.monotonic() - start:.1f} s){why}", flush=True)
    print(f"{count - failures} of {count} failures are handled")
    return 1 if failures or not count else 0


if __name__ == "__main__":
    sys.exit(run_tests(TESTS, __doc__))
