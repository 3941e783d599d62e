# Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The programs that are compared, each in a process of its own.

A peer sleeps (SIGSTOP) unless it is its turn, so that its idle threads cannot
take time from the one that is measured.
"""

import os
import pathlib
import signal
import subprocess
import sys

import numpy

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCES = ROOT / "bench" / "drivers"
BUILT = ROOT / "build" / "bench" / "drivers"
VENV = ROOT / ".venv"


class PeerError(Exception):
    """Why a peer cannot take part: one line for a person."""


def compile_driver(name, flags=()):
    """Drivers are compiled here, not by CMake: peers come and go with the
    machine. Up to date ones are kept."""
    sources = [SOURCES / f"{name}.cpp", SOURCES / "peer.cpp"]
    newest = max(f.stat().st_mtime for f in [*sources, SOURCES / "peer.h", pathlib.Path(__file__)])
    program = BUILT / name
    if program.exists() and program.stat().st_mtime > newest:
        return program
    BUILT.mkdir(parents=True, exist_ok=True)
    command = ["clang++-22", "-std=c++20", "-O2", f"-I{ROOT / 'include'}", *map(str, sources),
               *flags, "-ldl", "-o", str(program)]
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except OSError as error:
        raise PeerError(f"clang++-22: {error.strerror}") from None
    if done.returncode:
        first = next((line for line in done.stderr.splitlines() if "error" in line), "clang++-22 failed")
        raise PeerError(first)
    return program


def environment(threads):
    """What a peer sees: the thread count, and no variable that would choose a
    kernel or a cache size for it."""
    foreign = ("OPENBLAS_", "OMP_", "KMP_", "GOMP_", "MKL_", "DNNL_", "ONEDNN_", "GOTO_")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(foreign)}
    return kept | {"OMP_NUM_THREADS": str(threads), "OPENBLAS_NUM_THREADS": str(threads)}


class Peer:
    def __init__(self, name, command, threads):
        self.name = name
        self.about = ""
        try:
            self.process = subprocess.Popen(
                list(map(str, command)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1,
                env=environment(threads))
        except OSError as error:
            raise PeerError(f"{command[0]}: {error.strerror}") from None

    def ask(self, line):
        """Wakes the peer, gives it a command, returns its answer, lets it sleep."""
        try:
            self.process.send_signal(signal.SIGCONT)
            self.process.stdin.write(line + "\n")
            answer = self.process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        if not answer:
            code = self.process.wait()
            died = signal.Signals(-code).name if code < 0 else f"status {code}"
            raise PeerError(f"died ({died}) at: {line.split()[0]}")
        self.process.send_signal(signal.SIGSTOP)
        word, _, rest = answer.strip().partition(" ")
        if word != "ok":
            raise PeerError(rest)
        return rest

    def set_up(self, sizes, library=""):
        self.about = self.ask(" ".join(map(str, ["setup", *sizes, library])))

    def run(self, seconds):
        """The fastest call of a round that takes about `seconds`."""
        return float(self.ask(f"run {seconds}").split()[0])

    def output(self, path):
        self.ask(f"output {path}")
        return numpy.fromfile(path, numpy.float32)

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


def start_openblas(threads):
    """The library inside numpy's wheel."""
    folder = pathlib.Path(numpy.__file__).parent.parent / "numpy.libs"
    found = sorted(folder.glob("libscipy_openblas64_*.so")) + sorted(folder.glob("libopenblas64_*.so"))
    if not found:
        raise PeerError(f"no OpenBLAS in {folder}: this numpy does not come from a PyPI wheel")
    return Peer("openblas", [compile_driver("openblas"), found[0]], threads)


def start_onednn(threads):
    """The oneDNN that `./dev setup bench` put into .venv."""
    if not (VENV / "include" / "dnnl.hpp").exists():
        raise PeerError("oneDNN is not installed: ./dev setup bench")
    flags = [f"-I{VENV / 'include'}", f"-L{VENV / 'lib'}", "-ldnnl", f"-Wl,-rpath,{VENV / 'lib'}"]
    return Peer("onednn", [compile_driver("onednn", flags)], threads)


def start_attune(name, threads):
    return Peer(name, [compile_driver("attune")], threads)


PEERS = {"openblas": start_openblas, "onednn": start_onednn}


def attune(*arguments):
    """Runs the attune that was just built, or $ATTUNE; its progress goes to standard error."""
    program = os.environ.get("ATTUNE") or ROOT / "build" / "dev" / "tools" / "attune" / "attune"
    try:
        done = subprocess.run([program, *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=sys.stderr,
                              stderr=subprocess.PIPE, text=True)
    except OSError as error:
        raise PeerError(f"{program}: {error.strerror}") from None
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"status {done.returncode}"]
        wrong = [line for line in lines if line.startswith("error:")] or lines[-1:]
        raise PeerError(f"attune {arguments[0]}: {wrong[0].removeprefix('error: ')}")


def take_turns(ready, missing, rounds, round_seconds):
    """{name: seconds of each round}; a peer that dies on the way moves to
    `missing`, with what it said. Everybody comes first, second, ... equally
    often."""
    times = {peer.name: [] for peer in ready}
    for number in range(rounds):
        turn = number % max(1, len(ready))
        for peer in ready[turn:] + ready[:turn]:
            if peer.name in missing:
                continue
            try:
                times[peer.name].append(peer.run(round_seconds))
            except PeerError as error:
                missing[peer.name] = str(error)
    return {name: seconds for name, seconds in times.items() if seconds and name not in missing}
