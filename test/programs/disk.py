# Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A session on a machine that fails: disks, clocks, signals, memory, tools (test/programs/shim.c answers for the
kernel). Each test is a row of docs/reliability.md.

disk.py --attune=PATH [--filter=RE] [--folder=DIR] [--list-faults]
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

from faults import ROWS, fault, list_faults
from suites import ROOT

if "--list-faults" not in sys.argv:
    from errors import Bench
    from programs import Failed

MODEL = pathlib.Path(__file__).parent / "chaos.mlir"
TESTS = []
MACHINE = {}


def test(function):
    TESTS.append(function)
    return function


class Session:
    """`attune tune` into `out`, on a machine on which every dispatch is worth tuning."""

    def __init__(self, bench, options):
        self.bench, self.options = bench, options
        self.out = bench.folder / "out"

    def prepare(self):
        self.out.mkdir(exist_ok=True)
        (self.out / "machine.json").write_text(json.dumps(MACHINE))

    def start(self, *arguments, budget="12", **shim):
        environment = self.bench.environment
        if shim:
            environment = environment | {"LD_PRELOAD": str(self.options.shim)} | \
                {f"ATTUNE_SHIM_{name.upper()}": str(value) for name, value in shim.items()}
        self.prepare()
        return self.bench.start("tune", MODEL, "--threads=1", f"--budget={budget}", "--search=random", "-o", self.out,
                                f"--events={self.bench.folder / 'events'}", *arguments, env=environment)

    def tune(self, *arguments, **shim):
        return self.bench.finish(self.start(*arguments, **shim))

    def sound(self):
        """The database passes its check; how many trials it has."""
        database = self.out / "trials.db"
        check = self.bench.finish(self.bench.start("db", "check", database))
        if check.returncode:
            raise Failed(f"db check: {check.stdout[-300:]}{check.stderr[-300:]}")
        return json.loads(self.bench.finish(self.bench.start("db", "show", database, "--json")).stdout)["trials"]

    def reported(self):
        path = self.bench.folder / "events"
        lines = path.read_text().splitlines() if path.exists() else []
        return sum('"event":"trial"' in line and '"stored":true' in line for line in lines)

    def wait_for_trials(self, process, count):
        end = time.monotonic() + 90
        while self.reported() < count:
            if process.poll() is not None or time.monotonic() > end:
                process.kill()
                raise Failed(f"no {count} trials came: {process.communicate()[1][-300:]}")
            time.sleep(0.05)

    def goes_on(self):
        """Without the fault the same command ends well, and nothing was lost."""
        before = self.sound()
        if before < self.reported():
            raise Failed(f"{self.reported()} trials were reported, {before} are there")
        done = self.tune()
        if done.returncode:
            raise Failed(f"afterwards: {done.stderr[-300:]}")
        self.sound()


def seen(row, text):
    """The row's line is what the text has."""
    pattern = ".*".join(re.escape(part) for part in row["seen"].split("..."))
    if not re.search(pattern, text):
        raise Failed(f"expected {row['seen']!r}, it said {text[-400:]!r}")


def ends_with_error(row, done):
    last = done.stderr.strip().split("\n")[-1]
    if done.returncode == 0 or not last.startswith("error: "):
        raise Failed(f"status {done.returncode}: {done.stderr[-400:]}")
    if done.stderr.count("\nerror: ") + done.stderr.startswith("error: ") != 1 or "Stack dump" in done.stderr:
        raise Failed(f"not one line: {done.stderr[-600:]}")
    seen(row, last)


@test
@fault("Disk", "the disk is full (ENOSPC)", "writes to the database fail after 40", "error",
       "error: ...trials.db: ...what was recorded is kept")
def full_disk(session, row):
    ends_with_error(row, session.tune(fault="ENOSPC", path="trials.db", after=40))
    session.goes_on()


@test
@fault("Disk", "the disk fails (EIO)", "writes to the database fail after 40", "error",
       "error: ...trials.db: disk I/O error (Input/output error)")
def failing_disk(session, row):
    ends_with_error(row, session.tune(fault="EIO", path="trials.db", after=40))
    session.goes_on()


@test
@fault("Disk", "a read-only file system (EROFS)", "the database cannot be opened to write", "error",
       "error: ...trials.db: cannot be ...")
def read_only(session, row):
    session.tune(budget="4")
    before = session.sound()
    ends_with_error(row, session.tune(fault="EROFS", path="trials.db"))
    if session.sound() != before:
        raise Failed("trials are missing")


@test
@fault("Disk", "a full disk, with --keep-going", "writes to the database fail after 40", "goes on",
       "warning: ...going on in memory")
def keeps_going(session, row):
    done = session.tune("--keep-going", fault="ENOSPC", path="trials.db", after=40)
    seen(row, done.stderr)
    if done.returncode or not (session.out / "spec.mlir").exists():
        raise Failed(f"status {done.returncode}: {done.stderr[-300:]}")
    session.goes_on()


@test
@fault("Disk", "short writes", "every write to the folder of results writes half", "goes on", "outputs agree with ...")
def short_writes(session, row):
    done = session.tune(fault="short", path=session.out)
    seen(row, done.stdout)
    if done.returncode or session.sound() < session.reported() or not session.reported():
        raise Failed(f"status {done.returncode}: {done.stderr[-300:]}")
    json.loads((session.out / "summary.json").read_text())


@test
@fault("Disk", "a damaged database", "bytes in the middle of the file are overwritten", "error",
       "error: ...trials.db...damaged...")
def damaged(session, row):
    session.tune(budget="4")
    database = session.out / "trials.db"
    with open(database, "r+b") as file:
        file.write(b"Z" * 64)
    ends_with_error(row, session.tune())
    if database.read_bytes()[:64] != b"Z" * 64:
        raise Failed("the damaged file was written to")


@test
@fault("Results", "a bug in our own fusion, in a program of several dispatches",
       "what fusion made is changed as it is written: a sum subtracts", "error",
       "error: the untuned program: output ...: ... is ..., not ...")
def bug_in_fusion(session, row):
    """Before anything is tuned or announced: the reference has not been through fusion."""
    ends_with_error(row, session.tune(fault="subtract", path="dispatched.mlir"))
    if session.reported() or (session.out / "spec.mlir").exists():
        raise Failed("a winner was announced for a program that is wrong")
    done = session.tune(budget="4")
    if done.returncode:
        raise Failed(f"without the bug: {done.stderr[-300:]}")


@test
@fault("Session", "the clock jumps", "the date jumps years forth and back at every look", "goes on",
       "outputs agree with ...")
def clock_jumps(session, row):
    done = session.tune(fault="clock")
    seen(row, done.stdout)
    if done.returncode:
        raise Failed(f"status {done.returncode}: {done.stderr[-300:]}")
    session.goes_on()


@test
@fault("Session", "Ctrl-C once", "SIGINT while candidates are measured", "error",
       "error: interrupted; the same command goes on from here")
def interrupted_once(session, row):
    process = session.start(budget="200")
    session.wait_for_trials(process, 3)
    process.send_signal(signal.SIGINT)
    ends_with_error(row, session.bench.finish(process, 60))
    if not (session.out / "summary.json").exists() or session.sound() < session.reported():
        raise Failed("no results were written")


@test
@fault("Session", "Ctrl-C twice", "SIGINT twice while candidates are measured", "error",
       "error: interrupted, and stopped at once; every trial that was recorded is kept, and the same command goes on")
def interrupted_twice(session, row):
    process = session.start(budget="200")
    session.wait_for_trials(process, 3)
    process.send_signal(signal.SIGINT)
    time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    ends_with_error(row, session.bench.finish(process, 10))
    session.bench.nothing_left()
    session.goes_on()


@test
@fault("Session", "SIGTERM", "while candidates are measured", "error",
       "error: interrupted; the same command goes on from here")
def terminated(session, row):
    process = session.start(budget="200")
    session.wait_for_trials(process, 3)
    process.terminate()
    ends_with_error(row, session.bench.finish(process, 60))
    session.goes_on()


@test
@fault("Session", "SIGKILL", "while candidates are measured; then attune tune --resume", "goes on",
       "going on with an interrupted session: ... trials")
def killed(session, row):
    process = session.start()
    session.wait_for_trials(process, 3)
    process.kill()
    process.communicate()
    session.bench.nothing_left()
    before = session.sound()
    done = session.bench.finish(session.bench.start("tune", "--resume", session.out))
    seen(row, done.stderr)
    if done.returncode or not 12 <= session.sound() or before < 3:
        raise Failed(f"status {done.returncode}, {session.sound()} trials: {done.stderr[-300:]}")


@test
@fault("Session", "out of memory in the tuner itself", "malloc fails while candidates are measured", "error",
       "error: out of memory; what was recorded is kept")
def out_of_memory(session, row):
    trigger = session.bench.folder / "no-memory"
    process = session.start(budget="200", fault="memory", **{"while": trigger})
    session.wait_for_trials(process, 3)
    trigger.touch()
    ends_with_error(row, session.bench.finish(process, 60))
    session.bench.nothing_left()
    session.goes_on()


@test
@fault("Session", "an old attune-runner", "one that speaks another version of the protocol", "error",
       "error: ...cannot be used as a worker...")
def old_runner(session, row):
    home = session.bench.folder / "installed"
    source = session.options.attune.resolve()
    (home / "bin").mkdir(parents=True)
    shutil.copy2(source, home / "bin" / "attune")
    shutil.copy2(source.parent / "attune-keeper", home / "bin")
    runner = home / "bin" / "attune-runner"
    runner.write_text('#!/bin/sh\necho \'{"kind": "hello", "version": 0}\' >&4\nsleep 5\n')
    runner.chmod(0o755)
    share = source.parent.parent / "share"
    if not share.exists():
        raise NotImplementedError("only in an installed tree")
    for name in ("share", "lib"):
        (home / name).symlink_to(source.parent.parent / name)
    session.prepare()
    process = subprocess.Popen([home / "bin" / "attune", "tune", MODEL, "--threads=1", "--budget=4", "-o", session.out],
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env=session.bench.environment)
    ends_with_error(row, session.bench.finish(process))


def prepare(options):
    """The shim; and a machine so fast that no dispatch seems to be good enough already."""
    options.folder.mkdir(parents=True, exist_ok=True)
    options.shim = options.folder / "shim.so"
    subprocess.run([shutil.which("clang-22") or "cc", "-shared", "-fPIC", "-O1", "-w", "-o", options.shim,
                    pathlib.Path(__file__).parent / "shim.c", "-ldl"], check=True)
    bench = Bench(options.attune.resolve(), options.folder.resolve())
    done = bench.finish(bench.start("tune", MODEL, "--threads=1", "--budget=1", "-o", "probe"))
    if done.returncode:
        sys.exit(f"error: the probe failed: {done.stderr[-300:]}")
    MACHINE.update(json.loads((options.folder / "probe" / "machine.json").read_text()))
    MACHINE["operationsPerSecond"] = 1e15
    for level in MACHINE["levels"]:
        level["bytesPerSecond"] = 1e15


def main():
    if "--list-faults" in sys.argv:
        return list_faults()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attune", type=pathlib.Path, required=True)
    parser.add_argument("--filter", default="")
    parser.add_argument("--folder", type=pathlib.Path, default=ROOT / "build" / "programs" / "disk")
    options = parser.parse_args()
    shutil.rmtree(options.folder, ignore_errors=True)
    prepare(options)
    rows = {row["test"]: row for row in ROWS}
    failures = count = 0
    for function in TESTS:
        name = function.__name__
        if not re.search(options.filter, name):
            continue
        folder = options.folder / name
        folder.mkdir(parents=True)
        bench = Bench(options.attune.resolve(), folder.resolve())
        count += 1
        word, why, start = "ok  ", "", time.monotonic()
        try:
            function(Session(bench, options), rows[name])
            bench.nothing_left()
        except Failed as error:
            word, why, failures = "FAIL", f": {error}", failures + 1
        except NotImplementedError as error:
            word, why = "skip", f": {error}"
        finally:
            for pid in bench.children():
                os.kill(pid, signal.SIGKILL)
        print(f"{word} {name} ({time.monotonic() - start:.1f} s){why}", flush=True)
    print(f"{count - failures} of {count} faults are handled")
    return 1 if failures or not count else 0


if __name__ == "__main__":
    sys.exit(main())
