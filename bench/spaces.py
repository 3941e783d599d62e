# Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How long it takes to build constrained spaces.

./dev bench spaces
./dev bench spaces --rounds=30 --json

Each space of test/data/spaces is counted by `attune space`, whose start (the same
with a space of one knob) is measured in the same rounds and taken off, and by
python-constraint2, which lists it, where that can be installed.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

from optional import install
from peers import ROOT, PeerError, environment

GOAL_SECONDS = 0.02
# Seconds on the machine of whoever published them, for the order of size alone.
PUBLISHED = {"dedispersion": {"python-constraint2": 0.057, "pyATF": 0.003},
             "microhh": {"python-constraint2": 1.22, "pyATF": 0.002},
             "hotspot": {"python-constraint2": 2.0, "pyATF": 2.4},
             "gemm": {"python-constraint2": 0.62, "pyATF": 0.040}}
# Spaces that take longer than this are left out of python-constraint2's column.
PATIENCE_SECONDS = 120
ATTUNE = ROOT / "build" / "dev" / "tools" / "attune" / "attune"

SOLVER = """
import json, sys, time
from constraint import Problem
space = json.load(open(sys.argv[1]))
start = time.perf_counter()
problem = Problem()
for knob in space["knobs"]:
    problem.addVariable(knob["name"], knob["values"])
for constraint in space["constraints"]:
    problem.addConstraint(constraint)
count = len(problem.getSolutions())
print(json.dumps([count, time.perf_counter() - start]))
"""


def count(file):
    """The number of configurations, and the seconds of the whole process."""
    start = time.perf_counter()
    done = subprocess.run([ATTUNE, "space", file, "--count"], capture_output=True, text=True, env=environment(1))
    seconds = time.perf_counter() - start
    if done.returncode:
        raise PeerError(done.stderr.strip() or f"attune space ended with {done.returncode}")
    return int(done.stdout), seconds


def measure(files, rounds):
    """{file: (count, seconds without the start of the process)}"""
    with tempfile.TemporaryDirectory() as folder:
        trivial = pathlib.Path(folder) / "trivial.json"
        trivial.write_text('{"version": 1, "knobs": [{"name": "k", "values": [1, 2]}]}')
        starts, times, counts = [], {file: [] for file in files}, {}
        for _ in range(rounds):
            starts.append(count(trivial)[1])
            for file in files:
                counts[file], seconds = count(file)
                times[file].append(seconds)
    start = statistics.median(starts)
    return {file: (counts[file], max(0.0, statistics.median(times[file]) - start)) for file in files}


def solve(file):
    """python-constraint2's (count, seconds), or why there are none."""
    try:
        done = subprocess.run([sys.executable, "-c", SOLVER, file], capture_output=True, text=True,
                              timeout=PATIENCE_SECONDS, env=environment(1))
    except subprocess.TimeoutExpired:
        return f"over {PATIENCE_SECONDS} s"
    if done.returncode:
        return done.stderr.strip().splitlines()[-1]
    return tuple(json.loads(done.stdout))


def row_of(file, measured, has_solver):
    expected = json.loads(file.read_text()).get("solutions")
    found, seconds = measured[file]
    solved = solve(file) if has_solver else "python-constraint2 is not installed"
    row = {"name": file.stem, "count": found, "expectedCount": expected, "attuneSeconds": seconds,
           "peers": {"python-constraint2": solved[1] if isinstance(solved, tuple) else None},
           "published": PUBLISHED.get(file.stem, {}), "missing": {}}
    if not isinstance(solved, tuple):
        row["missing"]["python-constraint2"] = solved
    elif solved[0] != found:
        row["missing"]["python-constraint2"] = f"it counts {solved[0]}"
    return row


def main(arguments):
    parser = argparse.ArgumentParser(prog="./dev bench spaces", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15, help="default 15")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    options = parser.parse_args(arguments)
    files = sorted((ROOT / "test" / "data" / "spaces").glob("*.json"))
    has_solver = install("constraint", "python-constraint2")
    measured = measure(files, max(1, options.rounds))
    rows = [row_of(file, measured, has_solver) for file in files]
    if options.json:
        print(json.dumps({"version": 1, "family": "spaces", "goalSeconds": GOAL_SECONDS, "rows": rows}, indent=1))
    else:
        print(f"{'space':18}{'configurations':>16}{'attune':>10}{'constraint2':>13}{'published: constraint2, pyATF':>32}")
        for row in rows:
            solver, old = row["peers"]["python-constraint2"], row["published"]
            published = ", ".join(f"{old[name]:.3f}" for name in ("python-constraint2", "pyATF") if name in old)
            print(f"{row['name']:18}{row['count']:16}{row['attuneSeconds']:9.4f}s"
                  f"{f'{solver:.3f}s' if solver is not None else '-':>13}{published or '-':>32}")
    wrong = [row for row in rows if row["expectedCount"] not in (None, row["count"])]
    for row in rows:
        for name, reason in row["missing"].items():
            print(f"{name} is missing for {row['name']}: {reason}", file=sys.stderr)
    for row in wrong:
        print(f"error: {row['name']}: {row['count']} configurations, not {row['expectedCount']}", file=sys.stderr)
    return 1 if wrong else 0
