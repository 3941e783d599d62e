# Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tunes while workers and the tuner itself are killed, processes are paused and the disk is filled; the same
command is given again each time. At the end nothing may be missing, damaged or left behind.

The disk is a small file system of its own, which is really full, where the kernel lets us mount one (root, or
somebody with a user namespace); elsewhere a preloaded library (shim.c) says so of writes below the results.

chaos.py --attune=PATH [--seconds=60] [--seed=N] [--kill-every=SECONDS] [--folder=DIR] [--disk=auto|mounted|shim]
"""

import argparse
import collections
import contextlib
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import time

from errors import Bench
from programs import Failed
from suites import ROOT

MODEL = pathlib.Path(__file__).parent / "chaos.mlir"
# What the tuner may say when it ends by itself. Anything else is a failure.
TWICE = "killed from outside, twice"
AT_THE_START = "cannot be used as a worker: SIGKILL"  # Thrice.
DISK_BYTES = 64 << 20
DISK = r"(?i)no space left|disk is full|no room to write|database or disk is full|cannot make a temporary folder"


class Storm:
    """One run of the driver: the command, its processes, and what is done to them."""

    def __init__(self, options, folder):
        self.options, self.random = options, random.Random(options.seed)
        self.bench = Bench(options.attune.resolve(), folder)
        self.disk, self.events, self.full = folder / "disk", folder / "events.jsonl", folder / "full"
        self.disk.mkdir()
        self.isMounted = options.disk == "mounted"
        if self.isMounted:
            subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "attune-chaos", self.disk], check=True)
        self.out, self.temporary = self.disk / "out", self.disk / "tmp"
        self.temporary.mkdir()
        self.killed = 0  # Workers, since the tuner was started.
        self.tuner, self.log = None, open(folder / "stderr.txt", "w+")
        self.counts = collections.Counter()
        self.environment = self.bench.environment | {"TMPDIR": str(self.temporary)}
        if not self.isMounted:
            self.environment |= self.pretended_disk(folder)

    def pretended_disk(self, folder):
        """Writes below the folder of results fail while the file `full` is there."""
        shim = folder / "shim.so"
        subprocess.run([shutil.which("clang-22") or "cc", "-shared", "-fPIC", "-O1", "-w", "-o", shim,
                        pathlib.Path(__file__).parent / "shim.c", "-ldl"], check=True)
        return {"LD_PRELOAD": str(shim), "ATTUNE_SHIM_FAULT": "ENOSPC", "ATTUNE_SHIM_PATH": str(self.out),
                "ATTUNE_SHIM_WHILE": str(self.full)}

    def pretend_to_be_fast(self):
        """A machine on which no dispatch seems to be good enough already."""
        self.attune("tune", MODEL, "--threads=1", "--budget=1", "-o", self.out)
        machine = json.loads((self.out / "machine.json").read_text())
        machine["operationsPerSecond"] = 1e15
        for level in machine["levels"]:
            level["bytesPerSecond"] = 1e15
        shutil.rmtree(self.out)
        self.out.mkdir()
        (self.out / "machine.json").write_text(json.dumps(machine))

    def start(self):
        self.killed = 0
        self.mark = self.log.seek(0, os.SEEK_END)
        command = [self.bench.attune, "tune", MODEL, "--threads=1", "--budget=1h", "--seed=3", "--search=random",
                   f"--events={self.events}", "-o", self.out]
        self.tuner = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self.log,
                                      env=self.environment, cwd=self.bench.folder, process_group=0)
        self.counts["starts"] += 1

    def said(self):
        self.log.flush()
        self.log.seek(self.mark)
        return self.log.read()

    def ended(self):
        """The tuner ended by itself: was it allowed to?"""
        status, said = self.tuner.returncode, self.said()
        last = said.strip().split("\n")[-1] if said.strip() else ""
        if status == 0:
            self.counts["finished"] += 1
        elif status == -signal.SIGKILL:
            self.counts["killed"] += 1
        elif status == 1 and last.startswith("error: ") and re.search(DISK, said):
            self.counts["stopped by the full disk"] += 1
        elif status == 1 and last.startswith("error: ") and TWICE in last and self.killed > 1:
            self.counts["stopped by two kills of one job"] += 1
        elif status == 1 and last.startswith("error: ") and AT_THE_START in last and self.killed > 2:
            self.counts["stopped by three kills of a worker that started"] += 1
        else:
            raise Failed(f"the tuner ended with status {status} and said: {said[-600:]}")

    # --- what is done to it ---------------------------------------------------

    def workers(self):
        """Attune's own: compile workers, runners, keepers. A killed linker is a test of Codegen's."""
        found = []
        for pid in self.bench.children():
            with contextlib.suppress(OSError):
                if pid != self.tuner.pid and os.readlink(f"/proc/{pid}/exe").startswith(str(self.bench.attune.parent)):
                    found.append(pid)
        return found

    def send(self, pid, number):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)

    def kill_worker(self):
        if workers := self.workers():
            self.send(self.random.choice(workers), signal.SIGKILL)
            self.counts["workers killed"] += 1
            self.killed += 1

    def kill_tuner(self):
        self.send(self.tuner.pid, signal.SIGKILL)
        self.tuner.wait()

    def pause(self):
        pid = self.random.choice([self.tuner.pid, *self.workers()])
        self.send(pid, signal.SIGSTOP)
        time.sleep(self.random.uniform(0.05, 1))
        self.send(pid, signal.SIGCONT)
        self.counts["pauses"] += 1

    def fill_disk(self):
        ballast = self.disk / "ballast" if self.isMounted else self.full
        with open(ballast, "wb", buffering=0) as file, contextlib.suppress(OSError):
            while self.isMounted:
                if not file.write(bytes(4096)):
                    break
        time.sleep(self.random.uniform(0.1, 1))
        ballast.unlink()
        self.counts["full disks"] += 1

    def rage(self):
        end = time.monotonic() + self.options.seconds
        next_kill = time.monotonic() + self.random.expovariate(1 / self.options.kill_every)
        self.start()
        while time.monotonic() < end:
            time.sleep(self.random.uniform(0.2, 2))
            if self.tuner.poll() is None and time.monotonic() > next_kill:
                self.kill_tuner()
                next_kill = time.monotonic() + self.random.expovariate(1 / self.options.kill_every)
            elif self.tuner.poll() is None:
                self.random.choices([self.kill_worker, self.pause, self.fill_disk], [3, 3, 1])[0]()
            if self.tuner.poll() is not None:
                self.ended()
                self.start()

    def calm(self):
        """Until trials come again, then Ctrl-C: the last run ends as a person would end it. What the storm did to a
        run may end it a little later."""
        before = len(self.reported())
        end = time.monotonic() + 120
        while len(self.reported()) < before + 2 and time.monotonic() < end:
            time.sleep(0.2)
            if self.tuner.poll() is not None:
                self.ended()
                self.start()
        if self.tuner.poll() is None:
            self.tuner.send_signal(signal.SIGINT)
        try:
            self.tuner.wait(180)
        except subprocess.TimeoutExpired:
            self.tuner.kill()
            raise Failed("after Ctrl-C it did not end in three minutes") from None
        if self.tuner.returncode not in (0, 1) or (self.tuner.returncode and "error: interrupted" not in self.said()):
            raise Failed(f"the last run ended with {self.tuner.returncode}: {self.said()[-600:]}")

    # --- what must be true afterwards -----------------------------------------

    def reported(self):
        """Trials that the tuner said were on disk. A line may be cut by the kill."""
        trials = {}
        for line in self.events.read_text().splitlines() if self.events.exists() else []:
            with contextlib.suppress(json.JSONDecodeError):
                event = json.loads(line)
                if event.get("event") == "trial" and event["stored"]:
                    trials[event["session"], event["number"]] = (event["outcome"], event["configuration"]["values"])
        return trials

    def attune(self, *arguments):
        done = self.bench.finish(self.bench.start(*arguments))
        if done.returncode:
            raise Failed(f"attune {' '.join(map(str, arguments))}: {done.stderr[-300:]}")
        return done

    def check(self):
        self.attune("db", "check", self.out / "trials.db")
        stored = {}
        for line in self.attune("db", "export", self.out / "trials.db").stdout.splitlines():
            row = json.loads(line)
            if row["kind"] == "trial":
                trial = row["trial"]
                stored[row["session"], row["number"]] = (trial["outcome"], trial["configuration"]["values"])
        reported = self.reported()
        missing = [key for key, value in reported.items() if stored.get(key) != value]
        if missing:
            raise Failed(f"{len(missing)} of {len(reported)} reported trials are missing, the first: {missing[0]}")
        if not reported:
            raise Failed("nothing was ever reported: the storm shows nothing")
        self.counts["trials"] = len(stored)
        self.bench.nothing_left()
        if left := [f.name for f in self.temporary.iterdir()]:
            raise Failed(f"temporary files are left: {left}")
        if left := [f for f in self.bench.files() if re.search(r"\.tmp", f)]:
            raise Failed(f"half-written files are left: {left}")
        self.attune("compile", MODEL, "--threads=1", f"--spec={self.out / 'spec.mlir'}", "-o", "tuned.so")


def may_mount(folder):
    """How to start a program whose mounts are its own and end with it; nothing where the kernel permits none."""
    for how in (["unshare", "--mount"], ["unshare", "--mount", "--user", "--map-root-user"]):
        with contextlib.suppress(FileNotFoundError):
            if subprocess.run([*how, "mount", "-t", "tmpfs", "-o", "size=4096", "attune-chaos", folder],
                              stderr=subprocess.DEVNULL).returncode == 0:
                return how
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attune", type=pathlib.Path, required=True)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--kill-every", type=float, default=12, help="the tuner, on average")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--folder", type=pathlib.Path, default=ROOT / "build" / "programs" / "chaos")
    parser.add_argument("--disk", choices=["auto", "mounted", "shim"], default="auto")
    options = parser.parse_args()
    if options.disk == "auto":
        how = may_mount(pathlib.Path(__file__).parent)
        again = [*(how or []), sys.executable, *sys.argv, f"--disk={'mounted' if how else 'shim'}"]
        os.execvp(again[0], again)
    shutil.rmtree(options.folder, ignore_errors=True)
    options.folder.mkdir(parents=True)
    storm = Storm(options, options.folder.resolve())
    print(f"seed {options.seed}, a disk that is {options.disk}", flush=True)
    try:
        storm.pretend_to_be_fast()
        storm.rage()
        storm.calm()
        storm.check()
    except Failed as error:
        print(f"FAIL: {error}")
        if storm.isMounted:  # It goes with us.
            shutil.copytree(storm.disk, options.folder / "kept")
        return 1
    finally:
        for pid in storm.bench.children():
            os.kill(pid, signal.SIGKILL)
        print(", ".join(f"{count} {what}" for what, count in storm.counts.items()))
    print("ok: the database is sound, no trial is missing, nothing is left, the spec applies")
    return 0


if __name__ == "__main__":
    sys.exit(main())
